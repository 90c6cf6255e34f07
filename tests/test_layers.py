"""Layers: the same sums as PyTorch's own, nothing leaks from the future or from padding, and caches change nothing."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import forward_ad
from torch.utils.flop_counter import FlopCounterMode

from reservoir.layers import (
    Attention,
    BiGRU,
    Cache,
    CrossAttention,
    Dropout,
    Embedding,
    FeedForward,
    LearnedPositions,
    Linear,
    SinusoidalPositions,
    attend,
    sinusoids,
)
from reservoir.layers.linear import ROWS, linear, unpadded
from reservoir.layers.mixing import softmax
from reservoir.models import LanguageModelConfig
from reservoir.weights import initialise

D, HEADS = 16, 4


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def drawn(module: nn.Module) -> nn.Module:
    """The module with every tensor random, biases and norms too."""
    initialise(module, seed=1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return module.eval()


def mask_of(lengths: list[int], longest: int) -> torch.Tensor:  # (batch, longest), true at tokens
    return torch.arange(longest) < torch.tensor(lengths)[:, None]


# Attention


@given(
    batch=st.integers(1, 3),
    heads=st.integers(1, 3),
    q_len=st.integers(1, 9),
    k_len=st.integers(1, 9),
    d_head=st.integers(1, 8),
    masked=st.booleans(),
)
@settings(max_examples=40)
def test_attend_is_scaled_dot_product_attention(batch, heads, q_len, k_len, d_head, masked):
    q = torch.randn(batch, heads, q_len, d_head, requires_grad=True)
    k, v = (torch.randn(batch, heads, k_len, d_head, requires_grad=True) for _ in range(2))
    mask = torch.rand(batch, k_len) < 0.6
    mask[:, 0] = True
    ours = attend(q, k, v, mask=mask if masked else None)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None] if masked else None)
    torch.testing.assert_close(ours, theirs)
    seen = torch.randn_like(ours)
    for mine, other in zip(
        torch.autograd.grad(ours, (q, k, v), seen), torch.autograd.grad(theirs, (q, k, v), seen), strict=True
    ):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("masked", [False, True])
def test_attend_looks_back_only_when_it_is_causal(masked):
    q, k, v = torch.randn(3, 2, HEADS, 7, 5)
    mask = mask_of([7, 4], 7) if masked else None
    allowed = torch.ones(7, 7, dtype=torch.bool).tril()
    theirs = F.scaled_dot_product_attention(
        q, k, v, attn_mask=allowed if mask is None else allowed & mask[:, None, None]
    )
    torch.testing.assert_close(attend(q, k, v, mask=mask, causal=True), theirs)
    # The last queries alone see what they saw among the others: that is what a cache relies on.
    last = attend(q[:, :, 4:], k, v, mask=mask, causal=True)
    torch.testing.assert_close(last, theirs[:, :, 4:])


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_torchs(causal):
    ours = drawn(Attention(D, HEADS, stream="a", causal=causal))
    theirs = nn.MultiheadAttention(D, HEADS, batch_first=True)
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.qkv.weight,
            "in_proj_bias": ours.qkv.bias,
            "out_proj.weight": ours.out.weight,
            "out_proj.bias": ours.out.bias,
        }
    )
    x, mask = torch.randn(3, 7, D), mask_of([7, 5, 1], 7)
    ahead = torch.ones(7, 7, dtype=torch.bool).triu(1) if causal else None
    expected, weights = theirs(x, x, x, key_padding_mask=~mask, attn_mask=ahead, average_attn_weights=False)
    torch.testing.assert_close(ours(x, mask), expected)
    torch.testing.assert_close(ours.weights(x, mask), weights)


def test_cross_attention_is_torchs():
    ours = drawn(CrossAttention(D, HEADS, stream="c"))
    theirs = nn.MultiheadAttention(D, HEADS, batch_first=True)
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([ours.query.weight, ours.kv.weight]),
            "in_proj_bias": torch.cat([ours.query.bias, ours.kv.bias]),
            "out_proj.weight": ours.out.weight,
            "out_proj.bias": ours.out.bias,
        }
    )
    x, memory, mask = torch.randn(3, 4, D), torch.randn(3, 7, D), mask_of([7, 5, 1], 7)
    expected, weights = theirs(x, memory, memory, key_padding_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(ours(x, memory, mask), expected)
    torch.testing.assert_close(ours.weights(x, memory, mask), weights)


@pytest.mark.parametrize("pieces", [[1] * 6, [6], [3, 1, 2]])
def test_cached_self_attention_is_the_uncached(pieces):
    attention = drawn(Attention(D, HEADS, stream="a", causal=True))
    x, cache = torch.randn(2, 6, D), Cache()
    parts = [attention(piece, cache=cache) for piece in x.split(pieces, 1)]
    assert len(cache) == 6
    torch.testing.assert_close(torch.cat(parts, 1), attention(x))


def test_cross_attention_reads_its_memory_once():
    cross = drawn(CrossAttention(D, HEADS, stream="c"))
    x, memory, cache = torch.randn(2, 4, D), torch.randn(2, 5, D), Cache()
    first = cross(x[:, :1], memory, cache=cache)
    rest = cross(x[:, 1:], torch.full_like(memory, math.nan), cache=cache)  # must not be looked at
    torch.testing.assert_close(torch.cat([first, rest], 1), cross(x, memory))


def test_a_cached_memory_is_read_as_one_that_is_not_even_of_padding_alone():
    cross, cache = drawn(CrossAttention(D, HEADS, stream="c")), Cache()
    x, memory, mask = torch.randn(3 * 2, 1, D), torch.randn(3, 5, D), mask_of([5, 2, 0], 5)
    for _ in range(2):
        torch.testing.assert_close(cross(x, memory, mask, cache), cross(x, memory, mask))
    kept = torch.tensor([2, 1])
    cache.keep(kept)
    torch.testing.assert_close(
        cross(x[:4], memory[kept], mask[kept], cache), cross(x[:4], memory[kept], mask[kept])
    )


@pytest.mark.parametrize("keys", [1, 7, 15, 16, 17])
def test_softmax_is_pytorchs_however_short_its_rows(keys):
    scores = torch.randn(3, 4, keys, dtype=torch.float64, requires_grad=True)
    hidden = torch.rand(3, 4, keys) < 0.3
    hidden[..., 0], hidden[0, 0] = False, True  # in one row nothing may be seen
    found = softmax(scores.masked_fill(hidden, -math.inf))
    wanted = scores.masked_fill(hidden, -math.inf).softmax(-1)
    torch.testing.assert_close(found, wanted, equal_nan=True)
    weigh = torch.randn(found.shape, dtype=torch.float64)[1:]
    (ours,), (theirs,) = (
        torch.autograd.grad((one[1:] * weigh).sum(), scores, retain_graph=True) for one in (found, wanted)
    )
    torch.testing.assert_close(ours[1:], theirs[1:])


def test_a_cache_that_is_reordered_is_plain_attention_to_the_tokens_of_each_row():
    attention, cache = drawn(Attention(D, HEADS, stream="a", causal=True)), Cache()
    tokens = torch.randn(4, 1, D)
    for step in range(5):
        found = attention(tokens[:, -1:], cache=cache)
        torch.testing.assert_close(found[:, 0], attention(tokens)[:, -1])
        assert len(cache) == step + 1
        rows = torch.randint(0, len(tokens), (6,))  # as hypotheses of a beam go on from others
        cache.keep(rows)
        tokens = torch.cat([tokens[rows], torch.randn(6, 1, D)], 1)


def test_heads_that_do_not_divide_the_width_are_named():
    with pytest.raises(ValueError, match="d_model must be a multiple of n_heads, got 10 and 4"):
        Attention(10, 4, stream="a")


# Linear maps in bf16


@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS - 5])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_linear_is_autocasts(rows, bias, dtype):
    x = torch.randn(1, rows, 24).to(dtype).requires_grad_()
    weight, offset = torch.randn(40, 24, requires_grad=True), torch.randn(40, requires_grad=True)
    leaves = (x, weight, offset) if bias else (x, weight)
    seen = torch.randn(1, rows, 40).bfloat16()

    def run(product):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = product(*leaves)
        return y, *torch.autograd.grad(y, leaves, seen)

    for ours, theirs in zip(run(linear), run(F.linear), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        # Both round to bf16, 8 bits; the sums may be split in other ways.
        torch.testing.assert_close(
            ours.float(), theirs.float(), rtol=2**-6, atol=2**-6 * theirs.abs().max().item()
        )


def test_linear_is_torchs_without_autocast():
    layer, x = drawn(Linear(24, 40, stream="l")), torch.randn(2, ROWS, 24)
    assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias))


def test_a_frozen_weight_costs_no_product_in_bf16():
    def products(**frozen) -> int:
        x = torch.randn(ROWS, 24, requires_grad="x" not in frozen)
        weight = torch.randn(40, 24, requires_grad="weight" not in frozen)
        bias = torch.randn(40, requires_grad=True)
        with FlopCounterMode(display=False) as counter, torch.autocast("cpu", dtype=torch.bfloat16):
            linear(x, weight, bias).sum().backward()
        return counter.get_total_flops() // (2 * ROWS * 24 * 40)

    assert (products(), products(weight=True), products(x=True), products(x=True, weight=True)) == (
        3,
        2,
        2,
        1,
    )


def test_what_the_quick_product_cannot_do_is_refused_or_pytorchs_and_its_output_can_be_changed():
    layer, x = drawn(Linear(24, 40, stream="l")), torch.randn(ROWS + 9, 24, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        nn.Sequential(layer, nn.ReLU(inplace=True))(x).sum().backward()
        with pytest.raises(RuntimeError, match="create_graph=True would leave terms out"):
            torch.autograd.grad(layer(x).sum(), x, create_graph=True)
        _, ahead = torch.func.jvp(layer, (x.detach(),), (torch.ones_like(x),))
        assert torch.func.grad(lambda x: Dropout(0.5)(x).sum())(x.detach()).unique().tolist() == [0, 2]
        with forward_ad.dual_level():
            dual = layer(forward_ad.make_dual(x.detach(), torch.ones_like(x)))
            assert torch.equal(forward_ad.unpack_dual(dual).tangent, ahead)
        with pytest.raises(RuntimeError):  # as autocast, which rounds no complex numbers
            linear(x.detach().to(torch.complex64), layer.weight, layer.bias)


def test_counting_adds_no_operation_and_may_end_before_the_way_back():
    def run(rows, product):
        x, weight, bias = (torch.randn(*size, requires_grad=True) for size in ((rows, 24), (40, 24), (40,)))
        with FlopCounterMode(display=False) as counter:
            with unpadded(), torch.autocast("cpu", dtype=torch.bfloat16):
                y = product(x, weight, bias)
            y.sum().backward()
        return counter.get_total_flops()

    assert run(ROWS + 9, linear) == run(ROWS + 9, F.linear)


def test_stacked_blocks_must_divide_the_rows():
    with pytest.raises(ValueError, match="d_out must be a multiple of blocks=3, got 10"):
        Linear(4, 10, stream="l", blocks=3)


def test_the_padding_row_of_an_embedding_gets_no_gradient():
    table = drawn(Embedding(6, 4, stream="e", padding=2))
    table(torch.tensor([[1, 2, 2, 5]])).sum().backward()
    assert table.weight.grad.ne(0).any(1).tolist() == [False, True, False, False, False, True]


# Dropout


@pytest.mark.parametrize("p", [0.05, 0.1, 0.3, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_drops_its_share_and_scales_the_rest(p, dtype):
    n = 400_001  # not a multiple of the four elements that a word serves
    y = Dropout(p).train()(torch.ones(n, dtype=dtype))
    assert y.dtype == dtype
    kept = y != 0
    assert y[kept].unique().tolist() == torch.tensor([1 / (1 - p)]).to(dtype).tolist()
    deviation = math.sqrt(n * p * (1 - p))
    assert abs(kept.sum().item() - n * (1 - p)) < 5 * deviation
    # Each element falls alone: neighbours, which share a word, agree as often as chance has it.
    for distance in (1, 2, 3, 4):
        both = (kept[distance:] & kept[:-distance]).float().mean().item()
        assert abs(both - (1 - p) ** 2) < 5 / math.sqrt(n)


def test_dropout_passes_gradients_where_it_passed_values():
    x = torch.randn(8, 33).t().requires_grad_()  # not contiguous
    y = Dropout(0.4).train()(x)
    (grad,) = torch.autograd.grad(y, x, torch.full_like(y, 3.0))
    kept = y != 0
    torch.testing.assert_close(y, x * kept / 0.6)
    torch.testing.assert_close(grad, 3 * kept / 0.6)


def test_dropout_has_second_derivatives_and_names_the_type_that_it_has_no_bits_for():
    x = torch.randn(300, requires_grad=True)
    y = Dropout(0.5).train()(x)
    (slope,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x)
    torch.testing.assert_close(bend, 6 * x.detach() * 8 * (y != 0))
    with pytest.raises(NotImplementedError, match="ComplexDouble"):  # as PyTorch, which says of what
        Dropout(0.5).train()(torch.ones(300, dtype=torch.complex128))


def test_dropout_draws_anew_each_time_and_again_from_the_same_seed():
    x, drop = torch.ones(1000), Dropout(0.5).train()
    first, second = drop(x), drop(x)
    torch.manual_seed(0)
    assert not torch.equal(first, second) and torch.equal(first, drop(x))


def test_dropout_does_nothing_in_evaluation_or_at_zero():
    x = torch.randn(50)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0).train()(x) is x


def test_a_share_just_below_one_keeps_next_to_nothing():
    assert (Dropout(1 - 1e-9).train()(torch.ones(10_000)) != 0).sum() < 10


@pytest.mark.parametrize("p", [1.0, -0.1, 1.5])
def test_a_share_outside_its_range_is_named(p):
    with pytest.raises(ValueError, match=rf"dropout must be in \[0, 1\), got {p}"):
        Dropout(p)


# Feed-forward, positions


@pytest.mark.parametrize(("activation", "function"), [("relu", nn.ReLU()), ("gelu", nn.GELU())])
def test_feed_forward_is_two_maps_with_a_bend_between(activation, function):
    layer, x = drawn(FeedForward(D, 40, stream="f", activation=activation)), torch.randn(2, 3, D)
    hand = function(x @ layer.up.weight.T + layer.up.bias) @ layer.down.weight.T + layer.down.bias
    torch.testing.assert_close(layer(x), hand)


def test_an_unknown_activation_is_named():
    with pytest.raises(ValueError, match="activation must be 'relu', 'gelu' or 'gelu-tanh', got 'swish'"):
        FeedForward(D, 4, stream="f", activation="swish")


def test_sinusoids_are_the_papers_with_the_features_in_another_order():
    table = sinusoids(30, 12)
    for position in range(30):
        for pair in range(6):
            angle = position / 10000 ** (2 * pair / 12)
            expected = torch.tensor([math.sin(angle), math.cos(angle)])
            torch.testing.assert_close(table[position, [pair, 6 + pair]], expected, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="d_model must be even for sinusoidal positions, got 7"):
        sinusoids(3, 7)


def test_sinusoids_grow_with_the_sequence_and_training_goes_on():
    positions = SinusoidalPositions(D)
    long = len(positions.table) + 50
    with torch.inference_mode():  # as when a long sentence is validated
        grown = positions(torch.zeros(1, long, D))[0]
    assert torch.equal(grown, sinusoids(long, D))
    x = torch.zeros(1, long, D, requires_grad=True)
    positions(x).sum().backward()
    assert x.grad is not None


def test_sinusoids_that_grow_keep_the_type_of_the_model():
    positions = SinusoidalPositions(D).to(torch.bfloat16)
    x = torch.zeros(1, len(positions.table) + 50, D, dtype=torch.bfloat16)
    assert positions(x).dtype == torch.bfloat16


def test_a_sequence_beyond_the_learned_positions_is_an_error():
    positions = drawn(LearnedPositions(9, D, stream="p"))
    with pytest.raises(ValueError, match="the model has 9 positions, but the sequence needs 10"):
        positions(torch.zeros(1, 1, D), 9)


def test_a_hand_written_loop_over_weights_that_nobody_drew_is_told_what_to_call():
    model = LanguageModelConfig(9, d_model=8, n_heads=2, d_ff=8, layers=1).build()
    with pytest.raises(ValueError, match=r"of embedding were never initialised: call reservoir\.initialise"):
        model(torch.tensor([[1, 2]]))
    assert model.output.weight.isnan().all(), "no run looks well by chance"
    assert initialise(model, seed=0)(torch.tensor([[1, 2]])).isfinite().all()
    for layer, x in (
        (Linear(4, 4, stream="map"), torch.ones(1, 4)),
        (BiGRU(4, stream="gru"), torch.ones(1, 3, 4)),
        (Embedding(4, 4, stream="table"), torch.tensor([1])),
    ):
        with pytest.raises(ValueError, match=f"the weights of {layer.stream} were never initialised"):
            layer(x)
    layer = Linear(4, 4, stream="map")
    layer.weight.data.normal_()  # by hand, as far as it is filled
    layer.bias.data.zero_()
    assert layer(torch.ones(1, 4)).isfinite().all()
