"""Mixing of positions without attention: by a fixed Fourier transform, by matrices over tokens, by dynamic
convolution, by a recurrent layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from reservoir.layers.arguments import check_number
from reservoir.layers.attention import softmax
from reservoir.layers.linear import Linear, Undrawn, linear


def full_precision(device: torch.device) -> AbstractContextManager:
    """The context in which nothing is rounded to bf16; none on the meta device, where nothing is computed."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)


def fourier(x: Tensor, *, length: int | None = None) -> Tensor:
    """`Re(FFT_seq(FFT_hidden(x)))` (Lee-Thorp et al. 2022, eq. 3), unnormalised.

    The map is linear and symmetric: its own backward pass. Half-precision inputs are transformed in fp32, for which
    there are kernels at every size on every device, and come back as they were.

    Args:
        x: (..., tokens, d_model), real.
        length: the transform is that of so many tokens, of which those that `x` lacks are zero; only the first
            `tokens` rows of it are returned. As many as `x` has by default.

    Returns:
        (..., tokens, d_model), of the same dtype.

    Raises:
        ValueError: `x` has more tokens than `length`.
    """
    tokens = x.shape[-2]
    if length is not None and tokens > length:
        raise ValueError(f"this transform is of {length} tokens, got {tokens}; cut the text, or give more")
    return _Fourier.apply(x, tokens if length is None else length)


class _Fourier(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, length: int) -> Tensor:
        if not x.numel():  # a batch without texts, which not every library transforms
            return x.clone()
        wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
        tokens, d_model = x.shape[-2:]
        return torch.fft.fft2(wide, s=(length, d_model)).real[..., :tokens, :].to(x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.length = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return fourier(grad, length=ctx.length), None


class Fourier(nn.Module):
    """Fourier mixing in the place of attention (Lee-Thorp et al. 2022).

    A transform has no mask: padding is mixed into every token of a text, and so is its amount. With a `length` every
    text is padded with zeros to that many tokens, so that the result depends on the text alone and not on the rest of
    the batch. Without one, a padded text is refused: give texts of one length, such as the windows that masked
    language models are pretrained on.

    Args:
        length: tokens of the longest text; None transforms each batch at the length it has.
        normalised: divide by the root of the number of entries, so that input and output have the same size; the paper
            does not.
    """

    def __init__(self, length: int | None = None, *, normalised: bool = False):
        super().__init__()
        if length is not None:
            check_number("length", length, least=1, whole=True)
        self.length, self.normalised = length, normalised

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        if mask is not None and self.length is None:
            if not bool(mask.all()):
                raise ValueError(
                    "a text is padded, and a Fourier transform has no mask: give the longest length,"
                    " Fourier(length=…), or texts of one length"
                )
        elif mask is not None:
            x = x * mask[..., None]
        mixed = fourier(x, length=self.length)
        if self.normalised:
            mixed = mixed / math.sqrt((self.length or x.shape[-2]) * x.shape[-1])
        return mixed


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
