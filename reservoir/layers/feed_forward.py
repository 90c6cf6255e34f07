"""Feed-forward layers: linear maps with a non-linearity between, applied to each position alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.arguments import check_choice
from reservoir.layers.dropout import Dropout
from reservoir.layers.linear import Linear

Activation = Literal["relu", "gelu", "gelu-tanh"]
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
}


class FeedForward(nn.Module):
    """`W₂ σ(W₁ x + b₁) + b₂` (Vaswani et al. 2017, §3.3).

    Args:
        d_model: width of the residual stream.
        d_ff: width between the two maps; the paper takes 4 × d_model.
        stream: prefix of the two weights' stream names.
        activation: "relu" as in the paper, or "gelu" as in BERT, or "gelu-tanh", the approximation of it in GPT-2.
        dropout: share of the inner activations set to zero in training.
        bias: whether the linear maps have one.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        stream: str,
        activation: Activation = "relu",
        dropout: float = 0.0,
        bias: bool = True,
    ):
        super().__init__()
        check_choice("activation", activation, ACTIVATIONS)
        self.up = Linear(d_model, d_ff, stream=f"{stream}.up", bias=bias)
        self.down = Linear(d_ff, d_model, stream=f"{stream}.down", bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> the same shape."""
        if self.activation is F.relu and isinstance(self.up, Linear) and self.up.packed is not None:
            return self.down(self.dropout(self.up.packed_product(x, "relu")))
        return self.down(self.dropout(self.activation(self.up(x))))


class GatedFeedForward(nn.Module):
    """`W₂ (silu(W_g x) · W₁ x)`, "SwiGLU", without biases (Shazeer 2020, eq. 6).

    Args:
        d_model: width of the residual stream.
        d_ff: width of the product.
        stream: prefix of the three weights' stream names.
    """

    def __init__(self, d_model: int, d_ff: int, *, stream: str):
        super().__init__()
        self.gate = Linear(d_model, d_ff, stream=f"{stream}.gate", bias=False)
        self.up = Linear(d_model, d_ff, stream=f"{stream}.up", bias=False)
        self.down = Linear(d_ff, d_model, stream=f"{stream}.down", bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> the same shape."""
        return self.down(F.silu(self.gate(x)) * self.up(x))
