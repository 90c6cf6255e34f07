"""Dropout by sixteen random bits and a bitwise AND per element: many times faster on a CPU than PyTorch's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_number

BITS = 15  # of resolution: the share dropped is p to the nearest 1/32768


def keep_bits(n: int, p: float) -> Tensor:
    """`n` int16 numbers, each with all bits set with probability 1 - p, and none with probability p."""
    words = torch.empty((n + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    draws = words.view(torch.int16)[:n].bitwise_and_(2**BITS - 1)
    # The sign of (threshold - 1) - draw, spread over all bits: set where draw >= threshold.
    return draws.neg_().add_(round(p * 2**BITS) - 1).bitwise_right_shift_(15)


def _select(x: Tensor, keep: Tensor) -> Tensor:
    """x where `keep`, (n,) int16, has its bits set, and 0 elsewhere; `torch.where` takes ten times as long."""
    size = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    return (x.contiguous().view(size) & keep.view(x.shape).to(size)).view(x.dtype)


class _Drop(torch.autograd.Function):
    """Zero what is dropped and scale the rest; the bits alone are kept for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        keep = keep_bits(x.numel(), p)
        ctx.save_for_backward(keep)
        ctx.scale = 1.0 / (1.0 - p)
        return _select(x, keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return _select(grad, keep).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Zero a share `p` of the elements in training and scale the others by 1 / (1 - p) (Srivastava et al. 2014).

    Args:
        p: share of elements dropped, in [0, 1).
    """

    def __init__(self, p: float = 0.0):
        super().__init__()
        check_number("dropout", p, least=0, below=1)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape -> the same shape."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():  # fused there already
            return nn.functional.dropout(x, self.p)
        return _Drop.apply(x, self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"
