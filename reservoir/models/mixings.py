"""Layers that mix the positions of a text, by name, and where attention stands among cheaper mixings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import nn

from reservoir.layers import DFT, Fourier, LinearMixing, MLPMixing
from reservoir.models.config import TransformerConfig
from reservoir.models.random_feature_attention import RandomFeatureAttention
from reservoir.models.stack import Make, self_attention

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


MIXINGS: dict[str, Make] = {
    "attention": self_attention,
    "fourier": fourier,
    "fourier-normalised": fourier_normalised,
    "dft": dft,
    "linear": linear,
    "mlp": mlp,
    "random-features": random_features,
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
