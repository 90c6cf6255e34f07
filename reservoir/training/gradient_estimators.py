"""Estimates of the gradient below a block, made without its backward pass.

A block h ↦ y turns the gradient g at its output into Jᵀg at its input, with J its Jacobian at h. The four kinds of
estimate use h, g, both or neither.
"""

from __future__ import annotations

from typing import Literal, get_args

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
