"""Normalisation over the features with a stream name, so that a freezing plan can point at it."""

from __future__ import annotations

from torch import nn


class LayerNorm(nn.LayerNorm):
    """`(x - mean) / std · weight + bias` over the features (Ba et al. 2016).

    Args:
        d_model: number of features.
        stream: name that plans and reports know its weight by, such as "encoder.0.mixing.norm".
    """

    def __init__(self, d_model: int, *, stream: str):
        self.stream, self.blocks = stream, 1
        super().__init__(d_model)


class RMSNorm(nn.RMSNorm):
    """`x / √(mean of x²) · weight` over the features (Zhang & Sennrich 2019).

    Args:
        d_model: number of features.
        stream: as in `LayerNorm`.
        eps: added to the mean square.
    """

    def __init__(self, d_model: int, *, stream: str, eps: float = 1e-5):
        self.stream, self.blocks = stream, 1
        super().__init__(d_model, eps=eps)
