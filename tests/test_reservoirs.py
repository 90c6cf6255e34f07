"""Reservoir layers: their places, their kinds against independent implementations, and that none of them moves."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from reservoir.layers import BiGRU, DynamicConvolution, EncoderLayer
from reservoir.models import EncoderDecoder, EncoderDecoderConfig, LanguageModelConfig
from reservoir.weights import Freeze, freeze, initialise, owned, placement, report, reservoir_layers
from reservoir_lab import recipes
from reservoir_lab.runs.building import bare_model

KINDS = ("transformer", "ffn", "gru", "conv")


@pytest.mark.parametrize(
    ("layers", "reservoirs", "stack"),
    [(7, 3, "LRLRLRL"), (7, 2, "LLRLRLL"), (3, 1, "LRL"), (6, 2, "LRLRLL"), (5, 3, "RLRLR"), (4, 0, "LLLL")],
)
def test_reservoirs_alternate_in_the_middle(layers, reservoirs, stack):
    assert placement(layers, reservoirs) == stack


@given(st.integers(0, 20), st.integers(0, 20), st.sampled_from(["bottom", "top", "random", "alternate"]))
def test_a_stack_has_as_many_of_each_as_was_asked(layers, reservoirs, how):
    if reservoirs > layers or (how == "alternate" and 2 * reservoirs - 1 > layers):
        with pytest.raises(ValueError, match="reservoirs"):
            placement(layers, reservoirs, how=how)
        return
    stack = placement(layers, reservoirs, how=how)
    assert (len(stack), stack.count("R")) == (layers, reservoirs)
    assert how != "alternate" or "RR" not in stack
    assert len(reservoir_layers(stack)) == reservoirs


def test_ends_and_chance():
    assert (placement(4, 2, how="bottom"), placement(4, 2, how="top")) == ("RRLL", "LLRR")
    assert placement(30, 10, how="random", seed=1) == placement(30, 10, how="random", seed=1)
    assert placement(30, 10, how="random", seed=1) != placement(30, 10, how="random", seed=2)
    with pytest.raises(ValueError, match="'middle'"):
        placement(4, 2, how="middle")
    with pytest.raises(ValueError, match="'X'"):
        reservoir_layers("LXR")


LENGTHS = torch.tensor([7, 3, 5])
MASK = torch.arange(7)[None] < LENGTHS[:, None]


def test_the_gru_is_torchs_on_each_sentence_alone():
    ours = initialise(BiGRU(12, stream="gru"), seed=0)
    theirs = nn.GRU(12, 6, batch_first=True, bidirectional=True)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, 7, 12)
    found = ours(x, MASK)
    for row, length in enumerate(LENGTHS):
        alone = theirs(x[row : row + 1, :length])[0][0]
        torch.testing.assert_close(found[row, :length], alone, atol=1e-5, rtol=0)
    torch.testing.assert_close(ours(x), theirs(x)[0], atol=1e-5, rtol=0)


def dense(layer: DynamicConvolution, x: torch.Tensor) -> torch.Tensor:
    """The same for one sentence, position by position and feature by feature, as the paper's formula reads."""
    gate = x @ layer.into.weight.T + layer.into.bias
    a, b = gate.chunk(2, -1)
    y = a * torch.sigmoid(b)
    length, d_model = y.shape
    kernels = (y @ layer.weigh.weight.T).view(length, layer.n_heads, layer.kernel).softmax(-1)
    mixed = torch.zeros_like(y)
    for i in range(length):
        for c in range(d_model):
            head = c * layer.n_heads // d_model
            for k in range(layer.kernel):
                j = i + k - layer.kernel // 2
                if 0 <= j < length:
                    mixed[i, c] += kernels[i, head, k] * y[j, c]
    return mixed @ layer.out.weight.T + layer.out.bias


def test_the_convolution_is_the_formula_on_each_sentence_alone():
    layer = initialise(DynamicConvolution(12, 3, kernel=5, stream="conv"), seed=0)
    x = torch.randn(3, 7, 12)
    with torch.no_grad():
        found = layer(x, MASK)
        for row, length in enumerate(LENGTHS):
            alone = dense(layer, x[row, :length])
            torch.testing.assert_close(found[row, :length], alone, atol=1e-5, rtol=0)
            torch.testing.assert_close(layer(x[row : row + 1, :length])[0], alone, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: BiGRU(7, stream="gru"), "d_model must be even"),
        (lambda: DynamicConvolution(8, 3, kernel=3, stream="conv"), "multiple of n_heads"),
        (lambda: DynamicConvolution(8, 2, kernel=4, stream="conv"), "kernel must be odd"),
        (lambda: EncoderLayer(None, None, d_model=8, stream="x", norm_first=True), "None for both"),
        (lambda: config(encoder_kinds=("gru",)), "encoder_kinds must name all 5 layers"),
        (lambda: config(encoder_kinds=("lstm",) * 5), "lstm"),
        (lambda: config(layer_drop=1.0), "layer_drop"),
        (lambda: LanguageModelConfig(layers=2, kinds=("transformer", "gru")), "ahead"),
        (lambda: LanguageModelConfig(layers=2, kinds=("conv", "conv")), "ahead"),
        (lambda: LanguageModelConfig(layers=3, kinds=("ffn",)), "kinds must name all 3 layers"),
    ],
)
def test_a_wrong_argument_is_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


