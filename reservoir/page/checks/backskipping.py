"""Checks of chapter 6's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from reservoir.page.checks.verdict import Mistake, call, exercise


@exercise("ex-gradient-below", "below")
def gradient_below(written: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of chapter 6: `below(g, h, W1, W2)`, the gradient at the input of y = h + W2 relu(W1 h)."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    g, h, first, second = draw(7, 6), draw(7, 6), draw(9, 6), draw(6, 9)
    found = call(written, g, h, first, second)
    if not isinstance(found, Tensor):
        raise Mistake(f"return a tensor, not {type(found).__name__}")
    if found.shape != h.shape:
        raise Mistake(f"the gradient has the shape of h, {tuple(h.shape)}; yours has {tuple(found.shape)}")
    open_ = (h @ first.T > 0).float()
    block = ((g @ second) * open_) @ first
    if torch.allclose(found, g + block, atol=1e-4):
        return "two products with frozen matrices, one step function, and the residual's copy of g"
    mistakes = {
        "you left the residual out: h reaches y directly as well, so g itself has to be added": block,
        "you passed g on as it is: that is the residual's part, and the block's is missing": g,
        "the ReLU is missing: a unit that was shut hands nothing down": g + (g @ second) @ first,
        "you opened the units by the gradient's sign; they open where W1 h is positive":
            g + ((g @ second) * (g @ second > 0)) @ first,
        "the block's part has the wrong sign": g - block,
    }  # fmt: skip
    for name, answer in mistakes.items():
        if torch.allclose(found, answer, atol=1e-4):
            raise Mistake(name)
    raise Mistake("that is not the gradient of y = h + W2 relu(W1 h); hold it against torch.autograd.grad")


@exercise("ex-saved-products", "saved")
def saved_products(written: Callable[[int, int, int], float]) -> str:
    """Exercise of chapter 6: `saved(d, d_ff, width)`, multiply-adds a token that a skipped reservoir saves."""
    cases = [(64, 256, 16), (128, 512, 64), (512, 1024, 100)]
    found = [call(written, *case) for case in cases]
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Mistake(f"return a number, not {value!r}")

    def same(answer: Callable[[int, int, int], float]) -> bool:
        return all(math.isclose(value, answer(*case)) for value, case in zip(found, cases, strict=True))

    if same(lambda d, f, w: 2 * d * f - 3 * d * w):
        return "two products saved, three narrow ones spent"
    mistakes: dict[str, Callable[[int, int, int], float]] = {
        "you forgot what the estimate costs: three narrow products": lambda d, f, w: 2 * d * f,
        "that counts the products for the weights' gradients too; a frozen layer never made them":
            lambda d, f, w: 4 * d * f - 3 * d * w,
        "these are operations, two for each multiply-add; count multiply-adds":
            lambda d, f, w: 4 * d * f - 6 * d * w,
        "the backward pass has two products with frozen matrices, W2 and W1": lambda d, f, w: d * f - 3 * d * w,
        "the estimate has three maps: the gate, the one for g, and the one back":
            lambda d, f, w: 2 * d * f - 2 * d * w,
        "the sign is turned: what is saved should be positive for a narrow estimate":
            lambda d, f, w: 3 * d * w - 2 * d * f,
    }  # fmt: skip
    for name, answer in mistakes.items():
        if same(answer):
            raise Mistake(name)
    d, f, w = cases[0]
    raise Mistake(f"for d={d}, d_ff={f}, width={w} you say {found[0]:,}, and it is {2 * d * f - 3 * d * w:,}")


@exercise("ex-annealed", "chance")
def annealed(written: Callable[[int, int, int, float], float]) -> str:
    """Exercise of chapter 6: `chance(step, warmup, anneal, most)`, with which a step is skipped."""
    cases = [(1, 100, 200, 0.9), (100, 100, 200, 0.9), (150, 100, 200, 0.9), (300, 100, 200, 0.9),
             (301, 100, 200, 0.9), (5000, 100, 200, 0.9), (40, 20, 80, 0.5)]  # fmt: skip
    found = [call(written, *case) for case in cases]
    for value, case in zip(found, cases, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Mistake(f"return a number, not {value!r}")
        if not 0 <= value <= 1:
            raise Mistake(f"a chance lies between 0 and 1; for step {case[0]} you give {value:.3g}")

    def right(step: int, warmup: int, anneal: int, most: float) -> float:
        return most * min(1.0, max(0.0, (step - warmup) / anneal))

    mistakes: dict[str, Callable[[int, int, int, float], float]] = {
        "you skip during the warm-up, before the estimate has seen anything": lambda s, w, a, m: m * min(1.0, s / a),
        "the chance jumps to its highest after the warm-up; it should rise over `anneal` steps":
            lambda s, w, a, m: m * (s > w),
        "`anneal` counts from the end of the warm-up, not from the first step":
            lambda s, w, a, m: m * min(1.0, max(0.0, (s - w) / (a - w))),
        "the chance rises to 1; it should rise to `most`": lambda s, w, a, m: min(1.0, max(0.0, (s - w) / a)),
        "you cap the chance at `most`, but it rises as if to 1: it gets there too soon":
            lambda s, w, a, m: min(m, max(0.0, (s - w) / a)),
    }  # fmt: skip

    def same(answer: Callable[[int, int, int, float], float]) -> bool:
        return all(math.isclose(v, answer(*c), abs_tol=1e-9) for v, c in zip(found, cases, strict=True))

    if same(right):
        return "nothing in the warm-up, then a straight line, then level"
    for name, answer in mistakes.items():
        if same(answer):
            raise Mistake(name)
    for value, case in zip(found, cases, strict=True):
        if not math.isclose(value, right(*case), abs_tol=1e-9):
            step, warmup, anneal, most = case
            given = f"step={step}, warmup={warmup}, anneal={anneal}, most={most}"
            raise Mistake(f"for {given} it is {right(*case):.3g}, and you give {value:.3g}")
    raise AssertionError("one of the cases differs")
