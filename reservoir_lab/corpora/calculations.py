"""What a model is asked to calculate: to remember a string of bits or add two modulo 2 (Lu et al. 2021), and ListOps,
nested operations on digits, whose value depends on all brackets (Nangia & Bowman 2018).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.batches import raw_words
from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir.layers.arguments import check_number


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
            check_number(name, getattr(self, name), least=1, whole=True)
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
        check_number("length", self.length, least=1, whole=True)

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


OPERATIONS: dict[str, Callable[[Sequence[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda digits: int(statistics.median(digits)),
    "[SM": lambda digits: sum(digits) % 10,
    "[PM": lambda digits: math.prod(digits) % 10,
    "[FIRST": lambda digits: digits[0],
    "[LAST": lambda digits: digits[-1],
    "[FLSUM": lambda digits: sum(digits[:2]) % 10,
}
"""An opening bracket with its operation. The median of an even number of digits is rounded down."""

FOUR = ("[MIN", "[MAX", "[MED", "[SM")
"""The operations of the Long Range Arena's version (Tay et al. 2021)."""

CLOSE = "]"
VOCABULARY = (*FOUR, CLOSE, *map(str, range(10)), *(op for op in OPERATIONS if op not in FOUR))
"""The tokens, in an order that is stated; the first fifteen are the Long Range Arena's. (The code of Lu et al. took its
order from a Python set, which is another one in every process.)"""


def tokens(expression: str) -> list[str]:
    """The tokens of an expression; the round brackets that the published files have between them are left out.

    Raises:
        DataError: a token is unknown, a bracket is missing or too many, or an operation has nothing to work on.
    """
    found = [token for token in expression.split() if token not in ("(", ")")]
    value(found)
    return found


def value(found: Sequence[str]) -> int:
    """The value of an expression, a digit.

    Raises:
        DataError: as in `tokens`.
    """
    open_: list[tuple[str, list[int]]] = []
    answer: int | None = None
    for place, token in enumerate(found, start=1):
        if answer is not None:
            raise DataError(f"ListOps, token {place}: {token!r} comes after the end of the expression")
        if token in OPERATIONS:
            open_.append((token, []))
            continue
        if token == CLOSE:
            if not open_:
                raise DataError(f"ListOps, token {place}: ']' closes no bracket")
            operation, digits = open_.pop()
            if not digits:
                raise DataError(f"ListOps, token {place}: {operation} has no digits to work on")
            digit = OPERATIONS[operation](digits)
        elif len(token) == 1 and token in "0123456789":
            digit = int(token)
        else:
            raise DataError(f"ListOps, token {place}: {token!r} is none of {' '.join(VOCABULARY)}")
        if open_:
            open_[-1][1].append(digit)
        else:
            answer = digit
    if answer is None:
        missing = f"{len(open_)} closing bracket{'s are' if len(open_) > 1 else ' is'} missing at the end"
        raise DataError(f"ListOps: {missing if open_ else 'the expression is empty'}")
    return answer


def draw_expressions(
    n: int,
    *,
    seed: int,
    depth: int = 10,
    arguments: int = 10,
    shortest: int = 1,
    longest: int = 2000,
    operations: Sequence[str] = FOUR,
) -> tuple[list[list[str]], list[int]]:
    """Draw expressions, and compute their values.

    As in the generator of Nangia & Bowman: an argument is an operation with a chance of a quarter, while the depth
    allows, and otherwise a digit; an operation has from two arguments to `arguments`. The outermost is an operation.

    Args:
        n: how many.
        seed: any integer.
        depth: of nested operations, at most.
        arguments: of an operation, at most.
        shortest, longest: how many tokens an expression may have; the Long Range Arena has from 500 to 2000.
        operations: which are drawn.

    Returns:
        The expressions' tokens, and their values.

    Raises:
        ValueError: an argument is out of range, or expressions of that length are so rare that none was drawn.
    """
    for name, number, least in (("n", n, 0), ("depth", depth, 1), ("arguments", arguments, 2)):
        check_number(name, number, least=least, whole=True)
    draws, misses = Draws(seed), 0
    found: list[list[str]] = []
    while len(found) < n:
        expression: list[str] = []
        _operation(expression, draws, depth, arguments, operations, longest)
        if shortest <= len(expression) <= longest:
            found.append(expression)
            misses = 0
        elif (misses := misses + 1) == 100_000:
            raise ValueError(
                f"of {misses:,} expressions of depth={depth} and arguments={arguments} none had from"
                f" shortest={shortest} to longest={longest} tokens; allow others"
            )
    return found, [value(expression) for expression in found]


def _operation(
    into: list[str], draws: Draws, depth: int, arguments: int, operations: Sequence[str], longest: int
) -> None:
    into.append(draws.pick(operations))
    for _ in range(2 + draws.below(arguments - 1)):
        if len(into) > longest:  # too long already: it will be thrown away
            return
        if depth > 1 and draws.chance(0.25):
            _operation(into, draws, depth - 1, arguments, operations, longest)
        else:
            into.append(str(draws.below(10)))
    into.append(CLOSE)
