"""Two tasks on random bits: remember a string that was shown, and add two strings modulo 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.batches import raw_words
from reservoir.datasets.errors import check_whole


@dataclass(frozen=True)
class BitMemory:
    """Five strings go by, then one of them again with half of its bits hidden; which bits are they (Lu et al. 2021)?

    A bit is -1 or 1, and 0 where it is hidden. A string is cut into patches, each of which is one position.

    Args:
        length: bits of a string.
        strings: how many go by.
        patch: bits of a position; divides the length.
        hidden: share of the bits of the last string that are hidden.

    Raises:
        ValueError: an argument is out of range.
    """

    length: int = 1000
    strings: int = 5
    patch: int = 50
    hidden: float = 0.5

    def __post_init__(self) -> None:
        for name in ("length", "strings", "patch"):
            check_whole(name, getattr(self, name), least=1)
        if self.length % self.patch:
            raise ValueError(f"patch must divide length={self.length}, got {self.patch}")
        if not 0 < self.hidden <= 1:
            raise ValueError(f"hidden must be in (0, 1], got {self.hidden}")

    def draw(self, n: int, *, seed: int, number: int = 0) -> tuple[Tensor, Tensor]:
        """Examples.

        Args:
            n: how many.
            seed, number: which: batch `number` of the stream that the seed determines.

        Returns:
            (n, (strings + 1) · length / patch, patch) of -1, 0 and 1; and the bits to be said at the last
            length / patch positions, (n, length / patch, patch) of 0 and 1.
        """
        words = raw_words(seed, number)
        bits = _bits(words, n * self.strings * self.length).view(n, self.strings, self.length)
        # No count of strings is near 2**64: as good as even.
        which = torch.from_numpy(words(n) % self.strings).long()
        asked = bits[torch.arange(n), which]
        threshold = np.uint64(min(round(self.hidden * 2**32), 2**32 - 1))
        seen = torch.from_numpy((words(n * self.length) >> np.uint64(32)) >= threshold).view(n, self.length)
        shown = torch.cat([2.0 * bits - 1.0, ((2.0 * asked - 1.0) * seen)[:, None]], 1)
        return shown.view(n, -1, self.patch), asked.view(n, -1, self.patch)


@dataclass(frozen=True)
class BitXor:
    """Two strings, bit after bit; what is their sum modulo 2, bit by bit (Lu et al. 2021)?

    Args:
        length: bits of a string.
    """

    length: int = 5

    def __post_init__(self) -> None:
        check_whole("length", self.length, least=1)

    def draw(self, n: int, *, seed: int, number: int = 0) -> tuple[Tensor, Tensor]:
        """Examples, as in `BitMemory.draw`.

        Returns:
            (n, 2 · length, 1) of -1 and 1; and the bits to be said at the last `length` positions, (n, length, 1).
        """
        bits = _bits(raw_words(seed, number), n * 2 * self.length).view(n, 2, self.length)
        return (2.0 * bits - 1.0).view(n, -1, 1), (bits[:, 0] ^ bits[:, 1])[..., None]


def _bits(words: Callable[[int], np.ndarray], n: int) -> Tensor:
    """(n,) int64 of 0 and 1."""
    raw = words(-(-n // 64)).astype("<u8").view(np.uint8)
    return torch.from_numpy(np.unpackbits(raw)[:n].astype(np.int64))
