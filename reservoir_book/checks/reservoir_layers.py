"""Checks of the exercises of chapter 5 and appendix A7, on reservoir layers and the backward pass through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reservoir.training.events import aucc
from reservoir.weights.freezing import placement
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, number, refuse


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
        "trapezoids between the points alone: the curve begins at time 0 with zero, and goes on or is cut at T̂":
            lambda t, s, h: trapezoids(t, s) / h,
        "trapezoids between the points alone, divided by their span: begin at time 0 with zero, end at T̂, divide by T̂":
            lambda t, s, h: trapezoids(t, s) / (t[-1] - t[0]),
        "trapezoids between the points alone, not divided: begin at time 0 with zero, end at T̂, divide by T̂":
            lambda t, s, h: trapezoids(t, s),
        "you neither end the curve at T̂ nor divide by T̂": lambda t, s, h: trapezoids([0.0, *t], [0.0, *s]),
        "the curve ends at T̂, whatever its last point is: you divide by the time of that instead":
            lambda t, s, h: trapezoids([0.0, *t], [0.0, *s]) / t[-1],
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


@exercise("ex-gradient-below", "below")
def gradient_below(written: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of appendix A7: `below(g, h, W1, W2)`, the gradient at the input of y = h + W2 relu(W1 h)."""
    generator = torch.Generator().manual_seed(0)
    g, h, first, second = (torch.randn(*s, generator=generator) for s in ((7, 6), (7, 6), (9, 6), (6, 9)))

    def block(g: Tensor, h: Tensor, W1: Tensor, W2: Tensor) -> Tensor:
        return ((g @ W2) * (h @ W1.T > 0)) @ W1

    return compare(written, lambda g, h, W1, W2: g + block(g, h, W1, W2), [(g, h, first, second)], {
        "you left the residual out: h reaches y directly as well, so g itself has to be added": block,
        "you passed g on as it is: that is the residual's part, and the block's is missing": lambda g, h, W1, W2: g,
        "the ReLU is missing: a unit that was shut hands nothing down": lambda g, h, W1, W2: g + (g @ W2) @ W1,
        "you opened the units by the gradient's sign; they open where W1 h is positive":
            lambda g, h, W1, W2: g + (g @ W2).relu() @ W1,
        "the block's part has the wrong sign": lambda g, h, W1, W2: g - block(g, h, W1, W2),
    }, praise="two products with frozen matrices, one step function, and the residual's copy of g",
       otherwise="that is not the gradient of y = h + W2 relu(W1 h); compare it with torch.autograd.grad")  # fmt: skip


@exercise("ex-saved-products", "saved")
def saved_products(written: Callable[[int, int, int], float]) -> str:
    """Exercise of appendix A7: `saved(d, d_ff, width)`, multiply-adds per token that a skipped reservoir saves."""
    cases = [(64, 256, 16), (128, 512, 64), (512, 1024, 100)]
    return compare(written, lambda d, d_ff, width: 2 * d * d_ff - 3 * d * width, cases, {
        "you forgot what the estimate costs: three narrow products": lambda d, f, w: 2 * d * f,
        "that counts the products for the weights' gradients too; a frozen layer never made them":
            lambda d, f, w: 4 * d * f - 3 * d * w,
        "these are operations, two for each multiply-add; count multiply-adds": lambda d, f, w: 4 * d * f - 6 * d * w,
        "the backward pass has two products with frozen matrices, W2 and W1": lambda d, f, w: d * f - 3 * d * w,
        "the estimate has three maps: the gate, the one for g, and the one back": lambda d, f, w: 2 * d * f - 2 * d * w,
        "the sign is turned: what is saved should be positive for a narrow estimate":
            lambda d, f, w: 3 * d * w - 2 * d * f,
    }, praise="two products saved, three narrow ones spent")  # fmt: skip


@exercise("ex-annealed", "chance")
def annealed(written: Callable[[int, int, int, float], float]) -> str:
    """Exercise of appendix A7: `chance(step, warmup, anneal, most)`, with which a step is skipped."""

    def share(found: Any, expected: Any) -> float:
        if not 0 <= number(found) <= 1:
            raise Mistake(f"a chance lies between 0 and 1; you give {found:.3g}")
        return found

    def rising(step: int, warmup: int, anneal: int) -> float:
        return min(1.0, max(0.0, (step - warmup) / anneal))

    cases = [(1, 100, 200, 0.9), (100, 100, 200, 0.9), (150, 100, 200, 0.9), (300, 100, 200, 0.9),
             (301, 100, 200, 0.9), (5000, 100, 200, 0.9), (40, 20, 80, 0.5)]  # fmt: skip
    return compare(written, lambda step, warmup, anneal, most: most * rising(step, warmup, anneal), cases, {
        "you skip during the warm-up, before the estimate has seen anything": lambda s, w, a, m: m * min(1.0, s / a),
        "the chance jumps to its highest after the warm-up; it should rise over `anneal` steps":
            lambda s, w, a, m: m * (s > w),
        "`anneal` counts from the end of the warm-up, not from the first step":
            lambda s, w, a, m: m * rising(s, w, a - w),
        "the chance rises to 1; it should rise to `most`": lambda s, w, a, m: rising(s, w, a),
        "you cap the chance at `most`, but it rises as if to 1: it gets there too soon":
            lambda s, w, a, m: min(m, rising(s, w, a)),
    }, praise="nothing in the warm-up, then a straight line, then level", read=share)  # fmt: skip
