"""Checks of chapter 5's exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reservoir.training.events import aucc
from reservoir.weights.freezing import placement
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, refuse


@exercise("ex-places", "places")
def places(written: Callable[[int, int], str]) -> str:
    """Exercise of chapter 5: `places(layers, reservoirs)`, alternate and centred, as "LRLRLRL"."""
    for layers, reservoirs in ((7, 3), (7, 2), (6, 2), (8, 4), (3, 0), (5, 3)):
        right, found = placement(layers, reservoirs), call(written, layers, reservoirs)
        asked = f"places({layers}, {reservoirs})"
        if not isinstance(found, str) or set(found) - {"L", "R"}:
            raise Mistake(f"{asked} should be a text of L and R, not {found!r}")
        frozen = found.count("R")
        refuse({
            f"{asked} has {len(found)} layers, {found!r}; it should have {layers}": len(found) != layers,
            f"{asked} has {frozen} reservoirs, {found!r}; it should have {reservoirs}": frozen != reservoirs,
            f"{asked} puts two reservoirs side by side: {found!r}": "RR" in found,
            f"{asked} is {found!r}: upside down. Where the middle falls between two layers, take the lower":
                found == right[::-1] != right,
            f"{asked} is {found!r}: the block is not in the middle; {right!r} is":
                found.strip("L") == right.strip("L") and found != right,
            f"{asked} is {found!r}, not {right!r}: one L between any two R, the block in the middle": found != right,
        })  # fmt: skip
    return "one layer that learns between any two reservoirs, and all of them in the middle"


Curve = Sequence[float]


@exercise("ex-aucc", "area")
def area_under_curve(written: Callable[[Curve, Curve, float], float]) -> str:
    """Exercise of chapter 5: `area(times, scores, horizon)`, the mean height up to T̂, from zero at time 0."""

    def trapezoids(times: Curve, scores: Curve) -> float:
        points = zip(times, times[1:], scores, scores[1:], strict=False)
        return sum((t1 - t0) * (s0 + s1) / 2 for t0, t1, s0, s1 in points)

    def right(times: Curve, scores: Curve, horizon: float) -> float:
        return aucc(times, scores, horizon=horizon, floor=0.0).value

    cases = [
        ([10.0, 20.0, 40.0], [6.0, 20.0, 30.0], 40.0),
        ([10.0, 20.0], [6.0, 20.0], 50.0),
        ([10.0, 30.0, 50.0], [6.0, 20.0, 30.0], 40.0),
    ]
    return compare(written, right, cases, {
        "you do not divide by T̂: the area is in BLEU × steps, not in BLEU": lambda t, s, h: right(t, s, h) * h,
        "the curve begins at time 0 with zero, and not at its first point": lambda t, s, h: aucc(t, s, horizon=h).value,
        "you go on beyond T̂: cut the curve there, between two points if need be":
            lambda t, s, h: trapezoids([0.0, *t, max(h, t[-1])], [0.0, *s, s[-1]]) / h,
        "the curve stays at its last score until T̂; you stop at the last point":
            lambda t, s, h: trapezoids([0.0, *t], [0.0, *s]) / h,
        "you take the mean of the scores; points may be unevenly far apart": lambda t, s, h: sum(s) / len(s),
    }, praise="trapezoids up to T̂, divided by T̂: a mean height")  # fmt: skip


@exercise("ex-gradients", "needed")
def gradients_needed(written: Callable[[str, bool], list[bool]]) -> str:
    """Exercise of chapter 5: `needed(stack, embeddings)`: for each layer, must a gradient reach it at all?"""

    def right(stack: str, embeddings: bool) -> list[bool]:
        return [embeddings or "L" in stack[: i + 1] for i in range(len(stack))]

    def read(found: Any, expected: list[bool]) -> list[bool]:
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            raise Mistake(f"return a list of {len(expected)}, one for each layer, not {found!r}")
        return [bool(each) for each in found]

    cases = [(stack, moves) for stack in ("LRLR", "RRLRL", "LLRR", "RR") for moves in (True, False)]
    return compare(written, right, cases, {
        "a reservoir gets no update, but the layers below it need the gradient to pass through it":
            lambda stack, embeddings: [letter == "L" for letter in stack],
        "no gradient has to reach a frozen layer under which nothing moves":
            lambda stack, embeddings: [True] * len(stack),
        "where the embeddings learn, the gradient must go all the way down to them":
            lambda stack, embeddings: right(stack, False),
        "you look at what lies above; what counts is whether the layer itself or something below it moves":
            lambda stack, embeddings: [embeddings or "L" in stack[i:] for i in range(len(stack))],
        "a layer that learns needs the gradient for itself, even where nothing below it moves":
            lambda stack, embeddings: [embeddings or "L" in stack[:i] for i in range(len(stack))],
    }, praise="the gradient goes as far down as something moves, through reservoirs and all", read=read)  # fmt: skip
