"""A transformer layer of the encoder and one of the decoder: sublayers in residual connections."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from reservoir.layers.cache import BeamCache, Cache
from reservoir.layers.residual import Residual


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
        cache: tuple[Cache | BeamCache, Cache] | None = None,
    ) -> Tensor:
        """(batch, tgt_len, d_model), (batch, src_len, d_model), mask (batch, src_len) -> (batch, tgt_len, d_model)."""
        own, cross = cache if cache is not None else (None, None)
        return self.feed_forward(self.cross(self.mixing(x, None, own), memory, mask, cross))
