"""Checks of chapter 11's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reservoir_book.checks.verdict import Mistake, compare, exercise, number


@exercise("ex-pack-bits", "packed")
def packed_bits(written: Callable[[list[bool]], bytes]) -> str:
    """Exercise of chapter 11: `packed(mask)`, eight bits in a byte, the first in the lowest place."""
    generator = np.random.default_rng(0)
    masks = [(generator.random(n) < 0.5).tolist() for n in (8, 16, 3, 21)] + [[True, False, False]]

    def right(mask: list[bool]) -> bytes:
        return np.packbits(mask, bitorder="little").tobytes()

    def read(found: Any, expected: bytes) -> bytes:
        if not isinstance(found, bytes | bytearray | list):
            raise Mistake(f"return bytes, not {type(found).__name__}")
        if len(found) > len(expected):
            raise Mistake("you spend a byte on each weight; eight of them share one")
        if len(found) < len(expected):
            raise Mistake(
                f"the bits take {len(expected)} bytes, and yours has {len(found)}: the last byte may not be full"
            )
        return bytes(found)

    return compare(written, right, [(mask,) for mask in masks], {
        "the first bit of a byte is its lowest, of value 1; yours is its highest, of value 128":
            lambda mask: np.packbits(mask, bitorder="big").tobytes(),
        "a set bit is a weight that is kept; yours are turned over":
            lambda mask: bytes(255 - byte for byte in right(mask)),
    }, praise="eight choices in a byte, and the last byte filled up with zeros", read=read,
       otherwise=lambda found, expected, mask:
           f"for {[int(bit) for bit in mask]} it is {list(expected)}, and you give {list(found)}")  # fmt: skip


Shapes = Sequence[tuple[int, int]]


@exercise("ex-bound", "bound")
def bits_bound(written: Callable[[Shapes, int, int], int]) -> str:
    """Exercise of chapter 11: `bound(shapes, depth, trained)`, the bytes of masks and of what was trained."""

    def masks(shapes: Shapes, depth: int) -> int:
        return depth * sum(-(-a * b // 8) for a, b in shapes)

    def weights(shapes: Shapes) -> int:
        return sum(a * b for a, b in shapes)

    cases = [([(3, 5), (7, 11)], 3, 10), ([(64, 64)], 1, 0), ([(9, 9), (9, 3), (5, 5)], 6, 7)]
    return compare(written, lambda shapes, depth, trained: masks(shapes, depth) + 4 * trained, cases, {
        "those are bits; eight make a byte": lambda s, d, t: d * weights(s) + 32 * t,
        "the weights are shared, but each depth has masks of its own": lambda s, d, t: masks(s, 1) + 4 * t,
        "a weight costs nothing: the seed gives it back": lambda s, d, t: masks(s, d) + 4 * t + 4 * weights(s),
        "a mask ends with a whole byte: round up for each": lambda s, d, t: d * weights(s) / 8 + 4 * t,
        "round up for each mask, not for their sum": lambda s, d, t: -(-d * weights(s) // 8) + 4 * t,
        "round up, not down: the last weights need their bits too":
            lambda s, d, t: d * sum(a * b // 8 for a, b in s) + 4 * t,
        "a trained number takes four bytes": lambda s, d, t: masks(s, d) + t,
        "you left out what was trained": lambda s, d, t: masks(s, d),
    }, praise="a mask for each matrix at each depth, each in whole bytes; nothing for the weights")  # fmt: skip


@exercise("ex-break-even", "needed")
def break_even(written: Callable[[float, float], float]) -> str:
    """Exercise of chapter 11: `needed(bandwidth, width)`, weights a second at which drawing is as fast as reading."""
    cases = [(1e10, 4), (1e10, 2), (5e11, 1), (3e9, 0.5)]
    return compare(written, lambda bandwidth, width: bandwidth / (width - 1 / 8), cases, {
        "a masked weight is not free to read: its bit still comes from memory": lambda b, w: b / w,
        "reading takes width / bandwidth seconds a weight; you have bytes times bytes a second": lambda b, w: b * w,
        "the bit is read when the weight is drawn, not when it is stored: take it away, do not add it":
            lambda b, w: b / (w + 1 / 8),
        "a bit is an eighth of a byte": lambda b, w: b / (w - 1) if w != 1 else math.inf,
        "that is the time for a weight; its inverse is asked for": lambda b, w: (w - 1 / 8) / b,
    }, praise="what is saved of a weight's reading is all but its bit",
       read=lambda found, expected: found if found == math.inf else number(found))  # fmt: skip
