"""Attention of the Llama family: rotary positions, and groups of query heads that share keys and values."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reservoir.layers.attention import attend
from reservoir.layers.linear import Linear


def turn(x: Tensor, *, base: float = 10_000.0) -> Tensor:
    """Rotary positions (Su et al. 2021): features 2i and 2i+1 at position p turn by `p · base^(-2i / d_head)`.

    The dot product of two turned vectors depends on how far apart they stand and not on where.

    Args:
        x: (..., length, d_head), d_head even.
        base: of the angles.
    """
    length, d_head = x.shape[-2:]
    speed = base ** (-torch.arange(0, d_head, 2, device=x.device, dtype=torch.float32) / d_head)
    angle = torch.outer(torch.arange(length, device=x.device, dtype=torch.float32), speed)
    cosine, sine = angle.cos(), angle.sin()  # (length, d_head / 2)
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1)
    return turned.flatten(-2).to(x.dtype)


class RotaryAttention(nn.Module):
    """Causal self-attention with rotary positions, without biases; groups of heads share keys and values.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        n_kv_heads: number of heads of keys and values; divides n_heads (Ainslie et al. 2023).
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, *, n_kv_heads: int, stream: str):
        super().__init__()
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError(
                f"n_kv_heads must divide n_heads and n_heads d_model, got {n_kv_heads}, {n_heads} and {d_model}"
            )
        self.d_head, self.shared = d_model // n_heads, n_heads // n_kv_heads
        width = n_kv_heads * self.d_head
        self.query = Linear(d_model, d_model, stream=f"{stream}.query", bias=False)
        self.kv = Linear(d_model, 2 * width, stream=f"{stream}.kv", blocks=2, bias=False)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out", bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        q = turn(self._heads(self.query(x)))
        k, v = (self._heads(part) for part in self.kv(x).chunk(2, -1))
        k, v = (part.repeat_interleave(self.shared, 1) for part in (turn(k), v))
        return self.out(attend(q, k, v, mask=mask, causal=True).transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        # (batch, length, heads · d_head) -> (batch, heads, length, d_head)
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)