def config(**changes) -> EncoderDecoderConfig:
    sizes = dict(
        d_model=16, n_heads=4, d_ff=24, encoder_layers=5, decoder_layers=1, norm_first=True, dropout=0.0
    )
    return EncoderDecoderConfig(30, 30, **{**sizes, **changes})


STACK = placement(5, 2)


def with_reservoirs(kind: str) -> EncoderDecoder:
    kinds = tuple(kind if letter == "R" else "transformer" for letter in STACK)
    model = initialise(EncoderDecoder(config(encoder_kinds=kinds)), seed=0)
    return freeze(model, Freeze(layers=reservoir_layers(STACK), drawn="orthogonal"))


SRC = torch.randint(4, 30, (3, 7)).masked_fill(~MASK, 0)
TGT = torch.randint(4, 30, (3, 5))


@pytest.mark.parametrize("kind", KINDS)
def test_reservoirs_stay_and_gradients_reach_what_lies_below(kind):
    model = with_reservoirs(kind)
    before = {item.stream: item.parameter.detach().clone() for item in owned(model)}
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model(SRC, TGT).sum().backward()
    assert model.encoder[0].mixing.sublayer.qkv.weight.grad.abs().sum() > 0
    optimiser.step()
    frozen = tuple(f"{layer}." for layer in reservoir_layers(STACK))
    for item in owned(model):
        same = torch.equal(before[item.stream], item.parameter)
        if item.stream.startswith(frozen):
            assert same and item.parameter.grad is None, item.stream
        else:
            assert not same, item.stream
    assert not [
        row for row in report(model).rows if row.stream.startswith(frozen) and (row.moves or row.stored_bytes)
    ]


@pytest.mark.parametrize("kind", ["transformer", "gru", "conv"])
def test_a_reservoirs_maps_are_orthogonal(kind):
    model = with_reservoirs(kind)
    for item in owned(model):
        if (
            item.stream.startswith("encoder.1.")
            and item.attribute.startswith("weight")
            and item.parameter.ndim == 2
        ):
            for block in item.parameter.chunk(item.module.blocks):
                block = block if block.shape[0] <= block.shape[1] else block.T
                torch.testing.assert_close(block @ block.T, torch.eye(len(block)), atol=1e-5, rtol=0)


def test_a_kind_that_is_alone_in_its_layer_adds_to_the_stream():
    layer = with_reservoirs("ffn").encoder[1]
    assert layer.mixing is None
    x = torch.randn(2, 4, 16)
    inner, norm = layer.feed_forward.sublayer, layer.feed_forward.norm
    expected = x + F.linear(
        F.relu(F.linear(norm(x), inner.up.weight, inner.up.bias)), inner.down.weight, inner.down.bias
    )
    torch.testing.assert_close(layer(x), expected)


def test_layer_drop_leaves_layers_out_in_training_alone():
    model = initialise(EncoderDecoder(config(layer_drop=0.9)), seed=0)
    calls = []
    for layer in model.encoder:
        layer.register_forward_hook(lambda *_: calls.append(1))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(20):
            model(SRC, TGT)
    assert 0 < len(calls) < 40
    calls.clear()
    model.eval()(SRC, TGT)
    assert len(calls) == 5


@pytest.mark.parametrize(("decoder_layers", "parameters"), [(2, 26_851_328), (6, 39_469_056)])
def test_the_full_scale_has_fairseqs_sizes(decoder_layers, parameters):
    run = recipes.get("reservoirs/regular-6", scale="full").evolve(model={"decoder_layers": decoder_layers})
    with torch.device("meta"):
        model = bare_model(run)
    assert report(model).total == parameters


def test_every_recipe_with_reservoirs_has_four_layers_that_learn():
    for name in recipes.family("reservoirs"):
        run = recipes.get(name)
        if run.freeze.after:  # all of its layers learn at first
            continue
        assert run.model.encoder_layers - len(run.freeze.layers) == (
            4 if run.freeze.layers else run.model.encoder_layers
        )
        assert run.model.decoder_layers == 2
        kinds = run.model.encoder_kinds or ("transformer",) * run.model.encoder_layers
        for layer, kind in enumerate(kinds):
            assert kind == "transformer" or f"encoder.{layer}" in run.freeze.layers
