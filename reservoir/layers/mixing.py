"""Mixing of positions by matrices that do not depend on the input: linear mixing (FNet) and MLP-Mixer's."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.linear import Linear, linear


def over_tokens(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear map along a text: (batch, length, d), (rows, columns) -> (batch, rows, d).

    A text of fewer tokens than the map has columns is padded with zeros.
    """
    return linear(x.transpose(1, 2), weight[:, : x.shape[1]], bias).transpose(1, 2)


class FixedLength(nn.Module):
    """What maps over tokens share: they are made for texts of one length, and pad a shorter one with zeros."""

    def __init__(self, length: int):
        super().__init__()
        self.length = length

    def read(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """What is mixed: `x` with zeros where `mask`, (batch, length), is false."""
        if x.shape[1] > self.length:
            raise ValueError(
                f"this mixing is made for {self.length} tokens, got {x.shape[1]}; cut the text, or give more"
            )
        return x if mask is None else x * mask[..., None]


class LinearMixing(FixedLength):
    """One map over features, then one over tokens: `W_n x W_d`, FNet's "Linear" (Lee-Thorp et al. 2022, §4.1).

    Frozen where it was drawn, it is FNet's "Random".

    Args:
        d_model: width of the residual stream.
        length: tokens of the longest text.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, length: int, *, stream: str):
        super().__init__(length)
        self.features = Linear(d_model, d_model, stream=f"{stream}.features", bias=False)
        self.tokens = Linear(length, length, stream=f"{stream}.tokens", bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        mixed = self.features(self.read(x, mask))
        return over_tokens(mixed, self.tokens.effective_weight()[: x.shape[1]])


class MLPMixing(FixedLength):
    """A small network over tokens, the same for every feature: `W₂ GELU(W₁ x)` (Tolstikhin et al. 2021, eq. 1).

    Args:
        length: tokens of the longest text.
        d_tokens: width between the two maps.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, length: int, d_tokens: int, *, stream: str):
        super().__init__(length)
        self.up = Linear(length, d_tokens, stream=f"{stream}.up")
        self.down = Linear(d_tokens, length, stream=f"{stream}.down")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        inner = F.gelu(over_tokens(self.read(x, mask), self.up.effective_weight(), self.up.bias))
        rows = slice(x.shape[1])
        return over_tokens(inner, self.down.effective_weight()[rows], self.down.bias[rows])
