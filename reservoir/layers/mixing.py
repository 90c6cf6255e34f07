"""What mixes positions: attention, to oneself and to the encoder's output, with the keys and values that are kept while
a sequence is written and with positions, fixed, learned or rotary; and what may take its place: a fixed Fourier
transform, matrices over tokens, dynamic convolution, a recurrent layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from reservoir.layers.arguments import check_number
from reservoir.layers.linear import Dropout, Embedding, Linear, Undrawn, linear

# ---- attention -------------------------------------------------------------------------------------------------------


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
        # To compute them there, PyTorch would spend a second importing modules.
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
        # Contiguous, since each step of a decoder reads them and would copy them otherwise.
        self.k = k.contiguous() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.contiguous() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v

    def keep(self, index: Tensor) -> None:
        """Keep these rows of the batch alone."""
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k.index_select(0, index), self.v.index_select(0, index)


class Heads(nn.Module):
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


class Attention(Heads):
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


class SplitAttention(Heads):
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


class CrossAttention(Heads):
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


def turn(x: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021): features 2i and 2i+1 at position p turn by `p · 10000^(-2i / d_head)`.

    The dot product of two turned vectors depends on how far apart they stand and not on where.

    Args:
        x: (..., length, d_head), d_head even.
    """
    length, d_head = x.shape[-2:]
    speed = 10_000.0 ** (-torch.arange(0, d_head, 2, device=x.device, dtype=torch.float32) / d_head)
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


# ---- without attention -----------------------------------------------------------------------------------------------


def full_precision(device: torch.device) -> AbstractContextManager:
    """The context in which nothing is rounded to bf16; none on the meta device, where nothing is computed."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)


def fourier(x: Tensor, *, length: int | None = None) -> Tensor:
    """`Re(FFT_seq(FFT_hidden(x)))` (Lee-Thorp et al. 2022, eq. 3), unnormalised.

    The map is linear and symmetric: its own backward pass. Half-precision inputs are transformed in fp32, for which
    there are kernels at every size on every device, and come back as they were.

    Args:
        x: (..., tokens, d_model), real.
        length: the transform is that of so many tokens, of which those that `x` lacks are zero; only the first
            `tokens` rows of it are returned. As many as `x` has by default.

    Returns:
        (..., tokens, d_model), of the same dtype.

    Raises:
        ValueError: `x` has more tokens than `length`.
    """
    tokens = x.shape[-2]
    if length is not None and tokens > length:
        raise ValueError(f"this transform is of {length} tokens, got {tokens}; cut the text, or give more")
    return _Fourier.apply(x, tokens if length is None else length)


class _Fourier(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, length: int) -> Tensor:
        if not x.numel():  # a batch without texts, which not every library transforms
            return x.clone()
        wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
        tokens, d_model = x.shape[-2:]
        return torch.fft.fft2(wide, s=(length, d_model)).real[..., :tokens, :].to(x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.length = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return fourier(grad, length=ctx.length), None


class Fourier(nn.Module):
    """Fourier mixing in the place of attention (Lee-Thorp et al. 2022).

    A transform has no mask: padding is mixed into every token of a text, and so is its amount. With a `length` every
    text is padded with zeros to that many tokens, so that the result depends on the text alone and not on the rest of
    the batch. Without one, a padded text is refused: give texts of one length, such as the windows that masked
    language models are pretrained on.

    Args:
        length: tokens of the longest text; None transforms each batch at the length it has.
        normalised: divide by the root of the number of entries, so that input and output have the same size; the paper
            does not.
    """

    def __init__(self, length: int | None = None, *, normalised: bool = False):
        super().__init__()
        if length is not None:
            check_number("length", length, least=1, whole=True)
        self.length, self.normalised = length, normalised

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        if mask is not None and self.length is not None:
            x = x * mask[..., None]
        elif mask is not None and not bool(mask.all()):
            raise ValueError(
                "a text is padded, and a Fourier transform has no mask: give the longest length,"
                " Fourier(length=…), or texts of one length"
            )
        mixed = fourier(x, length=self.length)
        if self.normalised:
            mixed = mixed / math.sqrt((self.length or x.shape[-2]) * x.shape[-1])
        return mixed


def over_tokens(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear map along a text: (batch, length, d), (rows, columns) -> (batch, rows, d).

    A text of fewer tokens than the map has columns is padded with zeros.
    """
    return linear(x.transpose(1, 2), weight[:, : x.shape[1]], bias).transpose(1, 2)


