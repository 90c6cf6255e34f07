"""Detours: forward through a block and backward past it, with an estimate of the gradient below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reservoir.training.gradient_estimators import GradientEstimator, ZeroGradient


class _Pass(torch.autograd.Function):
    """Forward: y. Backward: x gets `answer` of y's gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, answer: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.answer = answer
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.answer(grad), None, None


def skip(x: Tensor, y: Tensor, answer: Callable[[Tensor], Tensor]) -> Tensor:
    """y, as if it were computed from x by something whose backward pass is `answer`.

    Args:
        x: gets `answer(g)` as its gradient, where g is y's.
        y: without a graph of its own.
        answer: from y's shape to x's.
    """
    return _Pass.apply(x, y.detach(), answer)


def tap(x: Tensor, note: Callable[[Tensor], None]) -> Tensor:
    """x, and a call of `note` with its gradient when that is known. Changes no bit of either."""

    def answer(grad: Tensor) -> Tensor:
        note(grad)
        return grad

    return _Pass.apply(x, x.detach(), answer)


class Pair(NamedTuple):
    """What a full step shows of a block: its input, and the true gradients above and below it, (batch, length, d)."""

    h: Tensor
    above: Tensor
    below: Tensor


class Detour(nn.Module):
    """A block, or anything else between two places of a model, whose backward pass can be left out.

    Args:
        inner: called as `inner(x, mask, …)`, with mask (batch, length) true at tokens, or None.
        estimate: stands in for the backward pass where it is left out; None if it never is.

    Attributes:
        skipping: whether the next steps leave it out. Then `inner` keeps nothing for a backward pass, either.
        pairs: one `Pair` for each full backward pass while `watching`, until someone takes them.
        watched: estimates by name that learn from these pairs, whether they are ever used or not.
    """

    def __init__(self, inner: nn.Module, estimate: GradientEstimator | None = None):
        super().__init__()
        self.inner = inner
        self.estimate = [
            estimate
        ]  # in a list, so that no plan, report or file takes it for a part of the model
        self.skipping, self.watching = False, False
        self.pairs: list[Pair] = []
        self.watched: dict[str, GradientEstimator] = {}

    def forward(self, x: Tensor, mask: Tensor | None = None, *args: Any) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        if not (self.training and torch.is_grad_enabled() and x.requires_grad):
            return self.inner(x, mask, *args)
        (estimate,) = self.estimate
        if self.skipping and estimate is not None:
            with torch.no_grad():
                y = self.inner(x, mask, *args)
            if isinstance(estimate, ZeroGradient):
                return y
            return skip(x, y, self._answer(estimate, x.detach(), mask))
        if not self.watching:
            return self.inner(x, mask, *args)
        above: list[Tensor] = []
        h = x.detach()
        into = tap(x, lambda grad: self.pairs.append(Pair(h, above.pop(), grad)))
        return tap(self.inner(into, mask, *args), above.append)

    @staticmethod
    def _answer(estimate: GradientEstimator, h: Tensor, mask: Tensor | None) -> Callable[[Tensor], Tensor]:
        kind = h.device.type
        precision = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)

        @torch.no_grad()
        def answer(grad: Tensor) -> Tensor:
            with torch.autocast(kind, enabled=precision[0], dtype=precision[1]):
                estimated = estimate(h, grad)
            # Nothing depends on padding: its gradient is zero, and so must the estimate's be.
            return estimated if mask is None else estimated * mask[..., None]

        return answer
