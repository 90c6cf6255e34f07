"""The encoder-decoder: others' logits, nothing leaks, caches change nothing, parts can be swapped."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from reservoir.layers import Linear
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.weights import initialise, owned

SMALL = EncoderDecoderConfig(
    src_vocab=23,
    tgt_vocab=23,
    d_model=16,
    n_heads=4,
    d_ff=40,
    encoder_layers=2,
    decoder_layers=3,
    max_length=12,
)
CHOICES = [
    dict(norm_first=False, positions="sinusoidal", tie="all"),
    dict(norm_first=True, positions="sinusoidal", tie="output", tgt_vocab=19),
    dict(norm_first=True, positions="learned", tie="none"),
]
each_choice = pytest.mark.parametrize("choice", CHOICES, ids=["post-LN", "pre-LN", "learned"])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def drawn(config: EncoderDecoderConfig, **parts) -> EncoderDecoder:
    """A model in eval mode with every tensor random, biases and norms too."""
    model = initialise(EncoderDecoder(config, **parts), seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.eval()


def sentences(config: EncoderDecoderConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """A padded batch of sources, (3, 7), and of targets, (3, 5)."""
    src, tgt = torch.randint(3, config.src_vocab, (3, 7)), torch.randint(3, config.tgt_vocab, (3, 5))
    src[1, 5:] = src[2, 1:] = config.padding
    return src, tgt


# The same states as others


def copy_layer(mine: nn.Module, other: nn.Module) -> None:
    """The weights of a layer of ours, of attention and a feed-forward layer, into one of torch's."""
    pairs = [(mine.mixing.sublayer, other.self_attn, ("qkv",))]
    norms = [mine.mixing.norm, mine.feed_forward.norm]
    if hasattr(mine, "cross"):
        pairs.append((mine.cross.sublayer, other.multihead_attn, ("query", "kv")))
        norms.insert(1, mine.cross.norm)
    with torch.no_grad():
        for attention, torchs, names in pairs:
            parts = [getattr(attention, name) for name in names]
            torchs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
            torchs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            torchs.out_proj.load_state_dict(attention.out.state_dict())
        for number, norm in enumerate(norms, 1):
            getattr(other, f"norm{number}").load_state_dict(norm.state_dict())
        other.linear1.load_state_dict(mine.feed_forward.sublayer.up.state_dict())
        other.linear2.load_state_dict(mine.feed_forward.sublayer.down.state_dict())


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(("norm_first", "activation"), [(True, "relu"), (False, "gelu")])
@torch.no_grad()
def test_the_hidden_states_are_torchs(norm_first, activation):
    c = replace(SMALL, norm_first=norm_first, activation=activation)
    ours = drawn(c)
    sizes = (c.d_model, c.n_heads, c.encoder_layers, c.decoder_layers, c.d_ff, 0.0)
    theirs = nn.Transformer(*sizes, activation, batch_first=True, norm_first=norm_first)
    for side in ("encoder", "decoder"):
        for mine, other in zip(getattr(ours, side), getattr(theirs, side).layers, strict=True):
            copy_layer(mine, other)
        if norm_first:
            getattr(theirs, side).norm.load_state_dict(getattr(ours, f"{side}_norm").state_dict())
        else:  # the paper has no norm after the last layer's own; nn.Transformer adds one all the same
            getattr(theirs, side).norm = None
    theirs.encoder.use_nested_tensor = False  # a short cut that warns of itself
    src, tgt = sentences(c)
    padded = src == c.padding
    expected = theirs.eval()(
        ours.embed(src, ours.src_embedding, ours.src_positions),
        ours.embed(tgt, ours.tgt_embedding, ours.tgt_positions),
        tgt_mask=torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1),
        src_key_padding_mask=padded,
        memory_key_padding_mask=padded,
    )
    torch.testing.assert_close(ours.hidden(src, tgt), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(ours(src, tgt), expected @ ours.output.weight.T, rtol=0, atol=1e-4)


# What a position may know


@each_choice
def test_more_padding_changes_nothing(choice):
    model = drawn(replace(SMALL, **choice))
    src, tgt = sentences(model.config)
    padded = nn.functional.pad(src, (0, 4), value=model.config.padding)
    torch.testing.assert_close(model(padded, tgt), model(src, tgt))
    alone = model(src[2:, :1], tgt[2:])  # one token, and no mask at all
    torch.testing.assert_close(model(src, tgt)[2:], alone)


def test_there_is_a_mask_only_where_there_is_padding():
    model = drawn(SMALL)
    src, _ = sentences(SMALL)
    assert torch.equal(model.src_mask(src), src != SMALL.padding)
    assert model.src_mask(src[:1]) is None


@each_choice
@pytest.mark.parametrize("pieces", [[1] * 5, [2, 3]])
def test_cached_decoding_is_the_uncached(choice, pieces):
    model = drawn(replace(SMALL, **choice))
    src, tgt = sentences(model.config)
    mask = model.src_mask(src)
    memory, cache = model.encode(src, mask), model.new_cache()
    parts = [model.decode(piece, memory, mask, cache) for piece in tgt.split(pieces, 1)]
    torch.testing.assert_close(torch.cat(parts, 1), model.hidden(src, tgt))


def test_several_hypotheses_read_one_memory():
    model = drawn(SMALL)
    src, _ = sentences(SMALL)
    tgt, mask = torch.randint(3, SMALL.tgt_vocab, (3 * 4, 5)), model.src_mask(src)
    memory = model.encode(src, mask)
    copies = model.decode(tgt, memory.repeat_interleave(4, 0), mask.repeat_interleave(4, 0))
    torch.testing.assert_close(model.decode(tgt, memory, mask), copies)
    cache = model.new_cache()
    steps = [model.decode(token, memory, mask, cache) for token in tgt.split(1, 1)]
    torch.testing.assert_close(torch.cat(steps, 1), copies)


def test_dropout_is_at_work_in_training_alone():
    model = drawn(SMALL)
    src, tgt = sentences(SMALL)
    assert torch.equal(model(src, tgt), model(src, tgt))
    model.train()
    assert not torch.equal(model(src, tgt), model(src, tgt))


# Swapping and renaming


class Renamed(nn.Module):
    """Self-attention in other words: its attributes are called and ordered differently, its streams are not."""

    def __init__(self, config, stream):
        super().__init__()
        self.finally_ = Linear(config.d_model, config.d_model, stream=f"{stream}.out")
        self.everything = Linear(config.d_model, 3 * config.d_model, stream=f"{stream}.qkv", blocks=3)


def test_renaming_a_module_or_an_attribute_changes_no_weight():
    def weights(model):
        return {item.stream: item.parameter for item in owned(initialise(model, seed=7))}

    usual = weights(EncoderDecoder(SMALL))
    renamed = weights(Renamed(SMALL, "encoder.1.attention"))
    assert len(renamed) == 4
    assert all(torch.equal(usual[stream], weight) for stream, weight in renamed.items())

    model = EncoderDecoder(SMALL)
    shell = nn.ModuleDict({"b": model.decoder, "a": model.encoder, "z": model.src_embedding})
    moved = weights(shell)
    assert len(moved) == len(usual)
    assert all(torch.equal(usual[stream], moved[stream]) for stream in usual)


def test_every_weight_has_its_own_randomness():
    drawn_ = [
        item.parameter
        for item in owned(initialise(EncoderDecoder(SMALL), seed=7))
        if item.parameter.dim() == 2
    ]
    for i, one in enumerate(drawn_):
        for other in drawn_[:i]:
            if one.shape == other.shape:
                assert not torch.equal(one, other)


@pytest.mark.parametrize(("tie", "tables"), [("all", 1), ("output", 2), ("none", 3)])
def test_tied_tables_are_one_tensor(tie, tables):
    model = EncoderDecoder(replace(SMALL, tie=tie))
    assert (
        len({id(p) for p in (model.src_embedding.weight, model.tgt_embedding.weight, model.output.weight)})
        == tables
    )
    assert sum(item.parameter.shape == (23, 16) for item in owned(model)) == tables
    assert (model.output.weight is model.tgt_embedding.weight) == (tie != "none")


def test_embeddings_are_scaled_by_the_root_of_the_width():
    model = drawn(SMALL)
    src, _ = sentences(SMALL)
    embedded = model.embed(src, model.src_embedding, lambda x, start: x)
    torch.testing.assert_close(embedded, model.src_embedding.weight[src] * math.sqrt(16))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(tie="some"), "tie must be 'all', 'output' or 'none', got 'some'"),
        (dict(positions="fixed"), "positions must be 'sinusoidal' or 'learned', got 'fixed'"),
        (
            dict(tgt_vocab=5),
            "tie='all' needs one vocabulary, got src_vocab=23 and tgt_vocab=5; use tie='output'",
        ),
    ],
)
def test_a_wrong_choice_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **wrong)