class FixedLength(nn.Module):
    """What maps over tokens share: they are made for texts of one length, and pad a shorter one with zeros."""

    def __init__(self, length: int):
        super().__init__()
        self.length = length

    def without_padding(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """What is mixed: `x` with zeros where `mask`, (batch, length), is false."""
        if x.shape[1] > self.length:
            raise ValueError(
                f"this mixing is made for {self.length} tokens, got {x.shape[1]}; cut the text, or give more"
            )
        return x if mask is None else x * mask[..., None]


class LinearMixing(FixedLength):
    """One map over features, then one over tokens: `W_n x W_d`, FNet's "Linear" (Lee-Thorp et al. 2022, §4.1).

    Frozen where it was drawn, it is FNet's "Random".

    Args:
        d_model: width of the residual stream.
        length: tokens of the longest text.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, length: int, *, stream: str):
        super().__init__(length)
        self.features = Linear(d_model, d_model, stream=f"{stream}.features", bias=False)
        self.tokens = Linear(length, length, stream=f"{stream}.tokens", bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        mixed = self.features(self.without_padding(x, mask))
        return over_tokens(mixed, self.tokens.effective_weight()[: x.shape[1]])


class MLPMixing(FixedLength):
    """A small network over tokens, the same for every feature: `W₂ GELU(W₁ x)` (Tolstikhin et al. 2021, eq. 1).

    Args:
        length: tokens of the longest text.
        d_tokens: width between the two maps.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, length: int, d_tokens: int, *, stream: str):
        super().__init__(length)
        self.up = Linear(length, d_tokens, stream=f"{stream}.up")
        self.down = Linear(d_tokens, length, stream=f"{stream}.down")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        inner = F.gelu(over_tokens(self.without_padding(x, mask), self.up.effective_weight(), self.up.bias))
        rows, bias = slice(x.shape[1]), self.down.bias  # a bare model has no bias
        return over_tokens(inner, self.down.effective_weight()[rows], None if bias is None else bias[rows])


class DynamicConvolution(nn.Module):
    """`W_o conv(GLU(W_i x))`: a light convolution whose kernel each position makes from its own vector.

    A kernel is softmaxed over its window, and all features of a head share it (Wu et al. 2019, §3 and §4). Where
    attention compares positions, this layer only looks at one to know how to weigh those around it.

    Args:
        d_model: width of the residual stream.
        n_heads: kernels per position; divides d_model.
        kernel: width of the window, odd: as many positions on either side.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, *, kernel: int, stream: str):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(f"kernel must be odd and positive, got {kernel}")
        self.n_heads, self.kernel = n_heads, kernel
        self.into = Linear(d_model, 2 * d_model, stream=f"{stream}.into", blocks=2)
        self.weigh = Linear(d_model, n_heads * kernel, stream=f"{stream}.weigh", bias=False)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        x = F.glu(self.into(x), -1)
        batch, length = x.shape[:2]
        scores = self.weigh(x).view(batch, length, self.n_heads, 1, self.kernel)
        weights = softmax(scores.float()).to(x.dtype)
        if mask is not None:  # padding counts as zeros
            x = x * mask[..., None]
        half = self.kernel // 2
        windows = F.pad(x, (0, 0, half, half)).unfold(1, self.kernel, 1)  # (batch, length, d_model, kernel)
        windows = windows.unflatten(2, (self.n_heads, -1))  # (batch, length, heads, d_head, kernel)
        return self.out((windows * weights).sum(-1).flatten(2))


def run_packed(layer: Callable[..., tuple[PackedSequence, Any]], x: Tensor, mask: Tensor) -> Tensor:
    """The states of a recurrent layer that stops where each text ends; zeros at padding.

    Args:
        layer: its forward pass, called with a packed sequence.
        x: (batch, length, d_in).
        mask: (batch, length), true at tokens; a text may have none.

    Returns:
        (batch, length, d_out).
    """
    lengths = mask.sum(1).cpu()
    packed = pack_padded_sequence(x, lengths.clamp(min=1), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=x.shape[1])
    return states if bool(lengths.all()) else states * mask[..., None]


class BiGRU(Undrawn, nn.GRU):
    """Reads a sequence from either end; each direction gives half of the features (Cho et al. 2014, PyTorch's form).

    Args:
        d_model: width of the residual stream, even.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, *, stream: str):
        if d_model % 2:
            raise ValueError(f"d_model must be even, half for each direction, got {d_model}")
        self.stream, self.blocks = stream, 3  # the maps of three gates are stacked along the rows
        super().__init__(d_model, d_model // 2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:  # type: ignore[override]
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        self.check_drawn()
        with full_precision(x.device):  # sums over hundreds of steps need the weights' precision
            x = x.to(next(self.parameters()).dtype)
            if mask is None:
                return super().forward(x)[0]
            return run_packed(super().forward, x, mask)
