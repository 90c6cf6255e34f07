"""Checks of chapter 10's exercises: each likely mistake is refused by its name, and the solution is taken."""

import math

import pytest

from reservoir_book import checks


def solution(points):
    def beaten(q, c):
        return any(p >= q and d <= c and (p > q or d < c) for p, d in points)

    return [i for i, (q, c) in enumerate(points) if not beaten(q, c)]


FRONTS = {
    "better in both": lambda points: [
        i for i, (q, c) in enumerate(points) if not any(p > q and d < c for p, d in points)
    ],
    "dominated by its equal": lambda points: [
        i
        for i, (q, c) in enumerate(points)
        if not any(p >= q and d <= c for j, (p, d) in enumerate(points) if j != i)
    ],
    "the larger cost": lambda points: solution([(q, -c) for q, c in points]),
    "quality comes first": lambda points: solution([(c, q) for q, c in points]),
    "the best quality alone": lambda points: [i for i, (q, _) in enumerate(points) if q == max(points)[0]],
    "the best at each cost": lambda points: [
        i for i, (q, c) in enumerate(points) if q == max(p for p, d in points if d == c)
    ],
    "return the places": lambda points: 3,
    "the front is": lambda points: [0],
}


@pytest.mark.parametrize("named", FRONTS)
def test_a_wrong_front_is_named(named):
    verdict = checks.on_the_front(FRONTS[named])
    assert not verdict.passed and named in verdict.message, verdict


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def share(mine, rivals):
    return mean(math.prod(mean(q > p for p in rival) for rival in rivals) for q in mine)


SHARES = {
    "you compare means": lambda mine, rivals: float(all(mean(mine) > mean(rival) for rival in rivals)),
    "your own seed anew": lambda mine, rivals: math.prod(
        mean(mean(q > p for p in rival) for q in mine) for rival in rivals
    ),
    "by their number": lambda mine, rivals: mean(
        all(q > p for p in others) for q, *others in zip(mine, *rivals, strict=False)
    ),
    "some rival spoils it": lambda mine, rivals: 1 - share(mine, rivals),
    "every seed of every rival": lambda mine, rivals: mean(
        all(q > max(rival) for rival in rivals) for q in mine
    ),
    "some seed of every rival": lambda mine, rivals: mean(
        all(q > min(rival) for rival in rivals) for q in mine
    ),
    "one of its rivals": lambda mine, rivals: mean(
        1 - math.prod(1 - mean(q > p for p in rival) for rival in rivals) for q in mine
    ),
    "return a number": lambda mine, rivals: True,
    "and you give 0.4": lambda mine, rivals: 0.4,
}


@pytest.mark.parametrize("named", SHARES)
def test_a_wrong_share_is_named(named):
    verdict = checks.front_share(SHARES[named])
    assert not verdict.passed and named in verdict.message, verdict


def tasks(body, own, alone):
    return math.floor(body / (alone - own)) + 1 if alone > own else math.inf


TASKS = {
    "one more": lambda body, own, alone: max(1, math.ceil(body / (alone - own))) if alone > own else math.inf,
    "of its own": lambda body, own, alone: math.floor(body / alone) + 1 if alone > own else math.inf,
    "is whole": lambda body, own, alone: body / (alone - own) if alone > own else math.inf,
    "it is there once": lambda body, own, alone: 1 if body + own < alone else math.inf,
    "never pays": lambda body, own, alone: math.floor(body / (alone - own)) + 1 if alone != own else 0,
    "return a number": lambda body, own, alone: "two",
    "and you give 7": lambda body, own, alone: 7,
}


@pytest.mark.parametrize("named", TASKS)
def test_a_wrong_number_of_tasks_is_named(named):
    verdict = checks.tasks_to_pay(TASKS[named])
    assert not verdict.passed and named in verdict.message, verdict


def test_the_solutions_are_taken():
    assert checks.on_the_front(solution).passed
    assert checks.front_share(share).passed
    assert checks.tasks_to_pay(tasks).passed
