"""Mixing of positions without attention: by matrices over tokens, by dynamic convolution, by a recurrent layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from reservoir.layers.attention import softmax
from reservoir.layers.linear import Linear, Undrawn, linear
from reservoir.layers.precision import full_precision


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
        rows, bias = slice(x.shape[1]), self.down.bias  # a bare model has no bias
        return over_tokens(inner, self.down.effective_weight()[rows], None if bias is None else bias[rows])


class DynamicConvolution(nn.Module):
    """`W_o conv(GLU(W_i x))`: a light convolution whose kernel each position makes from its own vector.

    A kernel is softmaxed over its window, and all features of a head share it (Wu et al. 2019, §3 and §4). Where
    attention compares positions, this layer only looks at one to know how to weigh those around it.

    Args:
        d_model: width of the residual stream.
        n_heads: kernels a position; divides d_model.
        kernel: width of the window, odd: as many positions on either side.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, *, kernel: int, stream: str):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(f"kernel must be odd and positive, got {kernel}")
        self.n_heads, self.kernel = n_heads, kernel
        self.into = Linear(d_model, 2 * d_model, stream=f"{stream}.into", blocks=2)
        self.weigh = Linear(d_model, n_heads * kernel, stream=f"{stream}.weigh", bias=False)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        x = F.glu(self.into(x), -1)
        batch, length = x.shape[:2]
        scores = self.weigh(x).view(batch, length, self.n_heads, 1, self.kernel)
        weights = softmax(scores.float()).to(x.dtype)
        if mask is not None:  # padding counts as zeros
            x = x * mask[..., None]
        half = self.kernel // 2
        windows = F.pad(x, (0, 0, half, half)).unfold(1, self.kernel, 1)  # (batch, length, d_model, kernel)
        windows = windows.unflatten(2, (self.n_heads, -1))  # (batch, length, heads, d_head, kernel)
        return self.out((windows * weights).sum(-1).flatten(2))


def read_packed(read: Callable[..., tuple[PackedSequence, Any]], x: Tensor, mask: Tensor) -> Tensor:
    """The states of a recurrent layer that stops where each text ends; zeros at padding.

    Args:
        read: the layer's forward pass, called with a packed sequence.
        x: (batch, length, d_in).
        mask: (batch, length), true at tokens; a text may have none.

    Returns:
        (batch, length, d_out).
    """
    lengths = mask.sum(1).cpu()
    packed = pack_padded_sequence(x, lengths.clamp(min=1), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(read(packed)[0], batch_first=True, total_length=x.shape[1])
    return states if bool(lengths.all()) else states * mask[..., None]


class BiGRU(Undrawn, nn.GRU):
    """Reads a sequence from either end; each direction gives half of the features (Cho et al. 2014, PyTorch's form).

    Args:
        d_model: width of the residual stream, even.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, *, stream: str):
        if d_model % 2:
            raise ValueError(f"d_model must be even, half for each direction, got {d_model}")
        self.stream, self.blocks = stream, 3  # the maps of three gates are stacked along the rows
        super().__init__(d_model, d_model // 2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:  # type: ignore[override]
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        self.check_drawn()
        with full_precision(x.device):  # sums over hundreds of steps need fp32
            x = x.float()
            if mask is None:
                return super().forward(x)[0]
            return read_packed(super().forward, x, mask)
