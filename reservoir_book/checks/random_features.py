"""Checks of chapter 1's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from reservoir_book.checks.verdict import Mistake, compare, exercise, tensor


@exercise("ex-cover", "dichotomies")
def dichotomies(written: Callable[[int, int], int]) -> str:
    """Exercise of chapter 1: `dichotomies(n, d)`, Cover's count of separable labellings."""

    def count(n: int, d: int, *, first: int = 0, points: int = -1, factor: int = 2) -> int:
        return factor * sum(math.comb(n + points, k) for k in range(first, d))

    return compare(written, lambda n, d: count(n, d), [(4, 3), (10, 3), (12, 6), (7, 20), (40, 20)], {
        "the factor 2 is missing: each separable labelling can be turned over": lambda n, d: count(n, d, factor=1),
        "you sum from k = 1; the first term is k = 0": lambda n, d: count(n, d, first=1),
        "you take n points in the binomials; the formula has n - 1": lambda n, d: count(n, d, points=0),
        "you sum one term too many: k ends at d - 1, since d counts from one": lambda n, d: count(n, d + 1),
        "your sum ends one term early: k goes up to d - 1, that is range(d)": lambda n, d: count(n, d - 1),
        "that is the chance; the exercise asks for the number, so do not divide by 2 to the n":
            lambda n, d: count(n, d) / 2**n,
        "that is all labellings, 2 to the n; not all of them can be separated": lambda n, d: 2**n,
    }, praise="Pascal's triangle, summed: all labellings up to n = d, and half of them at n = 2d")  # fmt: skip


@exercise("ex-enough", "enough")
def enough_dimensions(written: Callable[[int, float], int]) -> str:
    """Exercise of chapter 1: `enough(n, epsilon)`, the least k of the Johnson-Lindenstrauss bound."""

    def bound(n: float, e: float, *, four: float = 4, log=math.log, cubic: float = 1 / 3) -> float:
        return four * log(n) / (e**2 / 2 - cubic * e**3)

    def rounded(**change) -> Callable[[float, float], int]:
        return lambda n, e: math.ceil(bound(n, e, **change))

    cases = [(300, 0.2), (1000, 0.1), (10, 0.5), (10**9, 0.3)]
    return compare(written, lambda n, epsilon: math.ceil(bound(n, epsilon)), cases, {
        "you round down: k must be at least the bound, so round up": lambda n, e: math.floor(bound(n, e)),
        "round up: k is a whole number of dimensions": bound,
        "you take the logarithm to base 10; the bound has the natural one": rounded(log=math.log10),
        "you take the logarithm to base 2; the bound has the natural one": rounded(log=math.log2),
        "the factor 4 is missing": rounded(four=1),
        "the term ε³/3 is missing": rounded(cubic=0),
        "the sign of ε³/3 is wrong: it is taken away": rounded(cubic=-1 / 3),
        "you take the number of pairs for n; the bound takes the number of points":
            lambda n, e: math.ceil(bound(n * (n - 1) / 2, e)),
    }, praise="the number of points enters through its logarithm, and the error nearly through its square")  # fmt: skip


@exercise("ex-sinks", "sinks")
def kitchen_sinks(written: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of chapter 1: `sinks(x, w, b)`, the random Fourier features of the rows of x."""
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(4, 3, generator=generator), torch.randn(6, 3, generator=generator)
    b = 3 * torch.rand(6, generator=generator)

    def waves(size: float, *, wave=torch.cos, phase: float = 1) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        return lambda x, w, b: size * wave(x @ w.T + phase * b)  # (n, D)

    def read(found: object, expected: Tensor) -> Tensor:
        if isinstance(found, Tensor) and found.shape == expected.T.shape:
            raise Mistake("your features are turned over: a row for each input, a column for each feature")
        if isinstance(found, Tensor) and found.shape != expected.shape:
            raise Mistake(f"for 4 inputs and 6 features the shape is (4, 6), not {tuple(found.shape)}")
        return tensor(found, expected)

    size = math.sqrt(2 / 6)
    return compare(written, waves(size), [(x, w, b)], {
        "√(2/D) is missing, so the products grow with the number of features": waves(1),
        "the 2 under the root is missing: a random wave has the mean square 1/2": waves(1 / math.sqrt(6)),
        "you divide by √d, the size of an input; D is the number of features": waves(math.sqrt(2 / 3)),
        "you multiply by 2/D; it is the root of that": waves(2 / 6),
        "the phase b is missing": waves(size, phase=0),
        "the phase b is taken away; it would serve as well, but the equation adds it": waves(size, phase=-1),
        "you take the sine; the equation has the cosine": waves(size, wave=torch.sin),
    }, praise="their products are the kernel on average, and the closer the more there are", read=read,
       otherwise=lambda found, expected, *_:
           f"your features are up to {(found - expected).abs().max():.2g} off; compare with the equation")  # fmt: skip
