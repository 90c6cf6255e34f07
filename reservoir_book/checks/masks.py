"""Checks of the exercises of chapters 8 to 10: supermasks, seeds, and what each costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reservoir.weights import kept_count, largest
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, number, refuse, tensor


@exercise("ex-top-k", "top_mask")
def top_mask(written: Callable[[Tensor, float], Tensor]) -> str:
    """Exercise of chapter 8: `top_mask(scores, keep)`, true at exactly round(keep · n) of the largest |scores|."""
    draw = torch.Generator().manual_seed(0)
    plain = torch.randn(20, 50, generator=draw)
    tied = torch.randint(-3, 4, (10, 10), generator=draw).float()
    across = torch.randn(30, 20, generator=draw).T  # not contiguous
    for scores, keep in ((plain, 0.5), (plain, 0.9), (across, 0.3), (tied, 0.507), (torch.zeros(7), 0.6)):
        found = tensor(call(written, scores.clone(), keep), scores)
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
        "you stop the gradient where the mask is zero, and the sign of the score is missing":
            lambda g, w, s, m: g * w * m,
        "you stop the gradient where the mask is zero: then the score of a dropped weight never moves":
            lambda g, w, s, m: g * w * s.sign() * m,
        "straight through means that the choice is taken for |S| itself; its derivative is a sign, not S":
            lambda g, w, s, m: g * w * s,
        "the gradient is turned round: this is the direction that lowers the loss":
            lambda g, w, s, m: -g * w * s.sign(),
    }, praise="the weight's part in the loss, turned round where the score is negative; dropped weights learn too",
       otherwise=lambda found, expected, *_:
           f"at the first weight you have {found[0, 0]:.3f}, not {expected[0, 0]:.3f}")  # fmt: skip


@exercise("ex-choices", "choices")
def choices(written: Callable[[int, float], float]) -> str:
    """Exercise of chapter 8: `choices(n, keep)`, the bits that it takes to say which of n weights are kept."""

    def bits(n: int, keep: float) -> float:
        k = round(keep * n)
        return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)

    return compare(written, bits, [(8, 0.5), (20, 0.25), (1000, 0.9), (100_000, 0.5), (30, 1.0)], {
        "you count all masks; only those with exactly round(keep · n) ones are meant": lambda n, keep: n,
        "that is in nats; divide by the logarithm of 2": lambda n, keep: bits(n, keep) * math.log(2),
        "that is the number of weights that are kept, not of ways to choose them": lambda n, keep: round(keep * n),
        "the order in which weights are chosen plays no part: divide by k! as well":
            lambda n, keep: (math.lgamma(n + 1) - math.lgamma(n - round(keep * n) + 1)) / math.log(2),
        "that is the bits for each weight; multiply by n": lambda n, keep: bits(n, keep) / n,
    }, praise="the logarithm of a binomial coefficient: most at one half, nearly a bit per weight there")  # fmt: skip


@exercise("ex-pack-bits", "packed")
def packed_bits(written: Callable[[list[bool]], bytes]) -> str:
    """Exercise of chapter 9: `packed(mask)`, eight bits in a byte, the first in the lowest place."""
    generator = np.random.default_rng(0)
    masks = [(generator.random(n) < 0.5).tolist() for n in (8, 16, 3, 21)] + [[True, False, False]]

    def right(mask: list[bool]) -> bytes:
        return np.packbits(mask, bitorder="little").tobytes()

    return compare(written, right, [(mask,) for mask in masks], {
        "the first bit of a byte is its lowest, of value 1; yours is its highest, of value 128":
            lambda mask: np.packbits(mask, bitorder="big").tobytes(),
        "a set bit is a weight that is kept; yours are turned over":
            lambda mask: bytes(255 - byte for byte in right(mask)),
        "you spend a byte on each weight; eight of them share one": bytes,
        "the last byte may not be full, and is needed all the same": lambda mask: right(mask)[: len(mask) // 8],
    }, praise="eight choices in a byte, and the last byte filled up with zeros",
       otherwise=lambda found, expected, mask:
           f"for {[int(bit) for bit in mask]} it is {expected!r}, and you give {found!r}")  # fmt: skip


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
       read=lambda found, expected: found if isinstance(found, float) else number(found))  # fmt: skip


Point = tuple[float, float]

CLOUDS: tuple[list[Point], ...] = (
    [(30.0, 5.0), (28.0, 3.0), (25.0, 4.0), (16.0, 1.0)],
    [(30.0, 5.0), (31.0, 5.0), (20.0, 5.0)],
    [(30.0, 5.0), (30.0, 4.0), (30.0, 4.0)],
    [(10.0, 1.0)],
    [(1.0, 9.0), (2.0, 8.0), (3.0, 7.0)],
)


def _front(points: Sequence[Point]) -> list[int]:
    def beaten(i: int) -> bool:
        q, c = points[i]
        return any(p >= q and d <= c and (p > q or d < c) for p, d in points)

    return [i for i in range(len(points)) if not beaten(i)]


@exercise("ex-front", "on_the_front")
def on_the_front(written: Callable[[list[Point]], list[int]]) -> str:
    """Exercise of chapter 10: `on_the_front(points)`, the places of (quality, cost) pairs that nothing dominates."""

    def read(found: Any, expected: list[int]) -> list[int]:
        try:
            return sorted(int(i) for i in found)
        except (TypeError, ValueError):
            raise Mistake(f"return the places of the points, such as [0, 2], not {found!r}") from None

    return compare(written, _front, [(points,) for points in CLOUDS], {
        "you ask for one that is better in both: equal quality at a lower cost dominates as well":
            lambda points: [i for i, (q, c) in enumerate(points) if not any(p > q and d < c for p, d in points)],
        "you let a point be dominated by its equal, or by itself: one of the two has to be better":
            lambda points: [i for i, (q, c) in enumerate(points)
                            if not any(p >= q and d <= c for j, (p, d) in enumerate(points) if j != i)],
        "you take the larger cost for the better one": lambda points: _front([(q, -c) for q, c in points]),
        "quality comes first in each pair, then the cost": lambda points: _front([(c, q) for q, c in points]),
        "that is the best quality alone; what is cheaper may stand on the front too":
            lambda points: [i for i, (q, _) in enumerate(points) if q == max(p for p, _ in points)],
        "that is the best at each cost; one that is cheaper and better dominates too":
            lambda points: [i for i, (q, c) in enumerate(points) if q == max(p for p, d in points if d == c)],
    }, praise="what is on the front is what nobody gets for less", read=read,
       otherwise="of {points} the front is {expected}, not {found}")  # fmt: skip


RACES: tuple[list[list[float]], ...] = (
    [[30.0, 31.0], [29.0, 32.0]],
    [[28.0, 30.0, 32.0], [29.0], [31.0, 27.0]],
    [[20.0], [30.0, 31.0]],
    [[31.0, 33.0], [30.0, 32.0], [30.0, 32.0]],
)


@exercise("ex-draws", "front_share")
def front_share(written: Callable[[list[float], list[list[float]]], float]) -> str:
    """Exercise of chapter 10: `front_share(mine, rivals)`, the share of draws that no cheaper rival spoils."""

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    def loses(q: float, rival: Sequence[float]) -> float:
        return mean([p >= q for p in rival])

    def right(mine: list[float], rivals: list[list[float]]) -> float:
        return mean([all(q > p for p in others) for q, *others in itertools.product(mine, *rivals)])

    def paired(mine: list[float], rivals: list[list[float]]) -> float:
        draws = list(zip(mine, *rivals, strict=False))
        return mean([all(q > p for p in others) for q, *others in draws])

    return compare(written, right, [(mine, rivals) for mine, *rivals in RACES], {
        "you compare means: a draw takes one seed of each":
            lambda mine, rivals: float(all(mean(mine) > mean(rival) for rival in rivals)),
        "you draw your own seed anew for every rival: it is the same one that has to beat them all":
            lambda mine, rivals: math.prod(1 - mean([loses(q, rival) for q in mine]) for rival in rivals),
        "you pair the seeds by their number: seed 0 of one method has nothing to do with seed 0 of another": paired,
        "that is the share of draws in which some rival spoils it": lambda mine, rivals: 1 - right(mine, rivals),
        "you ask that it beats one of its rivals: it has to beat all of them":
            lambda mine, rivals: mean([1 - math.prod(loses(q, rival) for rival in rivals) for q in mine]),
    }, praise="one seed of each method, all draws alike: a product over rivals, a mean over one's seeds")  # fmt: skip


@exercise("ex-tasks", "tasks_to_pay")
def tasks_to_pay(written: Callable[[float, float, float], float]) -> str:
    """Exercise of chapter 10: `tasks_to_pay(body, own, alone)`, from how many tasks on a shared body is cheaper."""

    def right(body: float, own: float, alone: float) -> float:
        return math.floor(body / (alone - own)) + 1 if alone > own else math.inf

    cases = [
        *itertools.product((100.0, 10.0, 0.0), (1.0, 3.0), (6.0, 11.0)),
        (100.0, 5.0, 4.0),
        (100.0, 5.0, 5.0),
    ]
    return compare(written, right, cases, {
        "with exactly that many tasks the two cost the same: one more, and sharing is cheaper":
            lambda body, own, alone: max(1, math.ceil(body / (alone - own))) if alone > own else math.inf,
        "you leave out what each task has of its own":
            lambda body, own, alone: math.floor(body / alone) + 1 if alone > own else math.inf,
        "a number of tasks is whole": lambda body, own, alone: body / (alone - own) if alone > own else math.inf,
        "you pay for the body once a task; it is there once":
            lambda body, own, alone: 1 if body + own < alone else math.inf,
        "where a task's own part costs as much as a model of its own, sharing never pays: return math.inf":
            lambda body, own, alone: math.floor(body / (alone - own)) + 1 if alone != own else 0,
    }, praise="a body that is shared is paid for once, by all tasks together",
       read=lambda found, expected: found if isinstance(found, float) else number(found))  # fmt: skip
