"""Random words that are a function of a seed, a name and an index, with the same bits on every machine.

A frozen weight is stored as nothing but its seed, so the generator is part of the model. It is Philox 4x32-10
(Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): a block cipher run over a counter,
so that any word can be had without the ones before it, and nothing here keeps state. Everything is 32-bit integer
arithmetic, which PyTorch on any device and JavaScript do alike.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import torch
from torch import Tensor

MASK = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)  # the fractions of the golden ratio and of √3
ROUNDS = 10
# At a time: the working set stays in a core's cache, and a large tensor needs no large scratch.
CHUNK_BLOCKS, CHUNK_ELEMENTS = 2**14, 2**19
# A chunk takes a GPU some 130 operations, whatever its size, and each of them takes time to start.
GPU_BLOCKS = 2**20


def philox(
    counter: Sequence[Tensor | int], key: Sequence[Tensor | int]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Philox 4x32-10: one block of four random words for each counter.

    Args:
        counter: four int64 tensors that broadcast together, or integers, each holding values in [0, 2^32).
            A tensor of shape (4, ...) will do.
        key: two such tensors or integers.

    Returns:
        four int64 tensors that hold 32-bit words, each a value in [0, 2^32).
    """
    # Integers are turned into tensors by the arithmetic below. torch 2.5 compiles no types without quotes here.
    c0, c1, c2, c3 = cast("Sequence[Tensor]", counter)
    k0, k1 = cast("Sequence[Tensor]", key)
    for _ in range(ROUNDS):
        # The product of two 32-bit words may exceed int64 and then wraps modulo 2^64. Its bits are still right, and
        # the mask removes the sign that the shift drags in.
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1 = ((p1 >> 32) ^ c1 ^ k0) & MASK, p1 & MASK
        c2, c3 = ((p0 >> 32) ^ c3 ^ k1) & MASK, p0 & MASK
        k0, k1 = (k0 + KEY_STEPS[0]) & MASK, (k1 + KEY_STEPS[1]) & MASK
    return c0, c1, c2, c3


def name_hash(name: str) -> int:
    """64-bit FNV-1a over the UTF-8 bytes of `name`.

    It need not be strong, for Philox scatters whatever it is given; it must be short enough to write again in any
    language. A browser's own hashes answer asynchronously only, and a weight is drawn in the middle of a sum.
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

    def words(self, start: int, stop: int, *, device: torch.device | str | None = None) -> Tensor:
        """Words start..stop (the latter left out) as a flat int64 tensor of values in [0, 2^32)."""
        return self.elements(
            start,
            stop,
            per_block=4,
            convert=lambda block: torch.stack(block, -1),
            dtype=torch.int64,
            device=device,
        )

    def elements(
        self,
        start: int,
        stop: int,
        *,
        per_block: int,
        convert: Callable[[tuple[Tensor, Tensor, Tensor, Tensor]], Tensor],
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """Elements start..stop (the latter left out) of a sequence that makes `per_block` elements of each block.

        Args:
            start, stop: indices of elements, 0 <= start <= stop.
            per_block: how many elements a block of four words gives.
            convert: turns a block's four words, each of shape (n,), into its elements, of shape (n, per_block).
            dtype: what `convert` returns.
            device: where to draw; PyTorch's default device when None.

        Returns:
            a flat tensor of stop - start elements.
        """
        if not 0 <= start <= stop:
            raise ValueError(f"start and stop must satisfy 0 <= start <= stop, got {start} and {stop}")
        first, last = start // per_block, -(-stop // per_block)
        step = max(1, min(CHUNK_BLOCKS, CHUNK_ELEMENTS // per_block))
        if last - first > step and torch.empty(0, device=device).is_cuda:
            step = GPU_BLOCKS
        if last - first <= step:
            drawn = convert(self._blocks(first, last, device))
        else:
            drawn = torch.empty(last - first, per_block, dtype=dtype, device=device)
            for low in range(first, last, step):
                high = min(low + step, last)
                drawn[low - first : high - first] = convert(self._blocks(low, high, device))
        flat = drawn.reshape(-1)
        wanted = flat[start - first * per_block : stop - first * per_block]
        # A view would keep what was cut off in memory.
        return flat if wanted.shape == flat.shape else wanted.clone()

    def _blocks(self, first: int, last: int, device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Blocks first..last, as four tensors of shape (last - first,)."""
        index = torch.arange(first, last, device=device)
        return philox((index & MASK, index >> 32, *self.halves[2:]), self.halves[:2])
