"""The transformer layers of encoder and decoder, and what they are made of but for the mixing: norms, residual
connections, and feed-forward layers, which are linear maps with a non-linearity between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.arguments import check_choice
from reservoir.layers.linear import Dropout, Linear
from reservoir.layers.mixing import Cache

Activation = Literal["relu", "gelu", "gelu-tanh"]
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
}


class LayerNorm(nn.LayerNorm):
    """`(x - mean) / std · weight + bias` over the features (Ba et al. 2016).

    Args:
        d_model: number of features.
        stream: name that plans and reports know its weight by, such as "encoder.0.mixing.norm".
    """

    def __init__(self, d_model: int, *, stream: str):
        self.stream, self.blocks = stream, 1
        super().__init__(d_model)


class RMSNorm(nn.RMSNorm):
    """`x / √(mean of x²) · weight` over the features (Zhang & Sennrich 2019).

    Args:
        d_model: number of features.
        stream: as in `LayerNorm`.
        eps: added to the mean square.
    """

    def __init__(self, d_model: int, *, stream: str, eps: float = 1e-5):
        self.stream, self.blocks = stream, 1
        super().__init__(d_model, eps=eps)


class Residual(nn.Module):
    """`x + dropout(f(LN(x)))` with `norm_first`, else `LN(x + dropout(f(x)))`.

    Post-LN is the original (Vaswani et al. 2017); pre-LN trains without a long warm-up (Xiong et al. 2020).

    Args:
        sublayer: any module from (batch, length, d_model) to the same shape.
        d_model: width of the residual stream.
        stream: name of this sublayer, such as "encoder.0.mixing".
        norm_first: pre-LN if true.
        dropout: share of the sublayer's output set to zero in training.
    """

    def __init__(
        self, sublayer: nn.Module, d_model: int, *, stream: str, norm_first: bool, dropout: float = 0.0
    ):
        super().__init__()
        self.sublayer = sublayer
        self.norm = LayerNorm(d_model, stream=f"{stream}.norm")
        self.norm_first = norm_first
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """(batch, length, d_model) -> the same shape; other arguments go to the sublayer."""
        # The stream keeps its own dtype: under autocast fp32, to which a sublayer adds in bf16.
        if self.norm_first:
            return x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs)).to(x.dtype)
        return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)).to(x.dtype))


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


class EncoderLayer(nn.Module):
    """Mixing across positions, then feed-forward within each (Vaswani et al. 2017, §3.1); or one of the two alone.

    Args:
        mixing: called as `mixing(x, mask)`; self-attention, or anything else that mixes positions. None for a layer
            without.
        feed_forward: called as `feed_forward(x)`. None for a layer without.
        d_model: width of the residual stream.
        stream: name of this layer, such as "encoder.0".
        norm_first: pre-LN if true, post-LN if not.
        dropout: share of each sublayer's output set to zero in training.
    """

    def __init__(
        self,
        mixing: nn.Module | None,
        feed_forward: nn.Module | None,
        *,
        d_model: int,
        stream: str,
        norm_first: bool,
        dropout: float = 0.0,
    ):
        super().__init__()
        if mixing is None and feed_forward is None:
            raise ValueError("a layer needs a mixing or a feed_forward, got None for both")
        around = partial(Residual, d_model=d_model, norm_first=norm_first, dropout=dropout)
        self.mixing = None if mixing is None else around(mixing, stream=f"{stream}.mixing")
        self.feed_forward = (
            None if feed_forward is None else around(feed_forward, stream=f"{stream}.feed_forward")
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        x = x if self.mixing is None else self.mixing(x, mask)
        return x if self.feed_forward is None else self.feed_forward(x)


class DecoderLayer(nn.Module):
    """Causal mixing, attention to the encoder's output, feed-forward.

    Args:
        mixing: called as `mixing(x, None, cache)`; must not look ahead.
        cross: called as `cross(x, memory, mask, cache)`.
        feed_forward: called as `feed_forward(x)`.
        d_model, stream, norm_first, dropout: as in `EncoderLayer`.
    """

    def __init__(
        self,
        mixing: nn.Module,
        cross: nn.Module,
        feed_forward: nn.Module,
        *,
        d_model: int,
        stream: str,
        norm_first: bool,
        dropout: float = 0.0,
    ):
        super().__init__()
        around = partial(Residual, d_model=d_model, norm_first=norm_first, dropout=dropout)
        self.mixing = around(mixing, stream=f"{stream}.mixing")
        self.cross = around(cross, stream=f"{stream}.cross")
        self.feed_forward = around(feed_forward, stream=f"{stream}.feed_forward")

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        cache: tuple[Cache, Cache] | None = None,
    ) -> Tensor:
        """(batch, tgt_len, d_model), (batch, src_len, d_model), mask (batch, src_len) -> (batch, tgt_len, d_model)."""
        own, cross = cache if cache is not None else (None, None)
        return self.feed_forward(self.cross(self.mixing(x, None, own), memory, mask, cross))
