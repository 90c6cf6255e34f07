"""Estimates of the gradient below a block, and detours that use one in the place of its backward pass.

A block h ↦ y turns the gradient g at its output into Jᵀg at its input, with J its Jacobian at h. The four kinds of
estimate use h, g, both or neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.layers.arguments import check_choice
from reservoir.weights.initialisation import Constant

EstimatorKind = Literal["zero", "identity", "synthetic", "value"]


class GradientEstimator(nn.Module):
    """What stands in for Jᵀg. Called with the block's input and the gradient at its output, both (…, d_model)."""

    learns = False

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        """(…, d_model), (…, d_model) -> the same shape."""
        raise NotImplementedError

    def observe(self, true: Tensor) -> None:
        """See a true gradient, (…, d_model), before learning from it."""


class ZeroGradient(GradientEstimator):
    """Zero: the layers below get no gradient in this step, and need no backward pass either."""

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        return torch.zeros_like(grad)


class IdentityGradient(GradientEstimator):
    """The gradient at the output as it is: all that a residual connection passes on, without what its block adds."""

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        return grad


class SyntheticGradient(GradientEstimator):
    """`s · (W₂ relu(W₁ h + b₁) + b₂)`: predicted from the activation alone (Jaderberg et al. 2017).

    It is available before anything above the block is computed. The last map starts at zero, as in the paper, so the
    first estimates are zero. s follows the size of the gradients, which falls during training.

    Args:
        d_model: width of the residual stream.
        width: between the two maps.
        stream: prefix of the weights' stream names.
    """

    learns = True

    def __init__(self, d_model: int, width: int, *, stream: str):
        super().__init__()
        self.up = Linear(d_model, width, stream=f"{stream}.up")
        self.down = Linear(width, d_model, stream=f"{stream}.down")
        self.down.initialisations = {"weight": Constant(0.0)}
        self.scale = 0.0

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        return self.scale * self.down(F.relu(self.up(F.layer_norm(h, h.shape[-1:])))).to(grad.dtype)

    def observe(self, true: Tensor) -> None:
        size = true.square().mean().sqrt().item()
        self.scale = 0.9 * self.scale + 0.1 * size if self.scale else size


class ValueGradient(GradientEstimator):
    """`g + A (σ(B h) ⊙ C g)`: the backward pass of a narrow feed-forward layer with a soft step.

    For `y = h + W₂ relu(W₁ h)` the true Jᵀg is `g + W₁ᵀ(1[W₁ h > 0] ⊙ W₂ᵀ g)`. The estimate has that form, with `width`
    in place of d_ff. Like the truth it is linear in g, so gradients may shrink as they like; and since A starts at
    zero, it starts as the identity.

    Args:
        d_model: width of the residual stream.
        width: rows of B and C.
        stream: prefix of the weights' stream names.
    """

    learns = True

    def __init__(self, d_model: int, width: int, *, stream: str):
        super().__init__()
        self.gate = Linear(d_model, width, stream=f"{stream}.gate")
        self.into = Linear(d_model, width, stream=f"{stream}.into", bias=False)
        self.out = Linear(width, d_model, stream=f"{stream}.out", bias=False)
        self.out.initialisations = {"weight": Constant(0.0)}

    def forward(self, h: Tensor, grad: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(F.layer_norm(h, h.shape[-1:])))
        return grad + self.out(gate * self.into(grad)).to(grad.dtype)


def make(kind: EstimatorKind, d_model: int, width: int, *, stream: str) -> GradientEstimator:
    """An estimate by name, its memory not initialised."""
    check_choice("kind", kind, get_args(EstimatorKind))
    if kind in ("zero", "identity"):
        return ZeroGradient() if kind == "zero" else IdentityGradient()
    return (ValueGradient if kind == "value" else SyntheticGradient)(d_model, width, stream=stream)


def cosine(estimate: Tensor, true: Tensor) -> float:
    """The cosine of the angle between two gradients, each taken as one long vector; 0 if either is zero."""
    product = (estimate * true).sum()
    norms = estimate.square().sum().sqrt() * true.square().sum().sqrt()
    return (product / norms).item() if norms > 0 else 0.0


def error(estimate: Tensor, true: Tensor) -> Tensor:
    """`‖estimate - true‖² / ‖true‖²`: 0 is perfect, and 1 is the error of an estimate of zero."""
    return (estimate - true).square().sum() / true.square().sum().clamp_min(torch.finfo(true.dtype).tiny)


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
