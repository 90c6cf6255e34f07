"""Mixing by a fixed transform: the real part of a Fourier transform over tokens and features, with nothing to learn."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def fourier(x: Tensor) -> Tensor:
    """`Re(FFT_seq(FFT_hidden(x)))` (Lee-Thorp et al. 2022, eq. 3), unnormalised.

    The transform of real numbers at (-n, -k) is the conjugate of that at (n, k), so half of it is computed and the real
    part of the other half is the first half's mirror image. The map is linear and symmetric: its own backward pass.
    Half-precision inputs are transformed in fp32, for which there are kernels at every size on every device, and
    come back as they were.

    Args:
        x: (..., length, d_model), real.

    Returns:
        (..., length, d_model), of the same dtype.
    """
    return _Fourier.apply(x)


class _Fourier(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return _real_part(x)

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        return fourier(grad)


def _real_part(x: Tensor) -> Tensor:
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    d_model = x.shape[-1]
    half = d_model // 2 + 1
    found = torch.fft.rfft2(wide).real  # (..., length, half)
    whole = torch.empty_like(x)
    whole[..., :half] = found
    mirrored = found[..., 1 : (d_model + 1) // 2].flip(-1)  # feature d - k stands for -k
    whole[..., 0, half:] = mirrored[..., 0, :]  # token 0 is its own mirror image
    whole[..., 1:, half:] = mirrored[..., 1:, :].flip(-2)
    return whole


class Fourier(nn.Module):
    """Fourier mixing in the place of attention (Lee-Thorp et al. 2022).

    There is no mask in a transform: what fills up a short text is mixed into every token of it. Give texts of one
    length, or always fill up to the same one.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:  # (batch, length, d_model) -> same
        return fourier(x)


def cosines_and_sines(n: int, *, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """The (n, n) matrices of `cos(2π jk / n)` and `sin(2π jk / n)`, exact in their symmetries."""
    phase = (
        torch.outer(torch.arange(n), torch.arange(n)) % n
    )  # whole turns left out before anything is rounded
    angle = phase.double() * (2 * math.pi / n)
    return angle.cos().to(dtype), angle.sin().to(dtype)


class DFT(nn.Module):
    """The same transform as four matrix products: `C_n x C_d - S_n x S_d` (Lee-Thorp et al. 2022, §4.1).

    On hardware that is much better at products than at anything else it is the faster form for short texts. A matrix
    cut down to fewer rows is not the transform of fewer tokens, so each length gets matrices of its own.

    Args:
        d_model: width of the residual stream.
        length: tokens of a text, all texts alike.
    """

    def __init__(self, d_model: int, length: int):
        super().__init__()
        self.length = length
        for name, size in (("hidden", d_model), ("sequence", length)):
            cosines, sines = cosines_and_sines(size, dtype=torch.float32)
            self.register_buffer(f"{name}_cosines", cosines, persistent=False)
            self.register_buffer(f"{name}_sines", sines, persistent=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:  # (batch, length, d_model) -> same
        if x.shape[-2] != self.length:
            raise ValueError(
                f"this transform is of {self.length} tokens, got {x.shape[-2]}; fill up or cut to that, or use Fourier"
            )
        with torch.autocast(x.device.type, enabled=False):  # its sums over all tokens and features need fp32
            wide = x.float()
            even = self.sequence_cosines @ (wide @ self.hidden_cosines)
            odd = self.sequence_sines @ (wide @ self.hidden_sines)
            return (even - odd).to(x.dtype)
