"""The residual connection around a sublayer, with its layer norm before (pre-LN) or after (post-LN)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from reservoir.layers.dropout import Dropout
from reservoir.layers.norm import LayerNorm


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
