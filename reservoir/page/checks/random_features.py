"""Checks of chapter 1's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from reservoir.page.checks.verdict import Mistake, call, exercise


def _number(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise Mistake(f"return a number, not {found!r}")
    return found


def _named(found: list[float], mistakes: dict[str, list[float]]) -> None:
    """Raise the mistake whose answers are the ones that were found."""
    for name, answers in mistakes.items():
        if all(math.isclose(one, other, rel_tol=1e-9) for one, other in zip(found, answers, strict=True)):
            raise Mistake(name)


@exercise("ex-cover", "dichotomies")
def dichotomies(written: Callable[[int, int], int]) -> str:
    """Exercise of chapter 1: `dichotomies(n, d)`, Cover's count of separable labellings."""
    cases = [(4, 3), (10, 3), (12, 6), (7, 20), (40, 20)]

    def count(n: int, d: int, *, first: int = 0, points: int = -1, factor: int = 2) -> int:
        return factor * sum(math.comb(n + points, k) for k in range(first, d))

    found = [_number(call(written, n, d)) for n, d in cases]
    right = [count(n, d) for n, d in cases]
    if found == right:
        return "Pascal's triangle, summed: all labellings up to n = d, and half of them at n = 2d"
    mistakes = {
        "the factor 2 is missing: each separable labelling can be turned over": {"factor": 1},
        "you sum from k = 1; the first term is k = 0": {"first": 1},
        "you take n points in the binomials; the formula has n - 1": {"points": 0},
    }
    named = {name: [count(n, d, **change) for n, d in cases] for name, change in mistakes.items()}
    named["you sum one term too many: k ends at d - 1, since d counts from one"] = [
        count(n, d + 1) for n, d in cases
    ]
    named["your sum ends one term early: k goes up to d - 1, that is range(d)"] = [
        count(n, d - 1) for n, d in cases
    ]
    named["that is the chance; the exercise asks for the number, so do not divide by 2 to the n"] = [
        count(n, d) / 2**n for n, d in cases
    ]
    named["that is all labellings, 2 to the n; not all of them can be separated"] = [2.0**n for n, _ in cases]
    _named(found, named)
    (n, d), one, other = next((case, a, b) for case, a, b in zip(cases, found, right, strict=True) if a != b)
    raise Mistake(f"for n={n}, d={d} you count {one:,}, and it is {other:,}")


@exercise("ex-enough", "enough")
def enough_dimensions(written: Callable[[int, float], int]) -> str:
    """Exercise of chapter 1: `enough(n, epsilon)`, the least k of the Johnson-Lindenstrauss bound."""
    cases = [(300, 0.2), (1000, 0.1), (10, 0.5), (10**9, 0.3)]

    def bound(n: float, e: float, *, four: float = 4, log=math.log, cubic: float = 1 / 3) -> float:
        return four * log(n) / (e**2 / 2 - cubic * e**3)

    found = [_number(call(written, n, e)) for n, e in cases]
    right = [math.ceil(bound(n, e)) for n, e in cases]
    if found == right:
        return "the number of points enters through its logarithm, and the error nearly through its square"
    changes = {
        "you round down: k must be at least the bound, so round up": lambda n, e: math.floor(bound(n, e)),
        "round up: k is a whole number of dimensions": bound,
        "you take the logarithm to base 10; the bound has the natural one": lambda n, e: math.ceil(
            bound(n, e, log=math.log10)
        ),
        "you take the logarithm to base 2; the bound has the natural one": lambda n, e: math.ceil(
            bound(n, e, log=math.log2)
        ),
        "the factor 4 is missing": lambda n, e: math.ceil(bound(n, e, four=1)),
        "the term ε³/3 is missing": lambda n, e: math.ceil(bound(n, e, cubic=0)),
        "the sign of ε³/3 is wrong: it is taken away": lambda n, e: math.ceil(bound(n, e, cubic=-1 / 3)),
        "you take the number of pairs for n; the bound takes the number of points": lambda n, e: math.ceil(
            bound(n * (n - 1) / 2, e)
        ),
    }
    _named(found, {name: [change(n, e) for n, e in cases] for name, change in changes.items()})
    (n, e), one, other = next((case, a, b) for case, a, b in zip(cases, found, right, strict=True) if a != b)
    raise Mistake(f"for n={n:,}, epsilon={e} you answer {one:,}, and it is {other:,}")


@exercise("ex-sinks", "sinks")
def kitchen_sinks(written: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of chapter 1: `sinks(x, w, b)`, the random Fourier features of the rows of x."""
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(4, 3, generator=generator), torch.randn(6, 3, generator=generator)
    b = 3 * torch.rand(6, generator=generator)
    found = call(written, x, w, b)
    if not isinstance(found, Tensor):
        raise Mistake(f"return a tensor, not a {type(found).__name__}")
    waves = x @ w.T + b  # (n, D)
    right = math.sqrt(2 / 6) * torch.cos(waves)
    if found.shape != right.shape:
        if found.shape == right.T.shape:
            raise Mistake("your features are turned over: a row for each input, a column for each feature")
        raise Mistake(f"for 4 inputs and 6 features the shape is (4, 6), not {tuple(found.shape)}")
    if torch.allclose(found, right, atol=1e-5):
        return "their products are the kernel on average, and the closer the more there are"
    mistakes = {
        "√(2/D) is missing, so the products grow with the number of features": torch.cos(waves),
        "the 2 under the root is missing: a random wave has the mean square 1/2": torch.cos(waves) / math.sqrt(6),
        "you divide by √d, the size of an input; D is the number of features": math.sqrt(2 / 3) * torch.cos(waves),
        "you multiply by 2/D; it is the root of that": 2 / 6 * torch.cos(waves),
        "the phase b is missing": math.sqrt(2 / 6) * torch.cos(x @ w.T),
        "the phase b is taken away; it would serve as well, but the equation adds it":
            math.sqrt(2 / 6) * torch.cos(x @ w.T - b),
        "you take the sine; the equation has the cosine": math.sqrt(2 / 6) * torch.sin(waves),
    }  # fmt: skip
    for name, slip in mistakes.items():
        if torch.allclose(found, slip, atol=1e-5):
            raise Mistake(name)
    raise Mistake(f"your features are up to {(found - right).abs().max():.2g} off; compare with the equation")
