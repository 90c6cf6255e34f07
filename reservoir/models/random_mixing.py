"""Mixing of positions by random weights: attention by random features, and attention at fixed random weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.layers.arguments import check_number
from reservoir.layers.mixing import FixedLength, full_precision
from reservoir.weights.initialisation import Normal


class RandomFeatureAttention(nn.Module):
    """Self-attention whose softmax is a product of positive random features (Choromanski et al. 2021, §2).

    With `φ(x) = exp(w x - |x|²/2) / √m` for m random rows w, `E φ(q) φ(k)ᵀ = exp(q k)`: sums over keys are taken once
    for all queries. The rows are drawn from a seed, nearly normal, and never learn. The features of Peng et al. (2021)
    are other ones, for the same purpose: sines and cosines of queries and keys of length one.

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
        check_number("n_features", n_features, least=1, whole=True)
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
        return x @ self.features.effective_weight().T - x.square().sum(-1, keepdim=True) / 2


def _share(x: Tensor) -> float:
    """Queries and keys carry half each of the 1 / √d_head in the softmax."""
    return x.shape[-1] ** -0.25


class RandomMixing(FixedLength):
    """Attention at fixed random weights, values and output trained: MixiT's (Dong et al. 2025).

    In each head, position i of a text of n tokens gets `v_i + Σ_j w_ij (v_j - v̄) / √(n d_head)`, where v̄ is the mean of
    the values and w is drawn from a seed, nearly normal, and never learns. That is a product with a matrix whose rows
    sum to one: the identity, and noise without its mean. MixiT scales it for one length, and a position sees only those
    before it; here the noise of each text is scaled for the text's own length, and a position sees all others.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        length: tokens of the longest text.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, length: int, *, stream: str):
        super().__init__(length)
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        self.n_heads = n_heads
        self.value = Linear(d_model, d_model, stream=f"{stream}.value")
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")
        self.tokens = Linear(length, n_heads * length, stream=f"{stream}.tokens", bias=False)
        self.tokens.initialisations = {"weight": Normal(1.0)}
        self.tokens.requires_grad_(False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        values = self.read(self.value(x), mask)
        batch, n, d_model = values.shape
        lengths = n if mask is None else mask.sum(1).clamp_min(1)[:, None, None]  # (batch, 1, 1)
        mean = values.sum(1, keepdim=True) / lengths
        d_head = d_model // self.n_heads
        centred = self.read(values - mean, mask) * (lengths * d_head) ** -0.5
        heads = centred.view(batch, n, self.n_heads, d_head).transpose(1, 2)  # (batch, heads, n, d_head)
        weights = self.tokens.effective_weight().view(self.n_heads, self.length, self.length)[:, :n, :n]
        return self.out(values + (weights @ heads).transpose(1, 2).reshape(batch, n, d_model))
