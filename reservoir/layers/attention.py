"""Scaled dot-product attention with several heads: to oneself, and to the encoder's output."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.cache import BeamCache, Cache, read
from reservoir.layers.dropout import Dropout
from reservoir.layers.linear import Linear


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    drop: Dropout | None = None,
) -> Tensor:
    """`softmax(q kᵀ / √d_head) v` (Vaswani et al. 2017, eq. 1).

    Args:
        q: (batch, heads, q_len, d_head).
        k, v: (batch, heads, k_len, d_head).
        mask: (batch, k_len), true where a key may be seen; None if all may.
        causal: query i sees keys up to i + k_len - q_len only.
        drop: applied to the weights in training.

    Returns:
        (batch, heads, q_len, d_head).
    """
    if q.is_cuda or q.is_meta:
        return _fused(q, k, v, mask, causal, drop.p if drop is not None and drop.training else 0.0)
    # On a CPU the plain products win: at the sizes of this book PyTorch's fused kernel spends several times
    # as long in its backward pass, in bf16 most of all (benchmarks/attention.py).
    weights = attention_weights(q, k, mask=mask, causal=causal)
    weights = weights.to(v.dtype)
    return (weights if drop is None else drop(weights)) @ v


def attention_weights(q: Tensor, k: Tensor, *, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """`softmax(q kᵀ / √d_head)`, (batch, heads, q_len, k_len) in fp32: how much each query takes from each key.

    Where `mask` shows no key at all, as in a source of padding alone, all weights are zero.
    """
    scores = ((q * (1 / math.sqrt(q.shape[-1]))) @ k.transpose(-1, -2)).float()
    hidden = _hidden(q.shape[-2], k.shape[-2], mask, causal, q.device)
    if hidden is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    if mask is not None and not bool((some := mask.any(-1)).all()):  # 0 / 0 where there is no key to see
        weights = weights.masked_fill(~some[:, None, None, None], 0.0)
    return weights


def _hidden(q_len: int, k_len: int, mask: Tensor | None, causal: bool, device: torch.device) -> Tensor | None:
    """What may not be seen: true at hidden (query, key) pairs, broadcastable to (batch, heads, q_len, k_len)."""
    hidden = None if mask is None else ~mask[:, None, None, :]
    if causal and q_len > 1:
        ahead = torch.ones(q_len, k_len, dtype=torch.bool, device=device).triu(k_len - q_len + 1)
        hidden = ahead if hidden is None else hidden | ahead
    return hidden


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, p: float) -> Tensor:
    if mask is None and q.shape[-2] == k.shape[-2]:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, dropout_p=p)
    hidden = _hidden(q.shape[-2], k.shape[-2], mask, causal, q.device)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if hidden is None else ~hidden, dropout_p=p)


class _Heads(nn.Module):
    """What both kinds of attention share: splitting into heads, and checks."""

    def __init__(self, d_model: int, n_heads: int, dropout: float):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        self.n_heads = n_heads
        self.dropout = Dropout(dropout)

    def _split(self, x: Tensor, parts: int) -> tuple[Tensor, ...]:
        # (batch, length, parts * d_model) -> parts of (batch, heads, length, d_head)
        batch, length, width = x.shape
        x = x.view(batch, length, parts, self.n_heads, width // (parts * self.n_heads))
        return x.permute(2, 0, 3, 1, 4).unbind(0)

    @staticmethod
    def _join(x: Tensor) -> Tensor:  # (batch, heads, length, d_head) -> (batch, length, d_model)
        return x.transpose(1, 2).flatten(2)


class Attention(_Heads):
    """Multi-head self-attention (Vaswani et al. 2017, §3.2).

    Queries, keys and values come from one product: three maps stacked in `qkv`.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        stream: prefix of the weights' stream names.
        causal: whether a position sees only itself and those before it.
        dropout: share of the attention weights set to zero in training.
        bias: whether the linear maps have one.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        stream: str,
        causal: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
    ):
        super().__init__(d_model, n_heads, dropout)
        self.causal = causal
        self.qkv = Linear(d_model, 3 * d_model, stream=f"{stream}.qkv", blocks=3, bias=bias)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out", bias=bias)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, cache: Cache | BeamCache | None = None
    ) -> Tensor:
        """(batch, length, d_model), and a mask (batch, keys) that is true at tokens -> (batch, length, d_model).

        With a cache, x holds the new positions alone, and the keys are those of all positions so far.
        """
        qkv = self.qkv(x)
        if isinstance(cache, BeamCache):
            return self.out(cache.attend(qkv.unflatten(2, (3, self.n_heads, -1))))
        q, k, v = self._split(qkv, 3)
        if cache is not None:
            k, v = cache.append(k, v)
        return self.out(self._join(attend(q, k, v, mask=mask, causal=self.causal, drop=self.dropout)))

    def weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention weights for an input, (batch, heads, length, length), to look at."""
        q, k, _ = self._split(self.qkv(x), 3)
        return attention_weights(q, k, mask=mask, causal=self.causal)


class CrossAttention(_Heads):
    """Attention from the decoder's positions to the encoder's output (Vaswani et al. 2017, §3.2.3).

    Args:
        d_model, n_heads, stream, dropout, bias: as of `Attention`.
    """

    def __init__(self, d_model: int, n_heads: int, *, stream: str, dropout: float = 0.0, bias: bool = True):
        super().__init__(d_model, n_heads, dropout)
        self.query = Linear(d_model, d_model, stream=f"{stream}.query", bias=bias)
        self.kv = Linear(d_model, 2 * d_model, stream=f"{stream}.kv", blocks=2, bias=bias)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out", bias=bias)

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache | None = None
    ) -> Tensor:
        """(batch, tgt_len, d_model), (batch, src_len, d_model), mask (batch, src_len) -> (batch, tgt_len, d_model).

        In a beam search x may have several rows for each row of `memory`.
        """
        if cache is not None:
            return self.out(self._read(self.query(x), memory, mask, cache))
        (q,) = self._split(self._of_sentence(self.query(x), memory), 1)
        k, v = self._split(self.kv(memory), 2)
        return self.out(self._join(attend(q, k, v, mask=mask, drop=self.dropout)).view_as(x))

    @staticmethod
    def _of_sentence(q: Tensor, memory: Tensor) -> Tensor:
        # The hypotheses of a beam search read the same sentence: as many queries to one memory, not as copies of it.
        return q.view(len(memory), q.shape[0] * q.shape[1] // max(1, len(memory)), q.shape[2])

    def _read(self, q: Tensor, memory: Tensor, mask: Tensor | None, cache: Cache) -> Tensor:
        if (
            cache.k is None or cache.v is None or cache.bias is None
        ):  # the memory does not change while decoding
            k, v = cache.append(*self._split(self.kv(memory), 2))
            cache.bias = k.new_zeros(len(memory), self.n_heads, 1, k.shape[2])
            if mask is not None:
                some = mask.any(-1, keepdim=True)  # where there is no key to see, nothing is read
                cache.bias.masked_fill_((some & ~mask)[:, None, None, :], -math.inf)
                cache.v = v * some[:, :, None, None]
        assert cache.k is not None and cache.v is not None
        per_head = self._of_sentence(q, memory).unflatten(2, (self.n_heads, -1))
        return read(per_head, cache.k, cache.v, cache.bias.flatten(0, 1)).view_as(q)

    def weights(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention weights for an input, (batch, heads, tgt_len, src_len), to look at."""
        (q,) = self._split(self.query(x), 1)
        k, _ = self._split(self.kv(memory), 2)
        return attention_weights(q, k, mask=mask)
