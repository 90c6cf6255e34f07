"""Attention: scaled dot-product attention with several heads, to oneself and to the encoder's output, with the keys
and values that are kept while a sequence is written; positions, fixed, learned or rotary; and attention of the Llama
family.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.linear import Dropout, Embedding, Linear


def sinusoids(length: int, d_model: int, *, device: torch.device | str | None = None) -> Tensor:
    """Sines and cosines of geometrically spaced frequencies (Vaswani et al. 2017, §3.5).

    The sines fill the first half of the features and the cosines the second, as fairseq and Marian lay them
    out. The paper interleaves them; a permutation of the features makes no difference to what can be learned.

    Returns:
        (length, d_model) fp32.
    """
    if d_model % 2:
        raise ValueError(f"d_model must be even for sinusoidal positions, got {d_model}")
    if torch.empty(0, device=device).is_meta:
        # To work them out there, PyTorch would import modules for a second.
        return torch.empty(length, d_model, dtype=torch.float32, device=device)
    pair = torch.arange(d_model // 2, device=device, dtype=torch.float64)
    angle = torch.arange(length, device=device, dtype=torch.float64)[:, None] * 10000.0 ** (
        -2 * pair / d_model
    )
    return torch.cat([angle.sin(), angle.cos()], dim=1).float()


class SinusoidalPositions(nn.Module):
    """Adds `sinusoids` to a sequence; the table grows when a longer sequence comes.

    Args:
        d_model: width of the residual stream, even.
    """

    table: Tensor  # (positions, d_model)

    def __init__(self, d_model: int):
        super().__init__()
        self.d_model = d_model
        self.table: Tensor
        self.register_buffer("table", sinusoids(256, d_model), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """(batch, length, d_model) -> the same shape; `start` is the position of the first token."""
        end = start + x.shape[1]
        if end > len(self.table):
            self.table = sinusoids(2 * end, self.d_model, device=x.device).to(self.table.dtype)
        return x + self.table[start:end]


class LearnedPositions(nn.Module):
    """Adds a trained vector for each position (Gehring et al. 2017; Devlin et al. 2019).

    Rows beyond the longest sequence of the training data never get a gradient: `table.reachable` says how many can, as
    far as is known, and reports count those alone as trainable.

    Args:
        max_length: number of positions; a longer sequence is an error.
        d_model: width of the residual stream.
        stream: name of the random stream that the table is drawn from.
    """

    def __init__(self, max_length: int, d_model: int, *, stream: str):
        super().__init__()
        self.table = Embedding(max_length, d_model, stream=stream)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """(batch, length, d_model) -> the same shape; `start` is the position of the first token."""
        end = start + x.shape[1]
        if end > self.table.num_embeddings:
            raise ValueError(
                f"the model has {self.table.num_embeddings} positions, but the sequence needs {end}"
            )
        # A table that is made while it is used (`reservoir.weights.streaming`) may be made elsewhere.
        return x + self.table.effective_weight()[start:end].to(x.device)


NARROW = 16  # numbers that AVX-512 computes at once


def softmax(scores: Tensor) -> Tensor:
    """`softmax` over the last dimension, quickly where it is short as well.

    On a CPU PyTorch computes rows that do not fill a vector one number at a time, which took twenty times as long as
    rows of 16. So short ones are filled up with -inf, whose weight is zero.
    """
    if torch.compiler.is_compiling() or scores.device.type != "cpu" or scores.shape[-1] >= NARROW:
        return scores.softmax(-1)
    short = NARROW - scores.shape[-1]
    return F.pad(scores, (0, short), value=-math.inf).softmax(-1)[..., :-short]


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
    # as long in its backward pass, in bf16 most of all.
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
        return softmax(scores)
    blind = None  # sequences without a key to see, whose softmax would be 0 / 0
    if mask is not None and not bool((some := mask.any(-1)).all()):
        blind = ~some[:, None, None, None]
        hidden = hidden & ~blind
    # Added in place: filling would copy the scores, and their gradient on the way back.
    bias = torch.zeros(hidden.shape, device=q.device).masked_fill_(hidden, -math.inf)
    weights = softmax(scores.add_(bias))
    return weights if blind is None else weights.masked_fill(blind, 0.0)


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


class Cache:
    """Keys and values of the positions so far, (batch, heads, length, d_head) each."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[2]

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new positions, (batch, heads, new, d_head); returns all of them."""
        # Laid out in order, since each step of a decoder reads them and would copy what is not.
        self.k = k.contiguous() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.contiguous() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v

    def keep(self, index: Tensor) -> None:
        """Keep these rows of the batch alone."""
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k.index_select(0, index), self.v.index_select(0, index)


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

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, keys) that is true at tokens -> (batch, length, d_model).

        With a cache, x holds the new positions alone, and the keys are those of all positions so far.
        """
        q, k, v = self._split(self.qkv(x), 3)
        if cache is not None:
            k, v = cache.append(k, v)
        return self.out(self._join(attend(q, k, v, mask=mask, causal=self.causal, drop=self.dropout)))

    def weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention weights for an input, (batch, heads, length, length), to look at."""
        q, k, _ = self._split(self.qkv(x), 3)
        return attention_weights(q, k, mask=mask, causal=self.causal)


class SplitAttention(_Heads):
    """`Attention` in two halves that can be frozen apart: where to look (queries, keys), what to pass on (values).

    The maps of each half are stacked, the queries and keys in `queries_keys`; the values have a map of their own.

    Args:
        d_model, n_heads, stream, causal, dropout: as of `Attention`.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, stream: str, causal: bool = False, dropout: float = 0.0
    ):
        super().__init__(d_model, n_heads, dropout)
        self.causal = causal
        self.queries_keys = Linear(d_model, 2 * d_model, stream=f"{stream}.queries_keys", blocks=2)
        self.values = Linear(d_model, d_model, stream=f"{stream}.values")
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """As `Attention`, without a cache."""
        q, k = self._split(self.queries_keys(x), 2)
        (v,) = self._split(self.values(x), 1)
        return self.out(self._join(attend(q, k, v, mask=mask, causal=self.causal, drop=self.dropout)))


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
        # The hypotheses of a beam search read the same sentence: as many queries to one memory, not as copies of it.
        q = self.query(x).view(len(memory), x.shape[0] * x.shape[1] // max(1, len(memory)), x.shape[2])
        (q,) = self._split(q, 1)
        if cache is None or cache.k is None or cache.v is None:
            k, v = self._split(self.kv(memory), 2)
            if cache is not None:  # the memory does not change while decoding
                k, v = cache.append(k, v)
        else:
            k, v = cache.k, cache.v
        return self.out(self._join(attend(q, k, v, mask=mask, drop=self.dropout)).view_as(x))

    def weights(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention weights for an input, (batch, heads, tgt_len, src_len), to look at."""
        (q,) = self._split(self.query(x), 1)
        k, _ = self._split(self.kv(memory), 2)
        return attention_weights(q, k, mask=mask)


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
