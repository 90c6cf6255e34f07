"""Attention by random features: no query is held against a key, and the cost grows with the length alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.layers.precision import full_precision
from reservoir.weights.initialisation import Normal


class RandomFeatureAttention(nn.Module):
    """Self-attention whose softmax is a product of positive random features (Choromanski et al. 2021, §2).

    With `φ(x) = exp(w x - |x|²/2) / √m` for m random rows w, `E φ(q) φ(k)ᵀ = exp(q k)`: sums over keys are taken once
    for all queries. The rows are drawn from a seed, nearly normal, and never learn.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        n_features: m, how many rows.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, *, n_features: int, stream: str):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        self.n_heads, d_head = n_heads, d_model // n_heads
        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, got {n_features}")
        self.qkv = Linear(d_model, 3 * d_model, stream=f"{stream}.qkv", blocks=3)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")
        self.features = Linear(d_head, n_features, stream=f"{stream}.features", bias=False)
        self.features.initialisations = {"weight": Normal(1.0)}
        self.features.requires_grad_(False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        # (batch, length, d_model), (batch, length) true at tokens -> (batch, length, d_model)
        batch, length, d_model = x.shape
        q, k, v = (
            self.qkv(x).view(batch, length, 3, self.n_heads, d_model // self.n_heads).permute(2, 0, 3, 1, 4)
        )
        with full_precision(x.device):  # exponentials and sums over all tokens want fp32
            q, k, values = (
                part.float() * scale for part, scale in ((q, _share(q)), (k, _share(k)), (v, 1.0))
            )
            q, k = self._exponents(q), self._exponents(k)
            if mask is not None:
                k = k.masked_fill(~mask[:, None, :, None], -torch.inf)
            # A factor that all keys share, or all features of a query, leaves the weighted mean as it is.
            q = (q - q.amax(-1, keepdim=True)).exp()  # (batch, heads, length, m)
            # In a text of padding alone every exponent is -inf; bounded below, its keys and its means are zero.
            bounds = torch.finfo(k.dtype)
            k = (k - k.amax((-2, -1), keepdim=True).clamp_min(bounds.min)).exp()
            mixed = q @ (k.transpose(-1, -2) @ values)  # (batch, heads, length, d_head)
            mixed = mixed / (q @ k.sum(-2)[..., None]).clamp_min(bounds.tiny)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, d_model))

    def _exponents(self, x: Tensor) -> Tensor:  # (..., d_head) -> (..., m): log φ, the constant factor aside
        return x @ self.features.weight.T - x.square().sum(-1, keepdim=True) / 2


def _share(x: Tensor) -> float:
    """Queries and keys carry half each of the 1 / √d_head in the softmax."""
    return x.shape[-1] ** -0.25
