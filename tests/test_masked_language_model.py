"""Masked language models: what is hidden, what the loss sees, and what a fine-tuned classifier shares with them."""

from dataclasses import replace
from functools import lru_cache

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from test_encoder_decoder import copy_layer
from torch import nn

from reservoir.datasets import Vocabulary, train_bpe
from reservoir.models import MaskedLanguageModelConfig, TextClassifierConfig
from reservoir.models.stack import MIXINGS
from reservoir.training import MaskedLanguageModellingTask, mask
from reservoir.weights import Stream, initialise, owned
from reservoir_lab.corpora import text
from reservoir_lab.corpora.texts import Text
from reservoir_lab.runs import MaskedLanguageModelling

SIZES = dict(vocab=60, d_model=16, n_heads=2, d_ff=32, layers=3, dropout=0.0)
MASK = 59


def model(seed: int = 0, **changes):
    return initialise(MaskedLanguageModelConfig(**{**SIZES, **changes}).build(), seed=seed)


@lru_cache
def parts() -> tuple[Vocabulary, list]:
    corpus = text("miniature")
    vocabulary = train_bpe(corpus.train.split("\n")[:500], 59)
    return vocabulary, [
        vocabulary.encode_text(part[:6000]) for part in (corpus.train, corpus.valid, corpus.test)
    ]


def task(seed: int = 0, **changes) -> MaskedLanguageModellingTask:
    vocabulary, ids = parts()
    return MaskedLanguageModellingTask(
        *ids, vocabulary=vocabulary, **{"length": 16, "batch": 8, "seed": seed, **changes}
    )


@given(st.integers(1, 5), st.integers(1, 40), st.floats(0.05, 1.0), st.integers(0, 2**32))
def test_exactly_the_asked_share_of_the_tokens_is_hidden_and_no_special_one(batch, length, share, seed):
    ids = Stream(seed, "ids").words(0, batch * length).view(batch, length) % MASK
    tokens = int((ids >= 4).sum())
    if not tokens:
        with pytest.raises(ValueError, match="special"):
            mask(ids, Stream(seed, "mask"), mask_id=MASK, share=share)
        return
    batch = mask(ids, Stream(seed, "mask"), mask_id=MASK, share=share)
    assert len(batch.targets) == max(1, round(share * tokens))
    assert (batch.targets >= 4).all() and (batch.positions.diff() > 0).all()
    assert torch.equal(ids.flatten()[batch.positions], batch.targets)
    untouched = torch.ones(ids.numel(), dtype=torch.bool)
    untouched[batch.positions] = False
    assert torch.equal(batch.ids.flatten()[untouched], ids.flatten()[untouched])
    assert (batch.ids[ids >= 4] >= 4).all()  # neither the mask nor a random token is a special one


def test_of_the_hidden_tokens_eighty_in_a_hundred_are_masks_ten_random_and_ten_as_they_were():
    ids = 4 + Stream(1, "ids").words(0, 40_000).view(100, 400) % (MASK - 4)
    batch = mask(ids, Stream(0, "mask"), mask_id=MASK)
    read = batch.ids.flatten()[batch.positions]
    masks, kept = int((read == MASK).sum()), int((read == batch.targets).sum())
    assert len(read) == 6000 and masks == 4800
    assert 600 <= kept <= 600 + 600 // 20  # a random token is now and then the right one
    others = read[(read != MASK) & (read != batch.targets)]
    assert len(set(others.tolist())) == MASK - 4  # any token


@pytest.mark.parametrize("share", [0, -0.1, 1.01])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        mask(torch.full((2, 3), 5), Stream(0, "mask"), mask_id=MASK, share=share)


def test_another_epoch_hides_other_tokens_and_the_same_batch_the_same_ones():
    ours, same, other = task(), task(), task(seed=1)
    for index in (2, 0, 1):  # in any order: a run that goes on begins in the middle
        once, again = ours.epoch(3)[index], same.epoch(3)[index]
        assert torch.equal(once.ids, again.ids) and torch.equal(once.positions, again.positions)
    windows = ours.train.epoch(0)[0]
    hidden = {tuple(ours.hide(windows, Stream(0, f"{epoch}")).positions.tolist()) for epoch in range(20)}
    assert len(hidden) == 20
    assert not torch.equal(ours.epoch(0)[0].ids, other.epoch(0)[0].ids)


def test_what_is_hidden_from_a_validation_text_depends_on_no_seed():
    for one, other in zip(
        task().hidden_once(task().valid), task(seed=5).hidden_once(task(5).valid), strict=True
    ):
        assert torch.equal(one.ids, other.ids) and torch.equal(one.targets, other.targets)
        assert (one.ids[:, 0] == Vocabulary.bos).all()


def test_the_loss_is_that_of_the_hidden_tokens_alone():
    ours, found = model(), task()
    batch = found.epoch(0)[0]
    logits = ours(batch.ids).flatten(0, 1)  # of all tokens; the loss computes those of the hidden ones
    wanted = F.cross_entropy(logits[batch.positions], batch.targets, reduction="sum")
    torch.testing.assert_close(found.loss(ours, batch), wanted, rtol=1e-5, atol=1e-4)
    assert found.size(batch) == (len(batch.targets), batch.ids.numel())
    before = found.score(ours, found.valid)
    everything = list(found.hidden_once(found.valid))
    nats = sum(found.loss(ours, one).item() for one in everything) / sum(
        len(one.targets) for one in everything
    )
    assert before["perplexity"] == pytest.approx(torch.tensor(nats).exp().item(), rel=1e-4)


