"""Checks of chapter 6's exercises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from reservoir_book.checks.verdict import Mistake, compare, exercise, number


@exercise("ex-gradient-below", "below")
def gradient_below(written: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of chapter 6: `below(g, h, W1, W2)`, the gradient at the input of y = h + W2 relu(W1 h)."""
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
    """Exercise of chapter 6: `saved(d, d_ff, width)`, multiply-adds per token that a skipped reservoir saves."""
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
    """Exercise of chapter 6: `chance(step, warmup, anneal, most)`, with which a step is skipped."""

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
