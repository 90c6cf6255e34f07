"""Draws from a stream (uniform, sign, normal, permutation, orthogonal) with the same bits on every device.

An elementwise draw is a small integer, exact in float32, times one float32 scale. There is a single rounding, so every
device, library version and language computes the same bits. Element i, in row-major order, depends only on the stream
and on i, so `start` draws any tile of a tensor without the rest:
`uniform(stream, (8, cols), bound=b, start=16 * cols)` is rows 16 to 23 of `uniform(stream, (rows, cols), bound=b)`.
"""

import functools
import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reservoir import weights
from reservoir.weights.generator import Stream

HALVES = 8  # 16-bit halves in a block of four words
WORTHWHILE = 2**24  # elements: about as many as are drawn without numba while it is imported
ROUNDS = 3  # of signs, permutation and Hadamard windows in an orthogonal draw
Device = torch.device | str | None
Block = tuple[Tensor, Tensor, Tensor, Tensor]


def _uniform(block: Block, scale: float | Tensor) -> Tensor:  # four of (n,) -> (n, 4)
    return ((torch.stack(block, -1) >> 8) - 2**23).to(torch.float32) * scale


def _sign(block: Block, scale: float | Tensor) -> Tensor:  # four of (n,) -> (n, 128)
    words = torch.stack(block, -1)
    bits = (words.unsqueeze(-1) >> torch.arange(32, device=words.device)) & 1
    return (2 * bits - 1).flatten(1).to(torch.float32) * scale


def _normal(block: Block, scale: float | Tensor) -> Tensor:  # four of (n,) -> (n, 1)
    # Twice the sum of n numbers uniform on 0 … 65535 has variance 4 n (2^32 - 1) / 12, and doubling makes its mean,
    # n · 65535, an integer. |2 · sum - mean| is at most 8 · 65535 < 2^24, so float32 holds it exactly.
    first, second, third, fourth = ((word & 0xFFFF) + (word >> 16) for word in block)
    total = first + second + third + fourth
    return (2 * total - HALVES * 65535).unsqueeze(-1).to(torch.float32) * scale


class Kind(NamedTuple):
    """How a block of four words becomes elements.

    Args:
        per_block: elements per block.
        convert: (block, float32 scale) -> elements.
        scale: computes that scale, before rounding, from a bound, a size or a standard deviation.
    """

    per_block: int
    convert: Callable[[Block, float | Tensor], Tensor]
    scale: Callable[[float], float]


DISTRIBUTIONS = {
    "uniform": Kind(4, _uniform, lambda bound: bound * 2.0**-23),
    "sign": Kind(128, _sign, lambda size: size),
    "normal": Kind(1, _normal, lambda std: std / math.sqrt(HALVES * (2**32 - 1) / 3)),
}


class Elementwise(NamedTuple):
    """A draw whose element i depends only on the stream and on i, so any range can be drawn without the rest.

    Args:
        kind: "uniform", "sign" or "normal".
        size: its bound, scale or standard deviation.
    """

    kind: Literal["uniform", "sign", "normal"]
    size: float

    @property
    def scale(self) -> float:
        """The factor of the integers, rounded to float32."""
        return _float32(DISTRIBUTIONS[self.kind].scale(self.size))

    def __call__(
        self, stream: Stream, shape: Sequence[int], *, start: int = 0, device: Device = None
    ) -> Tensor:
        """Draw `shape` elements, beginning with element `start`, as float32."""
        kind, scale, shape = DISTRIBUTIONS[self.kind], self.scale, torch.Size(shape)
        stop = start + shape.numel()
        if start >= 0 and compiles(shape.numel(), device):
            return weights.jit.elements(stream, self.kind, scale, kind.per_block, start, stop).view(shape)
        return stream.elements(
            start,
            stop,
            per_block=kind.per_block,
            convert=lambda block: kind.convert(block, scale),
            device=device,
        ).view(shape)


