"""Mixing by a fixed transform: the real part of a Fourier transform over tokens and features, with nothing to learn."""

from __future__ import annotations

import math
import sys
from typing import Any

import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_number
from reservoir.layers.precision import full_precision


def fourier(x: Tensor, *, length: int | None = None) -> Tensor:
    """`Re(FFT_seq(FFT_hidden(x)))` (Lee-Thorp et al. 2022, eq. 3), unnormalised.

    The transform of real numbers at (-n, -k) is the conjugate of that at (n, k), so on a processor half of it is
    computed and the real part of the other half is the first half's mirror image. On a GPU the operations that make up
    the mirror image take longer to start than the whole transform. The map is linear and symmetric: its own backward
    pass.
    Half-precision inputs are transformed in fp32, for which there are kernels at every size on every device, and
    come back as they were.

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
    @staticmethod
    def forward(ctx: Any, x: Tensor, length: int) -> Tensor:
        ctx.length = length
        return _real_part(x, length)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return fourier(grad, length=ctx.length), None


def _real_part(x: Tensor, length: int) -> Tensor:
    if not x.numel():  # a batch without texts, which not every library transforms
        return x.clone()
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    tokens, d_model = x.shape[-2:]
    if not x.is_cpu:
        return torch.fft.fft2(wide, s=(length, d_model)).real[..., :tokens, :].to(x.dtype)
    half = d_model // 2 + 1
    whole = x.new_empty(*x.shape[:-2], length, d_model)
    _copy_real(torch.fft.rfft2(wide, s=(length, d_model)), whole[..., :half])
    found = whole[..., 1 : (d_model + 1) // 2]  # feature d - k stands for -k
    whole[..., 0, half:] = found[..., 0, :].flip(-1)  # token 0 is its own mirror image
    whole[..., 1:, half:] = found[..., 1:, :].flip(-2, -1)
    return whole[..., :tokens, :]


def _copy_real(z: Tensor, to: Tensor) -> None:
    """Write the real parts of `z` into `to`."""
    if z.dtype == torch.complex64 and to.dtype == torch.float32 and z.is_cpu and sys.byteorder == "little":
        # The lower half of each eight bytes, cut off as an integer: processors do that for many numbers at a time.
        to.view(torch.int32).copy_(z.view(torch.int64))
    else:
        to.copy_(z.real)


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


def cosines_and_sines(n: int, *, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """The (n, n) matrices of `cos(2π jk / n)` and `sin(2π jk / n)`, exact in their symmetries."""
    if torch.empty(0).is_meta:  # where PyTorch would import modules for a second
        return torch.empty(n, n, dtype=dtype), torch.empty(n, n, dtype=dtype)
    phase = (
        torch.outer(torch.arange(n), torch.arange(n)) % n
    )  # without whole turns, before anything is rounded
    angle = phase.double() * (2 * math.pi / n)
    return angle.cos().to(dtype), angle.sin().to(dtype)


class DFT(nn.Module):
    """The same transform as four matrix products: `C_n x C_d - S_n x S_d` (Lee-Thorp et al. 2022, §4.1).

    On hardware that is much better at products than at anything else it is the faster form for short texts. A matrix
    cut down to fewer rows is not the transform of fewer tokens: here, as in `Fourier(length)`, a text of fewer tokens
    is padded with zeros.

    Args:
        d_model: width of the residual stream.
        length: tokens of the longest text.
    """

    hidden_cosines: Tensor
    hidden_sines: Tensor
    sequence_cosines: Tensor
    sequence_sines: Tensor

    def __init__(self, d_model: int, length: int):
        super().__init__()
        check_number("d_model", d_model, least=1, whole=True)
        check_number("length", length, least=1, whole=True)
        self.length = length
        self.hidden_cosines: Tensor
        self.hidden_sines: Tensor
        self.sequence_cosines: Tensor
        self.sequence_sines: Tensor
        for name, size in (("hidden", d_model), ("sequence", length)):
            cosines, sines = cosines_and_sines(size, dtype=torch.float32)
            self.register_buffer(f"{name}_cosines", cosines, persistent=False)
            self.register_buffer(f"{name}_sines", sines, persistent=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        tokens = x.shape[-2]
        if tokens > self.length:
            raise ValueError(
                f"this transform is of {self.length} tokens, got {tokens}; cut the text, or give more"
            )
        if mask is not None:
            x = x * mask[..., None]
        with full_precision(x.device):  # its sums over all tokens and features need fp32
            wide = x.float()
            even = self.sequence_cosines[:tokens, :tokens] @ (wide @ self.hidden_cosines)
            odd = self.sequence_sines[:tokens, :tokens] @ (wide @ self.hidden_sines)
            return (even - odd).to(x.dtype)
