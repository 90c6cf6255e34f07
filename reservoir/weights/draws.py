"""Random numbers that are a function of a seed, a name and an index, with the same bits on every machine.

A frozen weight is stored as nothing but its seed, so the generator is part of the model. It is Philox 4x32-10
(Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): a block cipher run over a counter,
so that any word can be had without the ones before it, and nothing here keeps state. Everything is 32-bit integer
arithmetic, which PyTorch on any device, numba and JavaScript do alike.

From a stream of words come the draws: uniform, sign, sparse, normal, permutation, orthogonal. An elementwise draw is a
small integer, exact in float32, times one float32 scale. There is a single rounding, so every device, library version
and language computes the same bits. Element i, in row-major order, depends only on the stream and on i, so `start`
draws any tile of a tensor without the rest:
`uniform(stream, (8, cols), bound=b, start=16 * cols)` is rows 16 to 23 of `uniform(stream, (rows, cols), bound=b)`.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

Block = Sequence[Tensor]  # four words of (n,), int32, whose bits are the words'
MASK = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)  # the fractions of the golden ratio and of √3
PHILOX_ROUNDS = 10
# At a time: the working set stays in a core's cache, and a large tensor needs no large scratch.
CHUNK_BLOCKS, CHUNK_ELEMENTS = 2**14, 2**19
WORTHWHILE = 2**22  # blocks: about as many as PyTorch makes while numba is imported
HALVES = 8  # 16-bit halves in a block of four words
ROUNDS = 3  # of signs, permutation and Hadamard windows in an orthogonal draw
Device = torch.device | str | None


def philox(counter: Sequence[Any], key: Sequence[Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Philox 4x32-10: one block of four random words for each counter.

    Args:
        counter: four int64 tensors that broadcast together, or integers, each holding values in [0, 2^32).
            A tensor of shape (4, ...) will do.
        key: two such tensors or integers.

    Returns:
        four int64 tensors that hold 32-bit words, each a value in [0, 2^32).
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(PHILOX_ROUNDS):
        # The product of two 32-bit words may exceed int64 and then wraps modulo 2^64. Its bits are still right, and
        # the mask removes the sign that the shift drags in.
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1 = ((p1 >> 32) ^ c1 ^ k0) & MASK, p1 & MASK
        c2, c3 = ((p0 >> 32) ^ c3 ^ k1) & MASK, p0 & MASK
        k0, k1 = (k0 + KEY_STEPS[0]) & MASK, (k1 + KEY_STEPS[1]) & MASK
    return c0, c1, c2, c3


def _fill(
    index, n0, n1, k0, k1, first, second, third, fourth
):  # (n,), halves of hash and seed; writes four of (n,)
    """`philox` of each block, for numba to compile."""
    for i in range(len(index)):
        counter = (index[i] & MASK, index[i] >> 32, n0, n1)
        first[i], second[i], third[i], fourth[i] = philox(counter, (k0, k1))


class _Asked:
    """How many blocks were drawn without numba. It is imported once they have taken as long as importing it does."""

    blocks = 0


@functools.cache
def compiled() -> Callable[..., None] | None:
    """`_fill` in machine code, which is some ten times as fast; None without numba, the extra `fast`."""
    try:
        from numba import njit
        from numba.extending import register_jitable
    except ImportError:
        return None
    register_jitable(inline="always")(philox)  # as a call it would keep the loop from being vectorised
    return njit(cache=True, nogil=True)(_fill)


def name_hash(name: str) -> int:
    """64-bit FNV-1a over the UTF-8 bytes of `name`.

    It need not be strong, for Philox scatters whatever it is given; it must be short enough to write again in any
    language. A browser's own hashes are asynchronous, but a weight is needed in the middle of a product.
    """
    value = 0xCBF29CE484222325
    for byte in name.encode("utf-8"):
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def checked_seed(seed: object) -> int:
    """A seed as a Python integer; NumPy's integers are accepted.

    Raises:
        ValueError: it is not an integer in [0, 2**64).
    """
    if not isinstance(seed, bool | np.bool_ | Tensor):
        try:
            value = operator.index(seed)  # type: ignore[arg-type]
        except TypeError:  # it is no integer
            value = -1
        if 0 <= value < 2**64:
            return value
    raise ValueError(f"seed must be an integer in [0, 2**64), got {seed!r}")


@dataclass(frozen=True)
class Stream:
    """An endless sequence of 32-bit random words, chosen by a seed and an explicit name.

    Word i is word i % 4 of block i // 4. Block b is Philox of the counter (low b, high b, low hash, high hash) under
    the key (low seed, high seed), where low and high are 32-bit halves and the hash is `name_hash(name)`. So the name
    stands for a tensor, not for the place where a module keeps it: renaming the module changes nothing.

    Args:
        seed: an integer in [0, 2^64).
        name: any text. Streams with different names are independent; so are those with different seeds.
    """

    seed: int
    name: str
    halves: tuple[int, ...] = field(init=False, repr=False, compare=False)  # the seed's two, the hash's two

    def __post_init__(self):
        object.__setattr__(self, "seed", checked_seed(self.seed))
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a string, got {self.name!r}")
        hashed = name_hash(self.name)
        halves = (self.seed & MASK, self.seed >> 32, hashed & MASK, hashed >> 32)
        object.__setattr__(self, "halves", halves)

    def sub(self, part: str | int) -> "Stream":
        """The stream of the same seed named `<name>/<part>`, for a draw that needs several."""
        return Stream(self.seed, f"{self.name}/{part}")

    def words(self, start: int, stop: int, *, device: Device = None) -> Tensor:
        """Words start..stop (the latter left out) as a flat int64 tensor of values in [0, 2^32)."""
        return self.elements(start, stop, per_block=4, convert=_uint32, device=device)

    def elements(
        self,
        start: int,
        stop: int,
        *,
        per_block: int,
        convert: Callable[[Block], Tensor],
        device: Device = None,
    ) -> Tensor:
        """Elements start..stop (the latter left out) of a sequence that makes `per_block` elements of each block.

        Args:
            start, stop: indices of elements, 0 <= start <= stop.
            per_block: how many elements a block of four words gives.
            convert: turns n blocks, four words of (n,) int32 with their bits, into (n, per_block) elements.
            device: where to draw; PyTorch's default device when None.

        Returns:
            a flat tensor of stop - start elements.
        """
        if not 0 <= start <= stop:
            raise ValueError(f"start and stop must satisfy 0 <= start <= stop, got {start} and {stop}")
        first, last = start // per_block, -(-stop // per_block)
        step = max(1, min(CHUNK_BLOCKS, CHUNK_ELEMENTS // per_block))
        if torch.empty(0, device=device).is_cuda:  # where each of a chunk's operations takes time to start
            step = 2**20
        lows = range(first, max(last, first + 1), step)  # at least one, perhaps empty, for its type
        chunks = [convert(self._blocks(low, min(low + step, last), device)) for low in lows]
        flat = (chunks[0] if len(chunks) == 1 else torch.cat(chunks)).reshape(-1)
        wanted = flat[start - first * per_block : stop - first * per_block]
        # A view would keep what was cut off in memory.
        return flat if wanted.shape == flat.shape else wanted.clone()

    def _blocks(self, first: int, last: int, device: Device) -> Block:
        """Blocks first..last."""
        index = torch.arange(first, last, device=device)
        seed, name = self.halves[:2], self.halves[2:]
        if type(index) is Tensor and index.is_cpu:  # a stand-in has no memory to write to
            _Asked.blocks += len(index)
            if _Asked.blocks >= WORTHWHILE and (fill := compiled()) is not None:
                words = [torch.empty(len(index), dtype=torch.int32, device="cpu") for _ in range(4)]
                fill(index.numpy(), *name, *seed, *(word.numpy() for word in words))
                return words
        return [word.to(torch.int32) for word in philox((index & MASK, index >> 32, *name), seed)]


def _uint32(block: Block) -> Tensor:  # -> (n, 4) int64 in [0, 2^32)
    return torch.stack(list(block), -1).to(torch.int64) & MASK


def _uniform(block: Block, scale: float) -> Tensor:  # -> (n, 4)
    # As a signed number a word w with its highest bit turned over is w - 2^31; cut off are its lowest eight bits.
    words = torch.stack(list(block), -1).bitwise_xor_(-(2**31)).bitwise_right_shift_(8)
    return words.to(torch.float32).mul_(scale)


def _sign(block: Block, scale: float) -> Tensor:  # -> (n, 128)
    octets = torch.stack(list(block), -1).view(torch.uint8)  # (n, 16), a word's lowest first
    bits = (octets.unsqueeze(-1) >> torch.arange(8, dtype=torch.uint8, device=octets.device)) & 1
    return bits.view(torch.int8).mul_(2).sub_(1).flatten(1).to(torch.float32).mul_(scale)


def _normal(block: Block, scale: float) -> Tensor:  # -> (n, 1)
    # Twice the sum of n numbers uniform on 0 … 65535 has variance 4 n (2^32 - 1) / 12, and doubling makes its mean,
    # n · 65535, an integer. |2 · sum - mean| is at most 8 · 65535 < 2^24, so float32 holds it exactly.
    first, second, third, fourth = ((word & 0xFFFF) + ((word >> 16) & 0xFFFF) for word in block)
    total = first.add_(second).add_(third).add_(fourth).mul_(2).sub_(HALVES * 65535)
    return total.unsqueeze(-1).to(torch.float32).mul_(scale)


class Kind(NamedTuple):
    """How the four words of a block become elements.

    Args:
        per_block: elements per block.
        convert: (block, scale=float32) -> (n, per_block) elements.
        scale: computes that scale, before rounding, from a bound, a size or a standard deviation.
    """

    per_block: int
    convert: Callable[..., Tensor]
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

    kind: str
    size: float

    @property
    def scale(self) -> float:
        """The factor of the integers, rounded to float32."""
        return _float32(DISTRIBUTIONS[self.kind].scale(self.size))

    def __call__(
        self, stream: Stream, shape: Sequence[int], *, start: int = 0, device: Device = None
    ) -> Tensor:
        """Draw `shape` elements, beginning with element `start`, as float32."""
        kind, shape = DISTRIBUTIONS[self.kind], torch.Size(shape)
        convert, stop = functools.partial(kind.convert, scale=self.scale), start + shape.numel()
        drawn = stream.elements(start, stop, per_block=kind.per_block, convert=convert, device=device)
        return drawn.view(shape)


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

    def convert(block):  # -> (n, 4)
        words = _uint32(block)
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
