"""Layers that mix the positions of a text, by name, and where attention stands among cheaper mixings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from reservoir.layers import DFT, Fourier, Linear, LinearMixing, MLPMixing
from reservoir.layers.mixing import FixedLength
from reservoir.layers.precision import full_precision
from reservoir.models.config import TransformerConfig
from reservoir.models.stack import Make, self_attention
from reservoir.weights.initialisation import Normal


class RandomFeatureAttention(nn.Module):
    """Self-attention whose softmax is a product of positive random features (Choromanski et al. 2021, §2).

    With `φ(x) = exp(w x - |x|²/2) / √m` for m random rows w, `E φ(q) φ(k)ᵀ = exp(q k)`: sums over keys are taken once
    for all queries. The rows are drawn from a seed, nearly normal, and never learn. The features of Peng et al. (2021)
    are other ones, for the same purpose: sines and cosines of queries and keys of length one.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        n_features: m, how many rows.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, *, n_features: int, stream: str):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        self.n_heads, d_head = n_heads, d_model // n_heads
        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, got {n_features}")
        self.qkv = Linear(d_model, 3 * d_model, stream=f"{stream}.qkv", blocks=3)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")
        self.features = Linear(d_head, n_features, stream=f"{stream}.features", bias=False)
        self.features.initialisations = {"weight": Normal(1.0)}
        self.features.requires_grad_(False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        # (batch, length, d_model), (batch, length) true at tokens -> (batch, length, d_model)
        batch, length, d_model = x.shape
        q, k, v = (
            self.qkv(x).view(batch, length, 3, self.n_heads, d_model // self.n_heads).permute(2, 0, 3, 1, 4)
        )
        with full_precision(x.device):  # exponentials and sums over all tokens want fp32
            q, k, values = (
                part.float() * scale for part, scale in ((q, _share(q)), (k, _share(k)), (v, 1.0))
            )
            q, k = self._exponents(q), self._exponents(k)
            if mask is not None:
                k = k.masked_fill(~mask[:, None, :, None], -torch.inf)
            # A factor that all keys share, or all features of a query, leaves the weighted mean as it is.
            q = (q - q.amax(-1, keepdim=True)).exp()  # (batch, heads, length, m)
            # In a text of padding alone every exponent is -inf; bounded below, its keys and its means are zero.
            bounds = torch.finfo(k.dtype)
            k = (k - k.amax((-2, -1), keepdim=True).clamp_min(bounds.min)).exp()
            mixed = q @ (k.transpose(-1, -2) @ values)  # (batch, heads, length, d_head)
            mixed = mixed / (q @ k.sum(-2)[..., None]).clamp_min(bounds.tiny)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, d_model))

    def _exponents(self, x: Tensor) -> Tensor:  # (..., d_head) -> (..., m): log φ, the constant factor aside
        return x @ self.features.weight.T - x.square().sum(-1, keepdim=True) / 2


def _share(x: Tensor) -> float:
    """Queries and keys carry half each of the 1 / √d_head in the softmax."""
    return x.shape[-1] ** -0.25


