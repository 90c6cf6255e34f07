"""Mixing by matrices and by random features, against independent forms of the same."""

import pytest
import torch
from torch import nn

from reservoir.layers import Attention, BiGRU, LinearMixing, MLPMixing
from reservoir.layers.mixing import over_tokens
from reservoir.models import RandomFeatureAttention, RandomMixing
from reservoir.weights import Mask, initialise, owned, report, supermask


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_linear_mixing_is_two_products():
    mixing = initialise(LinearMixing(6, 5, stream="mix"), seed=0)
    x = draw(2, 5, 6)
    expected = torch.einsum("nm,bmd,ed->bne", mixing.tokens.weight, x, mixing.features.weight)
    torch.testing.assert_close(mixing(x), expected)


def test_mlp_mixing_is_a_network_over_the_transposed_input():
    mixing = initialise(MLPMixing(5, 7, stream="mix"), seed=0)
    up, down = nn.Linear(5, 7), nn.Linear(7, 5)
    up.load_state_dict(mixing.up.state_dict())
    down.load_state_dict(mixing.down.state_dict())
    x = draw(2, 5, 6)
    torch.testing.assert_close(mixing(x), down(nn.functional.gelu(up(x.mT))).mT)


@pytest.mark.parametrize("mixing", [LinearMixing(6, 5, stream="mix"), MLPMixing(5, 7, stream="mix")])
def test_what_fills_up_a_text_does_not_leak(mixing):
    initialise(mixing, seed=0)
    x = draw(2, 5, 6)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    short = mixing(x[1:, :3])
    torch.testing.assert_close(mixing(x, mask)[1:, :3], short)
    assert not torch.allclose(mixing(x)[1:, :3], short)  # without the mask it does
    with pytest.raises(ValueError, match="made for 5 tokens, got 6"):
        mixing(draw(1, 6, 6))


def test_random_features_come_near_attention():
    exact = initialise(Attention(16, 2, stream="mix"), seed=0)
    mask = torch.ones(3, 9, dtype=torch.bool)
    mask[1, 6:] = False
    x = 0.7 * draw(3, 9, 16)

    def error(n_features: int) -> float:
        ours = initialise(RandomFeatureAttention(16, 2, n_features=n_features, stream="mix"), seed=0)
        ours.qkv.load_state_dict(exact.qkv.state_dict())
        ours.out.load_state_dict(exact.out.state_dict())
        return float((ours(x, mask) - exact(x, mask)).detach().square().mean().sqrt())

    few, many = error(64), error(16384)
    assert many < few / 4  # the error falls as one over the root of their number, 16 times here
    assert many < 0.05 * float(exact(x, mask).detach().square().mean().sqrt())


def test_random_features_do_not_learn_and_hide_what_fills_up():
    mixing = initialise(RandomFeatureAttention(16, 2, n_features=32, stream="mix"), seed=0)
    assert {item.stream for item in owned(mixing) if not item.parameter.requires_grad} == {"mix.features"}
    x = draw(1, 6, 16)
    mask = torch.tensor([[True] * 4 + [False] * 2])
    torch.testing.assert_close(mixing(x, mask)[:, :4], mixing(x[:, :4]))
    assert mixing(30 * x).isfinite().all()
    with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
        RandomFeatureAttention(16, 2, n_features=0, stream="mix")


def test_random_features_are_multiplied_by_their_mask():
    """Its scores count as trained, so they must have a gradient, and the mask must do what zeros would."""
    made = [initialise(RandomFeatureAttention(16, 2, n_features=32, stream="mix"), seed=0) for _ in range(2)]
    masked, zeroed = supermask(made[0], Mask(keep=0.5, patterns=("*.features",)), seed=0), made[1]
    with torch.no_grad():
        zeroed.features.weight.copy_(masked.features.effective_weight())
    assert int((zeroed.features.weight == 0).sum()) == zeroed.features.weight.numel() // 2
    x = draw(2, 6, 16)
    torch.testing.assert_close(masked(x), zeroed(x))
    masked(x).square().sum().backward()
    assert masked.features.mask.scores.grad.any()


def test_random_mixing_is_attention_at_weights_that_do_not_move():
    mixing = initialise(RandomMixing(16, 2, 9, stream="mix"), seed=0)
    assert {row.stream: row.origin for row in report(mixing).rows if not row.moves} == {
        "mix.tokens": "seeded"
    }
    x, mask = draw(3, 6, 16), torch.tensor([[True] * 6, [True] * 4 + [False] * 2, [False] * 6])
    for text, n in enumerate((6, 4)):
        w = mixing.tokens.weight.view(2, 9, 9)[:, :n, :n]
        weights = torch.eye(n) + (w - w.mean(-1, keepdim=True)) / (n * 8) ** 0.5
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, n))
        values = mixing.value(x[text, :n]).view(n, 2, 8).transpose(0, 1)
        expected = mixing.out((weights @ values).transpose(0, 1).reshape(n, 16))
        torch.testing.assert_close(mixing(x, mask)[text, :n], expected)
    with pytest.raises(ValueError, match="made for 9 tokens, got 10"):
        mixing(draw(1, 10, 16))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_what_mixes_computes_in_the_type_of_its_weights(dtype):
    x, mask = draw(2, 5, 6).to(dtype), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    random = RandomFeatureAttention(6, 2, n_features=8, stream="mix"), RandomMixing(6, 2, 5, stream="mix")
    for mixing in (*random, BiGRU(6, stream="mix")):
        assert initialise(mixing, seed=0).to(dtype)(x, mask).dtype == dtype


def test_a_map_over_tokens_takes_a_short_text_as_filled_with_zeros():
    x, weight = draw(2, 3, 4), draw(6, 5)
    filled = torch.cat([x, torch.zeros(2, 2, 4)], 1)
    torch.testing.assert_close(over_tokens(x, weight), torch.einsum("rc,bcd->brd", weight, filled))
