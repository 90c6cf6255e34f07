"""Checks of chapter 5's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reservoir.page.checks.verdict import Mistake, call, exercise
from reservoir.training import aucc
from reservoir.weights import placement


@exercise("ex-places", "places")
def places(written: Callable[[int, int], str]) -> str:
    """Exercise of chapter 5: `places(layers, reservoirs)`, alternate and centred, as "LRLRLRL"."""
    for layers, reservoirs in ((7, 3), (7, 2), (6, 2), (8, 4), (3, 0), (5, 3)):
        right, found = placement(layers, reservoirs), call(written, layers, reservoirs)
        asked = f"places({layers}, {reservoirs})"
        if not isinstance(found, str) or set(found) - {"L", "R"}:
            raise Mistake(f"{asked} should be a text of L and R, not {found!r}")
        if found == right:
            continue
        if len(found) != layers:
            raise Mistake(f"{asked} has {len(found)} layers, {found!r}; it should have {layers}")
        if found.count("R") != reservoirs:
            raise Mistake(
                f"{asked} has {found.count('R')} reservoirs, {found!r}; it should have {reservoirs}"
            )
        if "RR" in found:
            raise Mistake(f"{asked} puts two reservoirs side by side: {found!r}")
        if found == right[::-1]:
            raise Mistake(
                f"{asked} is {found!r}: upside down. Where the middle falls between two layers, take the lower"
            )
        if found.strip("L") == right.strip("L"):
            raise Mistake(f"{asked} is {found!r}: the block is not in the middle; {right!r} is")
        raise Mistake(
            f"{asked} is {found!r}, not {right!r}: one L between any two R, the block in the middle"
        )
    return "one layer that learns between any two reservoirs, and all of them in the middle"


Curve = Sequence[float]


@exercise("ex-aucc", "area")
def area_under_curve(written: Callable[[Curve, Curve, float], float]) -> str:
    """Exercise of chapter 5: `area(times, scores, horizon)`, the mean height up to T̂, from nought at time 0."""

    def trapezoids(times: Curve, scores: Curve) -> float:
        return sum(
            (t1 - t0) * (s0 + s1) / 2
            for t0, t1, s0, s1 in zip(times, times[1:], scores, scores[1:], strict=False)
        )

    def flat_after(
        times: list[float], scores: list[float], horizon: float
    ) -> tuple[list[float], list[float]]:
        return [0.0, *times, horizon], [0.0, *scores, scores[-1]]

    slips = {
        "you do not divide by T̂: the area is in BLEU × steps, not in BLEU":
            lambda t, s, h: aucc(t, s, horizon=h, floor=0.0).value * h,
        "the curve begins at time 0 with nought, and not at its first point":
            lambda t, s, h: aucc([*t], [*s], horizon=h).value,
        "you go on beyond T̂: cut the curve there, between two points if need be":
            lambda t, s, h: trapezoids(*flat_after([*t], [*s], max(h, t[-1]))) / h,
        "the curve stays at its last score until T̂; you stop at the last point":
            lambda t, s, h: trapezoids([0.0, *t], [0.0, *s]) / h,
        "you take the mean of the scores; points may be unevenly far apart":
            lambda t, s, h: sum(s) / len(s),
    }  # fmt: skip
    cases = [
        ([10.0, 20.0, 40.0], [6.0, 20.0, 30.0], 40.0),
        ([10.0, 20.0], [6.0, 20.0], 50.0),
        ([10.0, 30.0, 50.0], [6.0, 20.0, 30.0], 40.0),
    ]
    found = []
    for case in cases:
        value = call(written, *case)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Mistake(f"return a number, not {value!r}")
        found.append(float(value))
    right = [aucc(t, s, horizon=h, floor=0.0).value for t, s, h in cases]
    if all(math.isclose(one, other, rel_tol=1e-6) for one, other in zip(found, right, strict=True)):
        return "trapezoids up to T̂, divided by T̂: a mean height"
    wrong = [
        i for i, (a, b) in enumerate(zip(found, right, strict=True)) if not math.isclose(a, b, rel_tol=1e-6)
    ]
    for name, slip in slips.items():
        if all(math.isclose(slip(*cases[i]), found[i], rel_tol=1e-6) for i in wrong):
            raise Mistake(name)
    t, s, h = cases[wrong[0]]
    raise Mistake(
        f"for times {t}, scores {s} and T̂ = {h:g} you have {found[wrong[0]]:g}, not {right[wrong[0]]:g}"
    )


@exercise("ex-gradients", "needed")
def gradients_needed(written: Callable[[str, bool], list[bool]]) -> str:
    """Exercise of chapter 5: `needed(stack, embeddings)`: for each layer, must a gradient reach it at all?"""

    def answer(stack: str, embeddings: bool) -> list[bool]:
        return [embeddings or "L" in stack[: i + 1] for i in range(len(stack))]

    slips = {
        "a reservoir gets no update, but the layers below it need the gradient to pass through it":
            lambda stack, embeddings: [letter == "L" for letter in stack],
        "no gradient has to reach a frozen layer under which nothing moves":
            lambda stack, embeddings: [True] * len(stack),
        "where the embeddings learn, the gradient must go all the way down to them":
            lambda stack, embeddings: answer(stack, False),
        "you look at what lies above; what counts is whether the layer itself or something below it moves":
            lambda stack, embeddings: [embeddings or "L" in stack[i:] for i in range(len(stack))],
        "a layer that learns needs the gradient for itself, even where nothing below it moves":
            lambda stack, embeddings: [embeddings or "L" in stack[:i] for i in range(len(stack))],
    }  # fmt: skip
    cases = [(stack, moves) for stack in ("LRLR", "RRLRL", "LLRR", "RR") for moves in (True, False)]
    found = []
    for stack, embeddings in cases:
        value = call(written, stack, embeddings)
        if not isinstance(value, list | tuple) or len(value) != len(stack):
            raise Mistake(
                f"needed({stack!r}, {embeddings}) should be a list of {len(stack)}, one for each layer"
            )
        found.append([bool(each) for each in value])
    right = [answer(*case) for case in cases]
    if found == right:
        return "the gradient goes as far down as something moves, through reservoirs and all"
    for name, slip in slips.items():
        if found == [slip(*case) for case in cases]:
            raise Mistake(name)
    at = next(i for i, (one, other) in enumerate(zip(found, right, strict=True)) if one != other)
    stack, embeddings = cases[at]
    raise Mistake(f"for {stack!r} with embeddings={embeddings} you have {found[at]}, not {right[at]}")
