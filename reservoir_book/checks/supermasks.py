"""Checks of the exercises of chapters 8 and 9, on supermasks and weights that are stored as a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reservoir.weights import kept_count, largest
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, number, refuse


@exercise("ex-top-k", "top_mask")
def top_mask(written: Callable[[Tensor, float], Tensor]) -> str:
    """Exercise of chapter 8: `top_mask(scores, keep)`, true at exactly round(keep · n) of the largest |scores|."""
    draw = torch.Generator().manual_seed(0)
    plain = torch.randn(20, 50, generator=draw)
    tied = torch.randint(-3, 4, (10, 10), generator=draw).float()
    across = torch.randn(30, 20, generator=draw).T  # not contiguous
    for scores, keep in ((plain, 0.5), (plain, 0.9), (across, 0.3), (tied, 0.5), (torch.zeros(7), 0.6)):
        found = _mask_like(call(written, scores.clone(), keep), scores)
        if not set(found.unique().tolist()) <= {0, 1}:
            raise Mistake("a mask has nothing but zeros and ones: what you return has other numbers in it")
        mask, n = found.bool(), scores.numel()
        k, number = kept_count(n, keep), int(mask.sum())
        low = scores.abs()[mask].min() if k else torch.inf
        refuse({
            f"your mask keeps {number} of {n} weights and leaves {k} out: keep is the share that is kept":
                number == n - k != k,
            f"among equal scores your mask keeps {number} of {n} weights instead of {k}: decide between them":
                number > k and len(scores.abs().unique()) < n,
            f"your mask keeps {number} of {n} weights; keep={keep:g} means {k}": number != k,
        })  # fmt: skip
        if low < scores.abs()[~mask].max():
            refuse({
                "you rank S itself; a strongly negative score counts as much as a positive one":
                    torch.equal(mask, largest(scores, k)),
                "you keep the weights with the smallest scores": torch.equal(mask, largest(-scores.abs(), k)),
                f"your mask keeps {k} weights, as it should, but not those with the largest |scores|": True,
            })  # fmt: skip
    return "exactly so many, the largest of them, whatever ties and memory look like"


@exercise("ex-straight-through", "score_gradient")
def score_gradient(written: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of chapter 8: `score_gradient(grad, weight, scores, mask)`, straight through the choice by |S|."""
    grad, weight, scores = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(0))
    return compare(written, lambda g, w, s, m: g * w * s.sign(), [(grad, weight, scores, largest(scores.abs(), 24))], {
        "the sign of the score is missing: a negative score that should grow in magnitude would shrink":
            lambda g, w, s, m: g * w,
        "the weight is missing: the loss feels a mask's entry through the weight that it lets through":
            lambda g, w, s, m: g * s.sign(),
        "you pass the gradient of the masked weight on as it is; the score reaches the loss through its weight":
            lambda g, w, s, m: g,
        "you stop the gradient where the mask is zero, and the weight and the sign of the score are missing":
            lambda g, w, s, m: g * m,
        "the weight is missing, and you stop the gradient where the mask is zero: a dropped weight never comes back":
            lambda g, w, s, m: g * s.sign() * m,
        "you stop the gradient where the mask is zero: then a weight that was dropped never comes back":
            lambda g, w, s, m: g * w * s.sign() * m,
        "you stop the gradient where the mask is zero, and the sign of the score is missing":
            lambda g, w, s, m: g * w * m,
        "straight through means that the choice is taken for |S| itself; its derivative is a sign, not S":
            lambda g, w, s, m: g * w * s,
        "the gradient is turned round: this is the direction that lowers the loss":
            lambda g, w, s, m: -g * w * s.sign(),
    }, praise="the weight's part in the loss, turned round where the score is negative; dropped weights learn too",
       read=_mask_like, otherwise=lambda found, expected, *_:
           f"at the first weight you have {found[0, 0]:.3f}, not {expected[0, 0]:.3f}")  # fmt: skip


@exercise("ex-choices", "choices")
def choices(written: Callable[[int, float], float]) -> str:
    """Exercise of chapter 8: `choices(n, keep)`, the bits that it takes to say which of n weights are kept."""

    def bits(n: int, keep: float) -> float:
        k = round(keep * n)
        return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)

    return compare(written, bits, [(8, 0.5), (20, 0.25), (1000, 0.9), (1_000_000, 0.5), (30, 1.0)], {
        "you count all masks; only those with exactly round(keep · n) ones are meant": lambda n, keep: n,
        "that is in nats; divide by the logarithm of 2": lambda n, keep: bits(n, keep) * math.log(2),
        "that is the number of weights that are kept, not of ways to choose them": lambda n, keep: round(keep * n),
        "the order in which weights are chosen plays no part: divide by k! as well":
            lambda n, keep: (math.lgamma(n + 1) - math.lgamma(n - round(keep * n) + 1)) / math.log(2),
        "that is the bits for each weight; multiply by n": lambda n, keep: bits(n, keep) / n,
        "that is the number of choices; take its logarithm to the base 2":
            lambda n, keep: 2.0 ** min(bits(n, keep), 1000) if n < 100 else 0.0,
    }, praise="the logarithm of a binomial coefficient: most at one half, nearly a bit per weight there")  # fmt: skip


def _mask_like(found: object, expected: Tensor) -> Tensor:
    if not isinstance(found, Tensor) or found.shape != expected.shape:
        what = f"one of {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise Mistake(f"return a tensor of the scores' shape, {tuple(expected.shape)}, not {what}")
    return found


@exercise("ex-pack-bits", "packed")
def packed_bits(written: Callable[[list[bool]], bytes]) -> str:
    """Exercise of chapter 9: `packed(mask)`, eight bits in a byte, the first in the lowest place."""
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
    """Exercise of chapter 9: `bound(shapes, depth, trained)`, the bytes of masks and of what was trained."""

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
    """Exercise of chapter 9: `needed(bandwidth, width)`, weights a second at which drawing is as fast as reading."""
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