class _Asked:
    """How many elements were drawn without numba, which is imported once that has taken as long as its import."""

    elements = 0


@functools.cache
def numba_is_here() -> bool:
    """Whether numba, the extra `fast`, is installed, which draws five to fifteen times as fast, with the same bits."""
    return importlib.util.find_spec("numba") is not None


def compiles(count: int, device: Device = None) -> bool:
    """Whether a draw of `count` elements, or a mask on it, is done by numba: on a CPU, where it is worth the import."""
    if not numba_is_here():
        return False
    where = torch.empty(0, device=device)
    if where.device.type != "cpu" or type(where) is not Tensor:  # a stand-in has no memory to write to
        return False
    _Asked.elements += count
    return _Asked.elements >= WORTHWHILE


def uniform(
    stream: Stream, shape: Sequence[int], *, bound: float, start: int = 0, device: Device = None
) -> Tensor:
    """Uniform on [-bound, bound): a signed 24-bit integer times bound · 2^-23. One word per element.

    Args:
        stream: where the words come from.
        shape: of the result.
        bound: half the width of the interval, as rounded to float32.
        start: flat index of the first element.
        device: where to draw.

    Returns:
        a float32 tensor of the given shape.
    """
    return Elementwise("uniform", bound)(stream, shape, start=start, device=device)


def sign(
    stream: Stream, shape: Sequence[int], *, scale: float, start: int = 0, device: Device = None
) -> Tensor:
    """+scale or -scale with equal probability: element i is bit i % 32 of word i // 32, and a set bit means plus.

    Args:
        stream: where the words come from.
        shape: of the result.
        scale: the magnitude of every element, as rounded to float32.
        start: flat index of the first element.
        device: where to draw.

    Returns:
        a float32 tensor of the given shape.
    """
    return Elementwise("sign", scale)(stream, shape, start=start, device=device)


