"""Checks of the exercises of chapters 0 to 2: what is stored, random features, echo states."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reservoir_book.checks.verdict import Mistake, call, compare, exercise, number, refuse, same

KEPT: dict[str, tuple[Callable[[int], int], str]] = {
    "trained": (lambda n: 4 * n, "a float32 has four"),
    "seeded": (lambda n: 0, "the seed gives them back, so nothing of them is kept"),
    "masked": (lambda n: -(-n // 8), "one bit a weight is kept"),
    "pretrained": (lambda n: 0, "they are in another checkpoint, which is only named"),
}
"""Origin -> bytes of n weights, and why."""


@exercise("ex-bytes-kept", "bytes_kept")
def bytes_kept(written: Callable[[int, str], int]) -> str:
    """Exercise of chapter 0: `bytes_kept(n, origin)`, what a checkpoint stores for n float32 weights."""
    for n, (origin, (kept, why)) in itertools.product((1000, 13, 8, 0), KEPT.items()):
        found = number(call(written, n, origin))
        if found == kept(n):
            continue
        start = f"for {n} weights of origin {origin!r} you keep {found:g} bytes, not {kept(n)}"
        masked = origin == "masked"
        refuse({
            f"{start}: that is a byte a weight; a float32 has four": origin == "trained" and found == n,
            f"{start}: a mask is one bit a weight, and a byte has eight of them": masked and found == n > 1,
            f"{start}: the last bits need a byte too: round up": masked and found == n // 8,
            f"{start}: there are no parts of a byte: round up": masked and found == n / 8,
            f"{start}: the weights themselves come back from the seed; only the mask is kept":
                masked and found >= 4 * n,
            f"{start}: {why}": True,
        })  # fmt: skip
    return "a trained weight takes four bytes, a masked one a bit, a seeded or pretrained one nothing"


@exercise("ex-spread", "spread")
def spread(written: Callable[[Sequence[float]], tuple[float, float]]) -> str:
    """Exercise of chapter 0: `spread(values)`, the mean over seeds and the standard deviation of the sample."""

    def right(values: Sequence[float]) -> Tensor:
        return torch.tensor([statistics.mean(values), statistics.stdev(values)], dtype=torch.float64)

    def instead(of: Callable[[Sequence[float]], float]) -> Callable[[Sequence[float]], Tensor]:
        return lambda values: torch.tensor([statistics.mean(values), of(values)], dtype=torch.float64)

    def read(found: Any, expected: Tensor) -> Tensor:
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Mistake(f"return two numbers, the mean and the standard deviation, not {found!r}")
        return torch.tensor([*map(number, found)], dtype=torch.float64)

    def otherwise(found: Tensor, expected: Tensor, values: Sequence[float]) -> str:
        wrong = int(same(found[0], expected[0]))  # which of the two, the mean first
        what = ("mean", "standard deviation")[wrong]
        return f"the {what} of {values} is {expected[wrong]:.4g}, not {found[wrong]:.4g}"

    return compare(written, right, [([30.0, 31.0, 32.0],), ([1.0, 4.0, 4.0, 9.0],), ([2.0, 2.0],)], {
        "you return the two the other way round: the mean comes first": lambda values: right(values).flip(0),
        "you divide by n; a sample's squares are divided by n - 1, or few seeds look too alike":
            instead(statistics.pstdev),
        "that is the variance; take its root": instead(statistics.variance),
        "that is the error of the mean; the spread of seeds is not divided by √n":
            instead(lambda values: statistics.stdev(values) / math.sqrt(len(values))),
        "that is the distance from the lowest to the highest": instead(lambda values: max(values) - min(values)),
    }, praise="a mean, and how far a single seed typically lies from it", read=read, otherwise=otherwise)  # fmt: skip


@exercise("ex-cover", "dichotomies")
def dichotomies(written: Callable[[int, int], int]) -> str:
    """Exercise of chapter 1: `dichotomies(n, d)`, Cover's count of separable labellings."""

    def count(n: int, d: int, *, first: int = 0, points: int = -1, factor: int = 2) -> int:
        return factor * sum(math.comb(n + points, k) for k in range(first, d))

    return compare(written, lambda n, d: count(n, d), [(4, 3), (10, 3), (12, 6), (7, 20), (40, 20)], {
        "the factor 2 is missing: each separable labelling can be turned over": lambda n, d: count(n, d, factor=1),
        "you sum from k = 1; the first term is k = 0": lambda n, d: count(n, d, first=1),
        "you take n points in the binomials; the formula has n - 1": lambda n, d: count(n, d, points=0),
        "you sum one term too many: k ends at d - 1, since k begins at zero": lambda n, d: count(n, d + 1),
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

    size = math.sqrt(2 / 6)
    return compare(written, waves(size), [(x, w, b)], {
        "√(2/D) is missing, so the products grow with the number of features": waves(1),
        "the 2 under the root is missing: a random wave has the mean square 1/2": waves(1 / math.sqrt(6)),
        "you divide by √d, the size of an input; D is the number of features": waves(math.sqrt(2 / 3)),
        "you multiply by 2/D; it is the root of that": waves(2 / 6),
        "the phase b is missing": waves(size, phase=0),
        "the phase b is taken away; it would serve as well, but the equation adds it": waves(size, phase=-1),
        "you take the sine; the equation has the cosine": waves(size, wave=torch.sin),
    }, praise="their products are the kernel on average, and the closer the more there are",
       otherwise=lambda found, expected, *_:
           f"your features are up to {(found - expected).abs().max():.2g} off; compare with the equation")  # fmt: skip


def _noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@exercise("ex-scale-radius", "scaled")
def scaled_to_radius(written: Callable[[Tensor, float], Tensor]) -> str:
    """Exercise of chapter 2: `scaled(W, radius)`, W with another spectral radius."""

    def rho(W: Tensor) -> Tensor:
        return torch.linalg.eigvals(W).abs().max()

    def otherwise(found: Tensor, expected: Tensor, W: Tensor, radius: float) -> str:
        got = rho(found).item() if found.isfinite().all() else float("nan")
        return f"for a radius of {radius} your matrix has the spectral radius {got:.3f}"

    cases = [(_noise(30, 30, seed=30), 0.9), (_noise(12, 12, seed=12), 1.3)]
    return compare(written, lambda W, radius: W * (radius / rho(W)), cases, {
        "you scale by the largest singular value, which says how far one step can stretch a vector; the spectral"
        " radius is the largest absolute eigenvalue": lambda W, radius: W * (radius / torch.linalg.matrix_norm(W, 2)),
        "you multiply by the radius and forget to divide by the one that W has": lambda W, radius: W * radius,
        "you give W the spectral radius 1; multiply by the one that was asked for": lambda W, radius: W / rho(W),
        "you divide by the radius that was asked for; it multiplies": lambda W, radius: W / (rho(W) * radius),
        "you take the largest real part of an eigenvalue; it is the absolute value that counts, since complex"
        " eigenvalues turn and stretch": lambda W, radius: W * (radius / torch.linalg.eigvals(W).real.max()),
    }, praise="one division scales every eigenvalue by the same factor", otherwise=otherwise)  # fmt: skip


@exercise("ex-leak-side", "update")
def leaky_update(written: Callable[..., Tensor]) -> str:
    """Exercise of chapter 2: `update(x, u, W, W_in, b, a)`, the next state of a leaky reservoir."""

    def drawn(n: int, inputs: int, a: float) -> tuple:
        return *(_noise(*s, seed=i) for i, s in enumerate([(n,), (inputs,), (n, n), (n, inputs), (n,)])), a

    def update(
        kept=lambda a: 1 - a, new=lambda a: a, drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + W_in @ u + b)
    ):
        return lambda x, u, W, W_in, b, a: kept(a) * x + new(a) * drive(x, u, W, W_in, b)

    right = update()
    return compare(written, right, [drawn(6, 2, 0.3), drawn(4, 4, 0.8)], {
        "your leak is on the wrong side: a is the share that is new, and 1 - a what is kept":
            update(kept=lambda a: a, new=lambda a: 1 - a),
        "you leave the leak out: a share 1 - a of the old state is kept": update(lambda a: 0, lambda a: 1),
        "you put the leak inside the tanh; here it stands outside":
            lambda x, u, W, W_in, b, a: torch.tanh((1 - a) * x + a * (W @ x + W_in @ u + b)),
        "you keep the whole old state; only the share 1 - a of it stays": update(kept=lambda a: 1),
        "the tanh is missing": update(drive=lambda x, u, W, W_in, b: W @ x + W_in @ u + b),
        "the bias b is missing": update(drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + W_in @ u)),
        "the input is missing": update(drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + b)),
        "you multiply by W from the wrong side: it is W @ x":
            update(drive=lambda x, u, W, W_in, b: torch.tanh(x @ W + W_in @ u + b)),
        "the bias stands outside the tanh": update(drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + W_in @ u) + b),
    }, praise="a share a of the state is new, the rest is the old state", otherwise=lambda found, expected, *case:
           f"for a = {case[-1]} your state is off by up to {(found - expected).abs().max():.3f}; compare it term by"
           " term with the equation")  # fmt: skip


