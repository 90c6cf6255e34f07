"""Checks of chapter 10's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from reservoir.weights import kept_count, largest
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, refuse


@exercise("ex-top-k", "top_mask")
def top_mask(written: Callable[[Tensor, float], Tensor]) -> str:
    """Exercise of chapter 10: `top_mask(scores, keep)`, true at exactly round(keep · n) of the largest |scores|."""
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
    """Exercise of chapter 10: `score_gradient(grad, weight, scores, mask)`, straight through the choice by |S|."""
    grad, weight, scores = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(0))
    return compare(written, lambda g, w, s, m: g * w * s.sign(), [(grad, weight, scores, largest(scores.abs(), 24))], {
        "the sign of the score is missing: a negative score that should grow in magnitude would shrink":
            lambda g, w, s, m: g * w,
        "the weight is missing: the loss feels a mask's entry through the weight that it lets through":
            lambda g, w, s, m: g * s.sign(),
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
    """Exercise of chapter 10: `choices(n, keep)`, the bits that it takes to say which of n weights are kept."""

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