@pytest.mark.parametrize("norm_first", [True, False])
@torch.no_grad()
def test_the_encoder_is_torchs(norm_first):
    ours = model(norm_first=norm_first, activation="gelu").encoder
    layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=norm_first)
    theirs = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(mine, other)
    ids = torch.randint(4, 59, (3, 9))
    ids[1, 6:] = 0
    x = ours.positions(ours.embedding(ids) * 4.0)
    wanted = ours.norm(theirs(x, src_key_padding_mask=ids == 0))
    torch.testing.assert_close(ours(ids)[ids != 0], wanted[ids != 0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mixing", ["fourier", "linear", "mlp", "attention"])
def test_a_text_that_is_filled_up_has_the_same_state_beside_any_neighbour(mixing):
    """And another one than where the rows of the padding are cut off after each layer."""
    config = TextClassifierConfig(
        **SIZES, classes=3, pooling="mean", max_length=9, mixing=(mixing,) * 3, filled=True
    )
    ours = initialise(config.build(), seed=0).eval()
    short, padded = torch.tensor([[1, 7, 9, 2]]), torch.tensor([[1, 7, 9, 2, 0, 0, 0]])
    whole = torch.tensor([[1, 7, 9, 2, 0, 0, 0, 0, 0]])
    assert ours.encoder(short).shape == (1, 4, 16)
    torch.testing.assert_close(ours(short), ours(padded))
    torch.testing.assert_close(ours(short), ours(whole))
    cut = initialise(replace(config, filled=False).build(), seed=0).eval()
    assert not torch.allclose(cut(short), ours(short), atol=1e-3)
    with pytest.raises(ValueError, match="at most 9 tokens"):
        ours(torch.ones(1, 10, dtype=torch.long))


def test_a_classifier_has_the_streams_of_the_encoder_that_it_is_pretrained_as():
    masked = {item.stream: item.parameter for item in owned(model().encoder)}
    found = {item.stream: item.parameter for item in owned(TextClassifierConfig(**SIZES, classes=2).build())}
    assert {stream: p.shape for stream, p in masked.items()} == {
        stream: p.shape for stream, p in found.items() if not stream.startswith("readout")
    }


@pytest.mark.parametrize("config", [MaskedLanguageModelConfig, TextClassifierConfig])
@pytest.mark.parametrize("mixing", MIXINGS)
def test_a_bare_model_has_matrices_alone(config, mixing):
    changes = {"classes": 3} if config is TextClassifierConfig else {}
    config = config(**SIZES, **changes, mixing=(mixing,) * 3, max_length=9, bare=True)
    ours = initialise(config.build(), seed=0)
    assert {item.stream for item in owned(ours) if item.parameter.ndim < 2} == set()
    assert ours(torch.tensor([[1, 7, 9, 2], [1, 7, 0, 0]])).isfinite().all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mixing": ("convolution",) * 3}, "mixing must be of attention"),
        ({"mixing": ("attention",)}, "mixing must name all 3 layers"),
        ({"kinds": ("ffn",)}, "kinds must name all 3 layers"),
        ({"positions": "none"}, "positions"),
        ({"layer_drop": 1.0}, "layer_drop"),
    ],
)
def test_a_wrong_argument_is_named(changes, words):
    with pytest.raises(ValueError, match=words):
        MaskedLanguageModelConfig(**{**SIZES, **changes})


def test_what_fills_a_hole_is_never_a_special_token():
    found, ours = task(), model()
    ids = [Vocabulary.bos, 9, MASK, 12, MASK]
    best = found.fill(ours, ids, best=100)
    assert len(best) == 2 and all(len(one) == 55 for one in best)
    assert all(4 <= token < MASK for one in best for token, _ in one)
    assert all(sum(chance for _, chance in one) == pytest.approx(1, abs=1e-5) for one in best)


def test_wikitexts_marks_are_read_as_they_were_meant(monkeypatch):
    from reservoir_lab.corpora import Text
    from reservoir_lab.runs import tasks as module

    line = "The well @-@ known <unk> sold 3 @,@ 000 at 1 @.@ 5 .\n" * 40
    monkeypatch.setattr(module, "text", lambda name, files: Text(name, line, line, line))
    corpus, vocabulary = MaskedLanguageModelling("wikitext-2", vocabulary=100).prepare()
    ids = vocabulary.encode(corpus.test.split("\n")[0])
    assert ids.count(Vocabulary.unk) == 1
    assert vocabulary.decode(ids).replace("  ", " ") == "the well-known sold 3,000 at 1.5 ."


def test_a_score_keeps_nothing_for_a_backward_pass():
    scored, kept = model(), []
    scored.output.register_forward_pre_hook(lambda layer, given: kept.append(given[0].requires_grad))
    task().score(scored, task().test)
    assert kept and not any(kept)


def test_a_vocabulary_may_write_everything_small():
    small = train_bpe(["The Cat sat on THE mat", "the cat"], 30, lowercase=True, cache=False)
    assert small.decode(small.encode("The CAT")) == "the cat"


@pytest.mark.parametrize("tokens", [0, 46])  # three windows
def test_a_run_validates_on_so_many_tokens_or_on_all_there_are(tokens):
    spec = MaskedLanguageModelling("miniature", valid_tokens=tokens, length=16, batch=8)
    corpus = Text("made", *("wir lesen das Buch. " * 40,) * 3)
    found = spec.task(corpus, parts()[0], seed=0)
    assert len(found.valid.ids) == (tokens or len(found.test.ids)) and len(found.test.ids) > 46
