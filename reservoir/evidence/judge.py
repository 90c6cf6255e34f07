"""The test that decides a claim: differences of means over seeds, with a variance that borrows from similar rows.

A row of a table has three seeds or so, too few to say how much they scatter. The rows of one task and scale scatter
alike, though not equally, so each row's variance is moderated: drawn towards what is usual among them, by as much as
they agree (Smyth 2004, "Linear models and empirical Bayes methods"). A row that scatters more than its neighbours, or
one of whose runs failed, would be judged too boldly by that alone; so a difference counts only if Welch's test, which
borrows nothing, agrees. `reservoir.evidence.calibration` measures how often the two are wrong together.

Nothing here knows what a record or a recipe is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

Outcome = Literal["holds here", "does not hold here", "cannot tell"]
Relation = Literal["above", "within"]

# One-sided levels. A 95 % interval leaves out 0.025 on a side, and 0.05 is usual for each half of an equivalence test;
# three seeds of rows that scatter unequally err more often than such tests say, and at these levels within 5 %.
LEVEL = 0.02
EQUIVALENT = 0.04
POWER = 0.8  # with which the smallest difference that could have been shown would have been
FEWEST = 3  # independent runs on each side


@dataclass(frozen=True)
class Spread:
    """What is usual among the variances of a task's rows: a scaled inverse chi-squared prior.

    Args:
        variance: s₀², the usual variance between seeds.
        df: d₀, the degrees of freedom it is worth: infinite where all rows scatter alike, 0 where nothing is known.
    """

    variance: float = 0.0
    df: float = 0.0

    @classmethod
    def of(cls, rows: Iterable[Sequence[float]]) -> Spread:
        """The spread of rows, one sequence of scores over seeds each; rows with one seed say nothing.

        Method of moments on the logarithms of the variances (Smyth 2004, §6.2).
        """
        found = [(len(row) - 1, float(np.var(row, ddof=1))) for row in rows if len(row) > 1]
        if len(found) < 3 or all(variance == 0 for _, variance in found):
            return cls()
        df, variance = (np.array(column, dtype=float) for column in zip(*found, strict=True))
        # Seeds that agree to the last digit, as accuracies on few examples can: their logarithm would rule the rest.
        variance = np.maximum(variance, 1e-4 * np.median(variance[variance > 0]))
        e = np.log(variance) - special.digamma(df / 2) + np.log(df / 2)
        excess = float(np.var(e, ddof=1) - np.mean(special.polygamma(1, df / 2)))
        d0 = math.inf if excess <= 0 else 2 * _inverse_trigamma(excess)
        shift = 0.0 if math.isinf(d0) else float(special.digamma(d0 / 2) - np.log(d0 / 2))
        return cls(math.exp(float(np.mean(e)) + shift), d0)

    def moderated(self, values: Sequence[float]) -> tuple[float, float]:
        """The variance of a row and its degrees of freedom, drawn towards the usual one."""
        df = len(values) - 1
        own = float(np.var(values, ddof=1)) if df else 0.0
        if math.isinf(self.df):
            # The rows' own degrees of freedom are many together; 1000 stands for them.
            return self.variance, 1000.0
        total = self.df + df
        return ((self.df * self.variance + df * own) / total if total else math.nan), total


def _inverse_trigamma(y: float) -> float:
    """x with trigamma(x) = y, by Newton's method on 1 / trigamma (Smyth 2004, appendix)."""
    if y > 1e7:
        return 1 / math.sqrt(y)
    if y < 1e-6:
        return 1 / y
    x = 0.5 + 1 / y
    for _ in range(50):
        trigamma = float(special.polygamma(1, x))
        step = trigamma * (1 - trigamma / y) / float(special.polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x


@dataclass(frozen=True)
class Comparison:
    """One difference that a claim rests on, oriented so that more is what the claim says.

    Args:
        a, b: scores over seeds; `b` may be one fixed number, such as chance.
        relation: "above": the mean of `a` exceeds that of `b` by more than `margin`; "within": they differ by less.
        margin: in the scores' unit; of "within" it must be positive.
        spread: of the rows of this task and scale.
        name: for messages.
        unfit: why the comparison decides nothing, such as a baseline that loses to doing nothing.
    """

    a: tuple[float, ...]
    b: tuple[float, ...] | float
    relation: Relation = "above"
    margin: float = 0.0
    spread: Spread = Spread()
    name: str = ""
    unfit: str = ""

    def __post_init__(self) -> None:
        if self.relation not in ("above", "within"):
            raise ValueError(f"relation must be 'above' or 'within', got {self.relation!r}")
        if self.relation == "within" and not self.margin > 0:
            raise ValueError(f"margin must be positive to call rows equivalent, got {self.margin}")
        if not all(map(math.isfinite, (*self.a, *self._b, self.margin))):
            raise ValueError(f"{self.name or 'a comparison'}: scores and margin must be finite numbers")

    @property
    def _b(self) -> tuple[float, ...]:
        return self.b if isinstance(self.b, tuple) else (self.b,)

    @property
    def runs(self) -> int:
        """How many runs the smaller side has; a fixed number needs none."""
        return min(len(self.a), len(self._b)) if isinstance(self.b, tuple) else len(self.a)

    @property
    def difference(self) -> float:
        """Mean of `a` less mean of `b`."""
        return float(np.mean(self.a) - np.mean(self._b))

    def errors(self) -> list[tuple[float, float]]:
        """(Standard error of the difference, degrees of freedom) with moderated variances and with the rows' own.

        Degrees of freedom are Satterthwaite's. Empty where the runs of both sides do not differ at all.
        """
        found = []
        for spread in (self.spread, Spread()):
            sides = (self.a, self._b) if isinstance(self.b, tuple) else (self.a,)
            parts = [
                (variance / len(side), df) for side in sides for variance, df in [spread.moderated(side)]
            ]
            total = sum(part for part, _ in parts)
            if total > 0:
                found.append((math.sqrt(total), total**2 / sum(part**2 / df for part, df in parts)))
        return found

    def interval(self, level: float = 0.05) -> tuple[float, float]:
        """The confidence interval of the difference that leaves out `level`: the wider of the two tests'."""
        reach = max(
            (error * float(stats.t.isf(level / 2, df)) for error, df in self.errors()), default=math.nan
        )
        return self.difference - reach, self.difference + reach

    def p_above(self, bound: float = 0.0) -> float:
        """One-sided p-value of a difference above `bound`: the larger of the two tests'."""
        beyond = self.difference - bound
        return max((float(stats.t.sf(beyond / error, df)) for error, df in self.errors()), default=math.nan)

    def p_below(self, bound: float = 0.0) -> float:
        """One-sided p-value of a difference below `bound`."""
        beyond = bound - self.difference
        return max((float(stats.t.sf(beyond / error, df)) for error, df in self.errors()), default=math.nan)

    def detectable(self) -> float:
        """The smallest difference that runs like these would show four times in five."""
        return max(
            (error * float(stats.t.isf(LEVEL, df) + stats.t.ppf(POWER, df)) for error, df in self.errors()),
            default=math.nan,
        )


@dataclass(frozen=True)
class Verdict:
    """What a claim's comparisons come to.

    Args:
        outcome: always at the scale of the runs.
        why: in a sentence.
        comparisons: in the claim's order.
        p: of the outcome that was reached: what the ledger's expected share of false verdicts is computed from.
    """

    outcome: Outcome
    why: str
    comparisons: tuple[Comparison, ...]
    p: float = math.nan


def judge(comparisons: Sequence[Comparison]) -> Verdict:
    """Decide a claim that says all of its comparisons.

    It holds when each holds (an intersection-union test, which needs no correction). It does not hold when one is
    contrary after Holm's correction, so that a claim with many comparisons is not easier to refute than one with few.
    An unfit comparison, or one with fewer than three runs a side, is left out of the second and forbids the first.

    Raises:
        ValueError: there are no comparisons.
    """
    if not comparisons:
        raise ValueError("a claim needs at least one comparison")
    parts = tuple(comparisons)
    fit = [one for one in parts if not one.unfit and one.runs >= FEWEST and one.errors()]
    against = _holm([_contrary(one) for one in fit])
    if against and min(against) <= LEVEL:
        worst = fit[int(np.argmin(against))]
        return Verdict("does not hold here", _words(worst, "is contrary"), parts, min(against))
    if len(fit) < len(parts):
        first = next(one for one in parts if one not in fit)
        few = f"fewer than {FEWEST} runs a side" if first.runs < FEWEST else "its runs do not differ at all"
        return Verdict("cannot tell", f"{_called(first)}{first.unfit or few}", parts)
    supported = [_supported(one) for one in fit]
    if all(p <= _level(one) for one, p in zip(fit, supported, strict=True)):
        weakest = fit[int(np.argmax(supported))]
        return Verdict("holds here", _words(weakest, "is the closest"), parts, max(supported))
    open_ = next(one for one, p in zip(fit, supported, strict=True) if p > _level(one))
    needed = f"runs like these show {open_.detectable():.2g} four times in five"
    return Verdict("cannot tell", f"{_words(open_, 'is open')}; {needed}", parts)


def expected_false(verdicts: Iterable[Verdict], *, rate: float = 0.1) -> tuple[int, float]:
    """How many decided verdicts survive at a false discovery rate (Benjamini & Hochberg 1995), and the rate over all.

    Args:
        verdicts: of a whole ledger; those that cannot tell are left out.
        rate: the accepted share of false ones among those that survive.

    Returns:
        the number that survive, and the expected share of false ones if all are believed.
    """
    p = np.sort([one.p for one in verdicts if one.outcome != "cannot tell"])
    if not len(p):
        return 0, 0.0
    ranks = np.arange(1, len(p) + 1)
    below = np.nonzero(p * len(p) / ranks <= rate)[0]
    return (int(below[-1]) + 1 if len(below) else 0), float(min(1.0, p[-1]))


def _level(one: Comparison) -> float:
    return EQUIVALENT if one.relation == "within" else LEVEL


def _supported(one: Comparison) -> float:
    """p-value of what the claim says: against a difference of the margin or less, or of the margin or more (TOST)."""
    if one.relation == "above":
        return one.p_above(one.margin)
    return max(one.p_above(-one.margin), one.p_below(one.margin))


def _contrary(one: Comparison) -> float:
    """p-value of the contrary: a difference below the margin, or outside of the two."""
    if one.relation == "above":
        return one.p_below(one.margin)
    return min(1.0, 2 * min(one.p_above(one.margin), one.p_below(-one.margin)))


def _holm(p: Sequence[float]) -> list[float]:
    """p-values adjusted for how many there are (Holm 1979)."""
    adjusted, worst = [0.0] * len(p), 0.0
    for rank, index in enumerate(np.argsort(p)):
        worst = max(worst, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = worst
    return adjusted


def _called(one: Comparison) -> str:
    return f"{one.name}: " if one.name else ""


def _words(one: Comparison, what: str) -> str:
    low, high = one.interval()
    return f"{_called(one)}{one.difference:+.2f} ({low:+.2f} to {high:+.2f}, 95 %) {what}"
