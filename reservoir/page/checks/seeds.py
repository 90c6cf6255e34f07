"""Checks of chapter 11's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from reservoir.page.checks.verdict import Mistake, call, exercise


@exercise("ex-pack-bits", "packed")
def packed_bits(written: Callable[[list[bool]], bytes]) -> str:
    """Exercise of chapter 11: `packed(mask)`, eight bits in a byte, the first in the lowest place."""
    generator = np.random.default_rng(0)
    masks = [(generator.random(n) < 0.5).tolist() for n in (8, 16, 3, 21)] + [[True, False, False]]
    found = [call(written, mask) for mask in masks]
    for value, mask in zip(found, masks, strict=True):
        if not isinstance(value, bytes | bytearray | list):
            raise Mistake(f"return bytes, not {type(value).__name__}")
        if len(value) == len(mask) and len(mask) > 1:
            raise Mistake("you spend a byte on each weight; eight of them share one")
        if len(value) < -(-len(mask) // 8):
            needs = -(-len(mask) // 8)
            raise Mistake(
                f"{len(mask)} bits take {needs} bytes, and yours has {len(value)}: the last byte may not be full"
            )
    right = [np.packbits(mask, bitorder="little").tobytes() for mask in masks]
    turned = [np.packbits(mask, bitorder="big").tobytes() for mask in masks]
    answer = [bytes(value) for value in found]
    if answer == right:
        return "eight choices in a byte, and the last byte filled up with noughts"
    if answer == turned:
        raise Mistake("the first bit of a byte is its lowest, of value 1; yours is its highest, of value 128")
    if answer == [bytes(255 - byte for byte in each) for each in right]:
        raise Mistake("a set bit is a weight that is kept; yours are turned over")
    for mask, mine, wanted in zip(masks, answer, right, strict=True):
        if mine != wanted:
            raise Mistake(f"for {[int(bit) for bit in mask]} it is {list(wanted)}, and you give {list(mine)}")
    raise AssertionError("one of them differs")


@exercise("ex-bound", "bound")
def bits_bound(written: Callable[[list[tuple[int, int]], int, int], int]) -> str:
    """Exercise of chapter 11: `bound(shapes, depth, trained)`, the bytes of masks and of what was trained."""
    cases = [([(3, 5), (7, 11)], 3, 10), ([(64, 64)], 1, 0), ([(9, 9), (9, 3), (5, 5)], 6, 7)]
    found = [call(written, *case) for case in cases]
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Mistake(f"return a number, not {value!r}")

    def same(answer: Callable[[list[tuple[int, int]], int, int], float]) -> bool:
        return all(math.isclose(value, answer(*case)) for value, case in zip(found, cases, strict=True))

    def each(shapes, depth):
        return depth * sum(-(-a * b // 8) for a, b in shapes)

    def weights(shapes):
        return sum(a * b for a, b in shapes)

    if same(lambda s, d, t: each(s, d) + 4 * t):
        return "a mask for each matrix at each depth, each in whole bytes; nothing for the weights"
    mistakes: dict[str, Callable[[list[tuple[int, int]], int, int], float]] = {
        "those are bits; eight make a byte": lambda s, d, t: d * weights(s) + 32 * t,
        "the weights are shared, but each depth has masks of its own": lambda s, d, t: each(s, 1) + 4 * t,
        "a weight costs nothing: the seed gives it back": lambda s, d, t: each(s, d) + 4 * t + 4 * weights(s),
        "a mask ends with a whole byte: round up for each": lambda s, d, t: d * weights(s) / 8 + 4 * t,
        "round up for each mask, not for their sum": lambda s, d, t: -(-d * weights(s) // 8) + 4 * t,
        "round up, not down: the last weights need their bits too":
            lambda s, d, t: d * sum(a * b // 8 for a, b in s) + 4 * t,
        "a trained number takes four bytes": lambda s, d, t: each(s, d) + t,
        "you left out what was trained": lambda s, d, t: each(s, d),
    }  # fmt: skip
    for name, answer in mistakes.items():
        if same(answer):
            raise Mistake(name)
    shapes, depth, trained = cases[0]
    raise Mistake(
        f"for shapes={shapes}, depth={depth}, trained={trained} you say {found[0]},"
        f" and it is {each(shapes, depth) + 4 * trained}"
    )


@exercise("ex-break-even", "needed")
def break_even(written: Callable[[float, float], float]) -> str:
    """Exercise of chapter 11: `needed(bandwidth, width)`, weights a second at which drawing is as fast as reading."""
    cases = [(1e10, 4), (1e10, 2), (5e11, 1), (3e9, 0.5)]
    found = [call(written, *case) for case in cases]
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Mistake(f"return a number, not {value!r}")

    def same(answer: Callable[[float, float], float]) -> bool:
        return all(math.isclose(v, answer(*c), rel_tol=1e-9) for v, c in zip(found, cases, strict=True))

    if same(lambda b, w: b / (w - 1 / 8)):
        return "what is saved of a weight's reading is all but its bit"
    mistakes: dict[str, Callable[[float, float], float]] = {
        "a masked weight is not free to read: its bit still comes from memory": lambda b, w: b / w,
        "reading takes width / bandwidth seconds a weight; you have bytes times bytes a second": lambda b, w: b * w,
        "the bit is read when the weight is drawn, not when it is stored: take it away, do not add it":
            lambda b, w: b / (w + 1 / 8),
        "a bit is an eighth of a byte": lambda b, w: b / (w - 1) if w != 1 else math.inf,
        "that is the time for a weight; its inverse is asked for": lambda b, w: (w - 1 / 8) / b,
    }  # fmt: skip
    for name, answer in mistakes.items():
        if same(answer):
            raise Mistake(name)
    b, w = cases[0]
    raise Mistake(
        f"at {b:.0e} bytes a second and {w} bytes a weight it is {b / (w - 1 / 8):.4g}, and you say {found[0]:.4g}"
    )