class RandomMixing(FixedLength):
    """Attention at fixed random weights, values and output trained: MixiT's (Dong et al. 2025).

    In each head, position i of a text of n tokens gets `v_i + Σ_j w_ij (v_j - v̄) / √(n d_head)`, where v̄ is the mean of
    the values and w is drawn from a seed, nearly normal, and never learns. That is a product with a matrix whose rows
    sum to one: the identity, and noise without its mean. MixiT scales it for one length, and a position sees only those
    before it; here the noise of each text is scaled for the text's own length, and a position sees all others.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        length: tokens of the longest text.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, length: int, *, stream: str):
        super().__init__(length)
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        self.n_heads = n_heads
        self.value = Linear(d_model, d_model, stream=f"{stream}.value")
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")
        self.tokens = Linear(length, n_heads * length, stream=f"{stream}.tokens", bias=False)
        self.tokens.initialisations = {"weight": Normal(1.0)}
        self.tokens.requires_grad_(False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        values = self.read(self.value(x), mask)
        batch, n, d_model = values.shape
        lengths = n if mask is None else mask.sum(1).clamp_min(1)[:, None, None]  # (batch, 1, 1)
        mean = values.sum(1, keepdim=True) / lengths
        d_head = d_model // self.n_heads
        centred = self.read(values - mean, mask) * (lengths * d_head) ** -0.5
        heads = centred.view(batch, n, self.n_heads, d_head).transpose(1, 2)  # (batch, heads, n, d_head)
        weights = self.tokens.effective_weight().view(self.n_heads, self.length, self.length)[:, :n, :n]
        return self.out(values + (weights @ heads).transpose(1, 2).reshape(batch, n, d_model))


Where = Literal["bottom", "top", "middle", "mixed"]


def fourier(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """The real part of a Fourier transform (Lee-Thorp et al. 2022), each text filled up to `max_length` with zeros."""
    return Fourier(config.max_length)


def fourier_normalised(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """`fourier`, divided by the root of `max_length` times `d_model`."""
    return Fourier(config.max_length, normalised=True)


def dft(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """`fourier` as matrix products."""
    return DFT(config.d_model, config.max_length)


def linear(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """A matrix over features and one over tokens; frozen by `Freeze(patterns=("*.linear.*",))`, FNet's "Random"."""
    return LinearMixing(config.d_model, config.max_length, stream=f"{stream}.linear")


def mlp(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """A small network over tokens, half as wide as the residual stream (Tolstikhin et al. 2021, table 1)."""
    return MLPMixing(config.max_length, config.d_model // 2, stream=f"{stream}.mlp")


def random_features(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """Attention by random features, twice as many as a head has (Choromanski et al. 2021)."""
    n_features = 2 * config.d_model // config.n_heads
    return RandomFeatureAttention(
        config.d_model, config.n_heads, n_features=n_features, stream=f"{stream}.attention"
    )


def random_mixing(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """Attention at fixed random weights (Dong et al. 2025), for texts of up to `max_length` tokens."""
    return RandomMixing(config.d_model, config.n_heads, config.max_length, stream=f"{stream}.attention")


MIXINGS: dict[str, Make] = {
    "attention": self_attention,
    "fourier": fourier,
    "fourier-normalised": fourier_normalised,
    "dft": dft,
    "linear": linear,
    "mlp": mlp,
    "random-features": random_features,
    "random-mixing": random_mixing,
}
"""Layers that mix positions, by the name that a configuration calls them."""


def named(names: Sequence[str]) -> Make:
    """Make the mixing of layer i by its name, a key of `MIXINGS`; attention in all layers if there are no names."""
    return lambda config, index, stream: MIXINGS[names[index] if names else "attention"](
        config, index, stream
    )


def check_mixing(names: Sequence[str], layers: int, *, argument: str = "mixing") -> None:
    """Raise a ValueError that names `argument` unless `names` is empty or has a known mixing for every layer."""
    if names and len(names) != layers:
        raise ValueError(f"{argument} must name all {layers} layers, got {len(names)}")
    if unknown := sorted(set(names) - set(MIXINGS)):
        raise ValueError(f"{argument} must be of {', '.join(MIXINGS)}, got {', '.join(unknown)}")


def hybrid(layers: int, k: int, *, where: Where, other: str = "fourier") -> tuple[str, ...]:
    """Attention in `k` of the layers and another mixing in the rest, from the bottom up (Lee-Thorp et al. 2022, §4.5).

    Args:
        layers: in all.
        k: with attention.
        where: the "bottom" layers have it, the "top" ones, those in the "middle", or it is "mixed" in evenly, the last
            layer included.
        other: what the rest has.

    Raises:
        ValueError: `k` is out of range, or `where` or `other` is unknown.
    """
    if not 0 <= k <= layers:
        raise ValueError(f"k must be from 0 to layers={layers}, got {k}")
    if other not in MIXINGS:
        raise ValueError(f"other must be one of {', '.join(MIXINGS)}, got {other!r}")
    below = (layers - k) // 2
    chosen = {
        "bottom": range(k),
        "top": range(layers - k, layers),
        "middle": range(below, below + k),
        "mixed": [(i + 1) * layers // k - 1 for i in range(k)],
    }
    if where not in chosen:
        raise ValueError(f"where must be one of {', '.join(chosen)}, got {where!r}")
    return tuple("attention" if layer in chosen[where] else other for layer in range(layers))