def sparse(
    stream: Stream, shape: Sequence[int], *, scale: float, share: float, start: int = 0, device: Device = None
) -> Tensor:
    """Zero, +scale or -scale: an element is not zero where its word is less than share · 2^32, and plus if it is even.

    Args:
        stream: where the words come from. One word per element.
        shape: of the result.
        scale: the magnitude of the nonzero elements, rounded to float32.
        share: of nonzero elements, in (0, 1], rounded to a multiple of 2^-31, so that both signs are equally likely.
        start: flat index of the first element.
        device: where to draw.

    Returns:
        a float32 tensor of the given shape.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be in (0, 1], got {share!r}")
    scale, below = _float32(scale), 2 * round(share * 2**31)

    def convert(block):  # four of (n,) -> (n, 4)
        words = torch.stack(block, -1)
        return ((words < below) * (1 - 2 * (words & 1))).to(torch.float32) * scale

    stop = start + math.prod(shape)
    return stream.elements(start, stop, per_block=4, convert=convert, device=device).view(shape)


def normal(
    stream: Stream, shape: Sequence[int], *, std: float, start: int = 0, device: Device = None
) -> Tensor:
    """Nearly normal, mean 0: the centred sum of a block's eight 16-bit halves, times one scale.

    A sum of uniforms needs no logarithm and no cosine, whose last bits differ from library to library. How it differs
    from a Gaussian: mean 0 and standard deviation `std` are exact (but for the scale's rounding to float32) and odd
    moments vanish, but the excess kurtosis is -6/5 · 1/8 = -0.15 instead of 0, and no value lies beyond ±4.9 std,
    where a Gaussian has one in a million.

    Args:
        stream: where the words come from. One block, four words, an element.
        shape: of the result.
        std: standard deviation.
        start: flat index of the first element.
        device: where to draw.

    Returns:
        a float32 tensor of the given shape.
    """
    return Elementwise("normal", std)(stream, shape, start=start, device=device)


def permutation(stream: Stream, n: int, *, device: Device = None) -> Tensor:
    """Return a random order of 0 … n-1, int64: the one that sorts n words, the earlier of equal words first."""
    return torch.argsort(stream.words(0, n, device=device), stable=True)


def orthogonal(stream: Stream, rows: int, cols: int, *, gain: float, device: Device = None) -> Tensor:
    """A random matrix Q with QᵀQ = gain² I (rows >= cols) or QQᵀ = gain² I (rows <= cols).

    The usual method, QR factors of a Gaussian matrix, gives different bits in different linear algebra libraries. This
    one uses only sums and signs of integers. The first min(rows, cols) columns of the identity go through three rounds,
    each a random permutation, random signs, and Walsh-Hadamard transforms over windows of 4^j coordinates, the largest
    such window that fits into N = max(rows, cols). Windows are adjacent; if N is not a multiple of the window, a last
    one ends at the last coordinate and overlaps the one before. A transform of 4^j coordinates divided by 2^j is
    orthogonal, so a single division at the end suffices: every step before it is exact in 53 bits, in any order of
    sums. (Alternating signs and Hadamard transforms: Ailon & Chazelle 2006; three of them for random features: Yu et
    al. 2016, "Orthogonal random features".)

    This is not the uniform (Haar) distribution. It uses 3N random signs, or 6N where windows overlap, and three
    permutations instead of N² Gaussians, so it reaches a small fraction of all orthogonal matrices, and before `gain`
    its entries are multiples of a power of 1/2. For N ≥ 64, prime N included, entries look Gaussian with variance 1/N.
    Small N is coarse: at N = 4 all entries are multiples of 1/8, and at N = 2 or 3 the result is a signed permutation.

    Args:
        stream: where signs and permutations come from.
        rows, cols: of the result, each at least 1. N = max(rows, cols) may go to 262144.
        gain: norm of every column (rows >= cols) or row (rows <= cols).
        device: where to draw.

    Returns:
        a float32 tensor of shape (rows, cols).
    """
    if rows < 1 or cols < 1:
        raise ValueError(f"rows and cols must be at least 1, got {rows} and {cols}")
    n = max(rows, cols)
    half = (n.bit_length() - 1) // 2  # the window has 4^half coordinates
    window = 4**half
    spans = [(0, n - n % window)] + [(n - window, n)] * (n % window > 0)
    bits = ROUNDS * len(spans) * half
    if bits > 53:
        raise ValueError(f"rows and cols must be at most {4**9} for exact sums, got {rows} and {cols}")

    x = torch.eye(n, min(rows, cols), dtype=torch.int64, device=device)  # (n, min): one column a vector
    for number in range(ROUNDS):
        part = stream.sub(number)
        x = x[permutation(part.sub("permutation"), n, device=device)]
        for place, (low, high) in enumerate(spans):
            # New signs before each window: without them, two transforms would cancel where windows overlap.
            x *= sign(part.sub(f"sign/{place}"), (n, 1), scale=1.0, device=device).to(torch.int64)
            x[low:high] = _hadamard(x[low:high], window)
            x[:low] <<= half  # rows outside this window grow by the same factor
            x[high:] <<= half
    q = (x.to(torch.float64) * (gain * 2.0**-bits)).to(torch.float32)
    return q if rows >= cols else q.T.contiguous()


def _hadamard(x: Tensor, window: int) -> Tensor:  # (n, columns) -> same, integers, not divided by √window
    """Walsh-Hadamard transform of each group of `window` rows, by butterflies of additions."""
    width = 1
    while width < window:
        a, b = x.view(-1, 2, width, x.shape[1]).unbind(1)
        x = torch.stack((a + b, a - b), 1).view(x.shape)
        width *= 2
    return x


def _float32(value: float) -> float:
    """Round `value` to float32 here, once, so that the rounding does not depend on how a multiplication is done."""
    return float(np.float32(value))