@exercise("ex-washout", "pairs")
def readout_pairs(written: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> str:
    """Exercise of chapter 2: `pairs(states, series, washout)`, what a one-step readout is fitted to."""
    for time, washout in ((12, 4), (9, 0)):
        # State t holds t and target t holds 100 + t, so that what was taken can be read off.
        states = torch.arange(float(time))[:, None].repeat(1, 3)
        series = 100 + torch.arange(float(time))[:, None]
        answer = call(written, states.clone(), series.clone(), washout)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise Mistake("return two things: the states and their targets")
        found, targets = answer
        if not all(isinstance(part, Tensor) and part.ndim == 2 for part in answer):
            raise Mistake(
                "both parts should be tensors of two dimensions, (samples, units) and (samples, features)"
            )
        refuse({
            f"you return {len(found)} states and {len(targets)} targets; each state needs one":
                len(found) != len(targets),
            "nothing is left to fit": not len(found),
        })  # fmt: skip
        first, asked = int(found[0, 0]), time - 1 - washout
        ahead = targets[:, 0] - 100 - found[:, 0]
        refuse({
            "your targets are the present, which the state has just seen; shift them by one step": (ahead == 0).all(),
            "your targets are the past: state t should say what comes at t + 1": (ahead == -1).all(),
            f"state {first} gets the target {int(targets[0, 0] - 100)}; it should be the next": (ahead != 1).any(),
            f"the washout is forgotten: the first {washout} states still depend on the start": washout and first == 0,
            f"with a washout of {washout} the first state should be number {washout}, not {first}": first != washout,
            f"you use {len(found)} states; {asked} of them have a next input": len(found) != asked,
        })  # fmt: skip
    return "each state is fitted to what comes after it, and the start is left out"
