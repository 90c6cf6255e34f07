"""Checks of chapter 5's exercises: each likely mistake is refused by its name, and the solution is taken."""

import pytest

from reservoir.training import aucc
from reservoir.weights import placement
from reservoir_book import checks

PLACES = {
    "should be a text": lambda n, r: ["L"] * n,
    "it should have 7": lambda n, r: "LR" * r + "L",
    "reservoirs, 'LLLLLLL'": lambda n, r: "L" * n,
    "side by side": lambda n, r: "R" * r + "L" * (n - r),
    "upside down": lambda n, r: placement(n, r)[::-1],
    "not in the middle": lambda n, r: placement(n, r).strip("L").ljust(n, "L"),
    "one L between": lambda n, r: ("RLL" * n)[:n] if (n, r) == (7, 3) else placement(n, r),
}


@pytest.mark.parametrize("named", PLACES)
def test_wrong_places_are_named(named):
    verdict = checks.places(PLACES[named])
    assert not verdict.passed and named in verdict.message


def trapezoids(t, s):
    return sum((t[i + 1] - t[i]) * (s[i] + s[i + 1]) / 2 for i in range(len(t) - 1))


def uncut(t, s, horizon):
    end = max(horizon, t[-1])
    return trapezoids([0, *t, end], [0, *s, s[-1]]) / horizon


AREAS = {
    "divide by T̂": lambda t, s, h: aucc(t, s, horizon=h, floor=0.0).value * h,
    "not at its first point": lambda t, s, h: aucc(t, s, horizon=h).value,
    "until T̂": lambda t, s, h: trapezoids([0, *t], [0, *s]) / h,
    "mean of the scores": lambda t, s, h: sum(s) / len(s),
    "beyond T̂": uncut,
    "between the points alone: the curve begins": lambda t, s, h: trapezoids(t, s) / h,
    "divided by their span": lambda t, s, h: trapezoids(t, s) / (t[-1] - t[0]),
    "alone, not divided": lambda t, s, h: trapezoids(t, s),
    "neither end the curve": lambda t, s, h: trapezoids([0, *t], [0, *s]),
    "whatever its last point is": lambda t, s, h: trapezoids([0, *t], [0, *s]) / t[-1],
    "and you give 1": lambda t, s, h: 1,
    "return a number": lambda t, s, h: "much",
}  # fmt: skip


@pytest.mark.parametrize("named", AREAS)
def test_a_wrong_area_is_named(named):
    verdict = checks.area_under_curve(AREAS[named])
    assert not verdict.passed and named in verdict.message


NEEDED = {
    "pass through": lambda stack, moves: [letter == "L" for letter in stack],
    "under which nothing moves": lambda stack, moves: [True] * len(stack),
    "all the way down": lambda stack, moves: ["L" in stack[: i + 1] for i in range(len(stack))],
    "what lies above": lambda stack, moves: [moves or "L" in stack[i:] for i in range(len(stack))],
    "for itself": lambda stack, moves: [moves or "L" in stack[:i] for i in range(len(stack))],
    "and you give": lambda stack, moves: [False] * len(stack),
    "list of 4": lambda stack, moves: True,
}


@pytest.mark.parametrize("named", NEEDED)
def test_a_wrong_list_of_gradients_is_named(named):
    verdict = checks.gradients_needed(NEEDED[named])
    assert not verdict.passed and named in verdict.message


def test_the_solutions_are_taken():
    def area(times, scores, horizon):
        t, s = [0.0, *times], [0.0, *scores]
        total = 0.0
        for t0, t1, s0, s1 in zip(t, t[1:], s, s[1:], strict=False):
            if t0 >= horizon:
                break
            if t1 > horizon:
                t1, s1 = horizon, s0 + (s1 - s0) * (horizon - t0) / (t1 - t0)
            total += (t1 - t0) * (s0 + s1) / 2
        return (total + max(0.0, horizon - t[-1]) * s[-1]) / horizon

    assert checks.area_under_curve(area).passed
    assert checks.places(placement).passed
    assert checks.gradients_needed(
        lambda stack, moves: [moves or "L" in stack[: i + 1] for i in range(len(stack))]
    ).passed
