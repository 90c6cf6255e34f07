"""The judge of the bench, on one page: is one row of runs better than another, and may a sentence say so?

1. A verdict needs `FEWEST` independent runs on each side. Fewer get a picture and no verdict.
2. Each task names what is judged before anything is run: the mean score, or the share of runs that learned.
   Near a transition a run either learns or does not, and then a mean describes no run.
3. Means are compared by a permutation test of Welch's statistic (Janssen 1997): if the labels meant nothing, how often
   would shuffling them set the rows as far apart, measured in their own scatter? Rows may scatter unequally. Shares are
   compared by Fisher's exact test, costs by their ranks, where a run that never arrived comes last.
4. A claim says that the difference is above a number: 0 for "better", minus a margin for "as good as". It *holds* or
   *does not hold* if a test at `LEVEL` says so, and is *undecided* otherwise. "As good as" also needs a reference that
   could have been worse and better: it lies between twice chance and `CEILING`.
5. Several claims of one source share the level (Holm 1979).

Nothing here knows what a record, a recipe or a task is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy import stats

FEWEST = 10
"""Independent runs on each side, pretraining included."""
LEVEL = 0.01
"""Of a two-sided test; intervals cover 99 %."""
RESAMPLES = 39_999
"""Shuffles of a permutation test: enough that a hundred claims can share `LEVEL`."""
CEILING = 99.0
"""Percent: two rows above it cannot be told apart by their scores."""

Outcome = Literal["holds", "does not hold", "undecided"]
Measure = Literal["mean", "share"]


@dataclass(frozen=True)
class Difference:
    """How far apart two rows are: `a` minus `b`.

    Args:
        a, b: the judged figure of each, a mean or a share.
        above, below: one-sided p: how surprising the runs are if `a - b` is the asked number, towards either side.
        runs: how many there are of each.
    """

    a: float
    b: float
    above: float
    below: float
    runs: tuple[int, int]

    @property
    def p(self) -> float:
        """Two-sided."""
        return min(1.0, 2 * min(self.above, self.below))


def compare(
    a: Sequence[float], b: Sequence[float], *, measure: Measure = "mean", than: float = 0.0
) -> Difference:
    """Compare two rows of scores, one a run; where shares are judged, 1 for a run that learned and 0 for another.

    Args:
        a, b: the rows.
        measure: what is compared.
        than: the difference that is asked about; shares are asked only whether they differ.

    Raises:
        ValueError: a score is no finite number, a row is empty, or a share is neither 0 nor 1.
    """
    for name, row in (("a", a), ("b", b)):
        if not len(row) or not all(math.isfinite(value) for value in row):
            raise ValueError(f"{name} must be finite numbers, at least one, got {list(row)[:5]}")
        if measure == "share" and not set(row) <= {0, 1}:
            raise ValueError(
                f"{name} must be 0 or 1 for each run where shares are judged, got {list(row)[:5]}"
            )
    n, m = len(a), len(b)
    if measure == "mean":
        x, y = np.asarray(a, float), np.asarray(b, float)
        return Difference(float(x.mean()), float(y.mean()), *_shuffled(x - than, y), (n, m))
    if than:
        raise ValueError(f"shares are asked only whether they differ, got than={than}")
    yes, other = int(sum(a)), int(sum(b))
    table = [[yes, n - yes], [other, m - other]]
    above, below = (float(stats.fisher_exact(table, side).pvalue) for side in ("greater", "less"))
    return Difference(yes / n, other / m, above, below, (n, m))


def interval(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """The differences of two means, `a` minus `b`, that the test would not reject: it covers with 1 - `LEVEL`."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    gap = float(x.mean() - y.mean())
    reach = 4 * (np.ptp(np.concatenate([x - gap, y])) or abs(gap) or 1.0)
    low = _edge(lambda asked: 2 * _shuffled(x - asked, y)[0] < LEVEL, gap, gap - reach)
    high = _edge(lambda asked: 2 * _shuffled(x - asked, y)[1] < LEVEL, gap, gap + reach)
    return low, high


