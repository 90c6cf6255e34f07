"""Checks of chapter 10's exercises."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from reservoir_book.checks.verdict import Mistake, compare, exercise, number

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
        "you ask that it beats every seed of every rival: a draw has one seed of each":
            lambda mine, rivals: mean([all(q > max(rival) for rival in rivals) for q in mine]),
        "you ask that it beats some seed of every rival: a draw has one seed of each":
            lambda mine, rivals: mean([all(q > min(rival) for rival in rivals) for q in mine]),
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
       read=lambda found, expected: found if found == math.inf else number(found))  # fmt: skip