def _edge(rejected: Callable[[float], bool], near: float, far: float) -> float:
    """The point between `near`, which is not rejected, and `far` at which rejection begins; infinite if nowhere."""
    if not rejected(far):
        return math.copysign(math.inf, far - near)
    for _ in range(20):
        middle = (near + far) / 2
        near, far = (near, middle) if rejected(middle) else (middle, far)
    return far


@cache
def _labels(n: int, m: int) -> np.ndarray:
    """Who is in the first row, (shuffles, n + m) of 0 and 1; the same for all rows of these sizes."""
    ranks = np.random.default_rng(0).random((RESAMPLES, n + m)).argsort(1)
    return (ranks < n).astype(float)


def _shuffled(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """One-sided p for a mean of `x` above and below that of `y`, by shuffles of Welch's statistic."""
    n, m = len(x), len(y)
    pooled = np.concatenate([x, y])
    pooled = pooled - pooled.mean()
    scale = np.abs(pooled).max()
    if scale == 0:  # all runs are alike
        return 1.0, 1.0
    pooled /= scale
    labels = np.vstack([np.r_[np.ones(n), np.zeros(m)], _labels(n, m)])
    first, squares = labels @ pooled, labels @ pooled**2
    second, rest = pooled.sum() - first, (pooled**2).sum() - squares
    spread = (squares - first**2 / n) / (n * (n - 1)) + (rest - second**2 / m) / (m * (m - 1))
    # Rows without scatter are infinitely far apart, or not at all; rounding must not decide which.
    statistic = (first / n - second / m) / np.sqrt(np.maximum(spread, 1e-12))
    seen, shuffles = statistic[0], statistic[1:]
    slack = 1e-9 * max(1.0, abs(seen))
    above, below = (shuffles >= seen - slack).sum(), (shuffles <= seen + slack).sum()
    return float(1 + above) / (1 + RESAMPLES), float(1 + below) / (1 + RESAMPLES)


def cheaper(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Compare costs to a level by rank; a run that never reached it costs infinity. Above 0: `a` costs more.

    The figure of a row is the share of pairs, one run of each row, in which it costs more; half of it where they tie.
    """
    n, m = len(a), len(b)
    if not n or not m or any(math.isnan(cost) for cost in (*a, *b)):
        raise ValueError("costs must be numbers or infinity, at least one on each side")
    ranks = stats.rankdata([*a, *b])
    sums = _labels(n, m) @ ranks
    seen = ranks[:n].sum()
    above, below = (
        float(1 + more.sum()) / (1 + RESAMPLES) for more in (sums >= seen - 0.25, sums <= seen + 0.25)
    )
    share = float(np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b]))
    return Difference(share, 1 - share, above, below, (n, m))


def rule(found: Difference) -> Outcome:
    """What may be said: the difference is above the number that was asked about, is not, or neither."""
    if min(found.runs) < FEWEST or found.p >= LEVEL:
        return "undecided"
    return "holds" if found.above < found.below else "does not hold"


def alike(a: Sequence[float], b: Sequence[float], *, within: float, chance: float) -> Outcome:
    """Whether two rows of scores in percent are as good as each other: the difference is smaller than `within`.

    Args:
        a, b: the rows; b is the reference.
        within: the margin, in points.
        chance: the score of who guesses, in percent.
    """
    over, under = compare(a, b, than=-within), compare(a, b, than=within)
    if min(over.runs) < FEWEST or not 2 * chance <= over.b <= CEILING:
        return "undecided"
    if 2 * over.above < LEVEL and 2 * under.below < LEVEL:
        return "holds"
    return "does not hold" if 2 * min(over.below, under.above) < LEVEL else "undecided"


def holm(ps: Sequence[float]) -> list[float]:
    """P-values of several claims, made larger so that the chance of any false one is what each alone would have."""
    adjusted, so_far = [1.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        so_far = max(so_far, min(1.0, (len(ps) - rank) * ps[at]))
        adjusted[at] = so_far
    return adjusted
