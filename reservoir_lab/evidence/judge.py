"""The test that decides a claim: differences of means over seeds, with a variance that borrows from similar rows.

A row of a table has three seeds or so, too few to say how much they scatter. The rows of one task and scale scatter
alike, though not equally, so each row's variance is moderated: drawn towards what is usual among them, by as much as
they agree (Smyth 2004, "Linear models and empirical Bayes methods"). A row that scatters more than its neighbours, or
one of whose runs failed, would be judged too boldly by that alone; so a difference counts only if Welch's test, which
borrows nothing, agrees. Where no run differs from the others of its row, Welch's test cannot be made, and nothing
counts.

Nothing here knows what a record or a recipe is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import optimize, special

Outcome = Literal["holds here", "does not hold here", "cannot tell", "unfit"]

# One-sided levels. A 95 % interval leaves out 0.025 on a side, and 0.05 is usual for each half of an equivalence test;
# three seeds of rows that scatter unequally err more often than such tests say. These are the largest levels that we
# tried at which no shape of claim erred in more than 5 % of simulated worlds.
LEVEL = 0.0125
EQUIVALENT = 0.0275
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
        found = [(len(row) - 1, _variance(row)) for row in rows if len(row) > 1]
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
        own = _variance(values) if df else 0.0
        if math.isinf(self.df):
            # The rows' own degrees of freedom are many together; 1000 stands for them.
            return self.variance, 1000.0
        total = self.df + df
        return ((self.df * self.variance + df * own) / total if total else math.nan), total


def _variance(values: Sequence[float]) -> float:
    """Of the sample; of equal values exactly 0, which rounding may keep it from being."""
    if len(set(values)) == 1:
        return 0.0
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _inverse_trigamma(y: float) -> float:
    """x with trigamma(x) = y, which lies between 1 / x and 1 / x + 1 / x²."""
    y = max(y, 1e-9)
    return optimize.brentq(lambda x: special.polygamma(1, x) - y, 1 / y, (1 + math.sqrt(1 + 4 * y)) / (2 * y))


@dataclass(frozen=True, eq=False)
class Sample:
    """The scores of one row, one for each independent run.

    Args:
        values: the scores.
        spread: of the rows of this task and scale.
    """

    values: tuple[float, ...]
    spread: Spread = Spread()

    @cached_property
    def variances(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The variance and its degrees of freedom, moderated and of the row alone."""
        return self.spread.moderated(self.values), Spread().moderated(self.values)


@dataclass(frozen=True)
class Estimate:
    """A figure that is computed from means over runs, such as the ratio of two, and how far it moves with each.

    A difference is exact in what follows; ratios and logarithms are linear to first order (the delta method). A row
    that occurs twice, as in the mean of several differences from one baseline, moves both occurrences together.

    Args:
        mean: the figure, computed from the means.
        slopes: sample -> the figure's derivative with respect to that sample's mean; empty where no run moves it.
    """

    mean: float
    slopes: dict[Sample, float] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Iterable[float], *, spread: Spread = Spread()) -> Estimate:
        """The mean of one score for each independent run.

        Raises:
            ValueError: there are none, or one is not finite.
        """
        values = tuple(map(float, values))
        if not values or not all(map(math.isfinite, values)):
            raise ValueError(f"scores must be finite numbers, at least one; got {values}")
        return cls(sum(values) / len(values), {Sample(values, spread): 1.0})

    def _with(self, other: Estimate, mean: float, mine: float, theirs: float) -> Estimate:
        slopes = {one: slope * mine for one, slope in self.slopes.items()}
        for one, slope in other.slopes.items():
            slopes[one] = slopes.get(one, 0.0) + slope * theirs
        return Estimate(mean, slopes)

    def __add__(self, other: Estimate) -> Estimate:
        return self._with(other, self.mean + other.mean, 1, 1)

    def __sub__(self, other: Estimate) -> Estimate:
        return self._with(other, self.mean - other.mean, 1, -1)

    def __mul__(self, factor: float) -> Estimate:
        return self._with(Estimate(0.0), self.mean * factor, factor, 0)

    def __truediv__(self, other: Estimate) -> Estimate:
        if other.mean <= 0:
            raise ValueError(f"a ratio needs a positive figure to divide by, got {other}")
        ratio = self.mean / other.mean
        return self._with(other, ratio, 1 / other.mean, -ratio / other.mean)

    def log(self) -> Estimate:
        """The natural logarithm of a positive figure."""
        return self._with(Estimate(0.0), math.log(self.mean), 1 / self.mean, 0)

    @property
    def runs(self) -> float:
        """How many runs the row with the fewest has; infinite where no run moves the figure."""
        return min((len(one.values) for one, slope in self.slopes.items() if slope), default=math.inf)

    @cached_property
    def errors(self) -> list[tuple[float, float]]:
        """(Standard error, degrees of freedom) with moderated variances and with the rows' own.

        Degrees of freedom are Satterthwaite's, and of the rows' own variances at most twice those of the smallest row,
        or one and a half times in a sum of five rows or more: where one row of many scatters most, they come out too
        large. Without that bound a mean of five differences errs in 5.6 % of the calibration's worlds, and with twice
        in 5.1 %. Empty where the runs do not differ at all, or where a row has one.
        """
        found: list[tuple[float, float]] = []
        if self.runs < 2:
            return found
        for which in (0, 1):
            parts = []
            for one, slope in self.slopes.items():
                variance, df = one.variances[which]
                parts.append((slope**2 * variance / len(one.values), df))
            total = sum(part for part, _ in parts)
            if total > 0:
                freedom = total**2 / sum(part**2 / df for part, df in parts)
                if which:  # the sum of a few runs' variances is not known better than that of two rows' is
                    freedom = min(freedom, (2 if len(parts) < 5 else 1.5) * min(df for _, df in parts))
                found.append((math.sqrt(total), freedom))
        return found

    @property
    def scatters(self) -> bool:
        """Whether runs of one row differ, without which a test that borrows nothing says nothing."""
        return len(self.errors) == 2

    def _worst(self, of: Callable[[float, float], float], choose: Callable[..., float] = max) -> float:
        """The more careful of what the two tests say: `of` a standard error and its degrees of freedom; nan of none."""
        return choose((float(of(error, df)) for error, df in self.errors), default=math.nan)

    def interval(self, level: float = 0.05) -> tuple[float, float]:
        """The confidence interval that leaves out `level`: the wider of the two tests'."""
        reach = self._worst(lambda error, df: -error * special.stdtrit(df, level / 2))
        return self.mean - reach, self.mean + reach

    def p_above(self, bound: float = 0.0) -> float:
        """One-sided p-value of a figure above `bound`: the larger of the two tests'."""
        return self._worst(lambda error, df: special.stdtr(df, (bound - self.mean) / error))

    def p_below(self, bound: float = 0.0) -> float:
        """One-sided p-value of a figure below `bound`."""
        return self._worst(lambda error, df: special.stdtr(df, (self.mean - bound) / error))

    def detectable(self) -> float:
        """The smallest difference that runs like these would show four times in five."""
        return self._worst(
            lambda error, df: error * special.nctdtrinc(df, 1 - POWER, -special.stdtrit(df, LEVEL))
        )

    def __format__(self, digits: str) -> str:
        """ "33.4 (33.1 to 33.8)", with its 95 % interval; the format is the number of decimals."""
        places = int(digits or 1)
        said = f"{self.mean:.{places}f}"
        if self.runs < FEWEST:
            return f"{said} ({'one run' if self.runs == 1 else 'two runs'})"
        low, high = self.interval()
        return f"{said} ({low:.{places}f} to {high:.{places}f})" if math.isfinite(low) else said

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class Comparison:
    """One thing that a claim says: a figure lies between two bounds.

    Args:
        gap: the figure, such as a difference of two means.
        low, high: the bounds; with both it is a test of equivalence, whose bounds are the margin.
        closed: whether a figure that no run moves may lie on a bound.
        name: for messages.
        unfit: why the comparison decides nothing, such as a baseline that loses to doing nothing.
        silent: whether the figure only stands for yes or no, which no sentence needs.
    """

    gap: Estimate
    low: float = -math.inf
    high: float = math.inf
    closed: bool = False
    name: str = ""
    unfit: str = ""
    silent: bool = False

    def __post_init__(self) -> None:
        if not (self.low < self.high or (self.exact and self.low == self.high)):
            name = self.name or "a comparison"
            raise ValueError(
                f"{name} needs a lower bound below the upper, got {self.low + 0:g} and {self.high:g}"
            )

    @property
    def exact(self) -> bool:
        """Whether no run moves the figure."""
        return not self.gap.slopes

    @property
    def untestable(self) -> str:
        """Why the comparison decides nothing; empty if it does."""
        if self.unfit or self.exact:
            return self.unfit
        if self.gap.runs < FEWEST:
            return f"fewer than {FEWEST} independent runs a side"
        return "" if self.gap.scatters else "its runs do not differ at all"

    @property
    def level(self) -> float:
        """At which its one-sided tests are made."""
        return EQUIVALENT if math.isfinite(self.low) and math.isfinite(self.high) else LEVEL

    def supported(self) -> float:
        """p-value of what the claim says: against a figure on the bounds or beyond (TOST where there are two)."""
        if self.exact:
            if any(math.isclose(self.gap.mean, bound, abs_tol=1e-9) for bound in (self.low, self.high)):
                return 0.0 if self.closed else 1.0
            return 0.0 if self.low < self.gap.mean < self.high else 1.0
        ends = [self.gap.p_above(self.low)] * math.isfinite(self.low)
        return max(ends + [self.gap.p_below(self.high)] * math.isfinite(self.high))

    def contrary(self) -> float:
        """p-value of the contrary: a figure beyond one of the bounds."""
        if self.exact:
            return 1.0 - self.supported()
        ends = [self.gap.p_below(self.low)] * math.isfinite(self.low)
        ends += [self.gap.p_above(self.high)] * math.isfinite(self.high)
        return min(1.0, len(ends) * min(ends))


@dataclass(frozen=True)
class Every:
    """A claim that says all of its parts."""

    parts: tuple[Clause, ...]


@dataclass(frozen=True)
class AnyOf:
    """A claim that says at least one of its parts."""

    parts: tuple[Clause, ...]


Clause = Comparison | Every | AnyOf


@dataclass(frozen=True)
class Verdict:
    """What a claim's comparisons come to.

    Args:
        outcome: always at the scale of the runs.
        why: in a sentence.
        p: of the outcome that was reached; of a claim left open, of what came nearer, the claim or its contrary, if
            one of the two could be tested. The ledger's expected share of false verdicts is computed from it. nan where
            nothing was tested, or by arithmetic alone.
    """

    outcome: Outcome
    why: str
    p: float = math.nan


Found = tuple[float, float, Comparison]
"""p-value as a share of the level it must not exceed, p-value, and the comparison that it rests on."""


def judge(claim: Clause) -> Verdict:
    """Decide a claim.

    What says all of its parts holds when each holds (an intersection-union test, which needs no correction), and does
    not hold when one is contrary after Holm's correction, so that a claim of many comparisons is not easier to refute
    than one of few. What says one of its parts is the other way round. An unfit comparison, or one with fewer than
    three runs a side, decides nothing.

    Raises:
        ValueError: there are no comparisons.
    """
    against, support = _weigh(claim, contrary=True), _weigh(claim, contrary=False)
    if against[0] <= 1:
        why = _words(against[2], ", which contradicts the claim")
        return Verdict("does not hold here", why, _chance(against))
    if support[0] <= 1:
        return Verdict("holds here", _words(support[2], ", as the claim says"), _chance(support))
    one = support[2]
    if math.isfinite(support[0]) and against[2].untestable and not against[2].unfit:
        one = against[2]  # one of several parts, any of which would do, has not been tested
    nearer = min(against, support, key=lambda found: found[1])
    p = _chance(nearer) if math.isfinite(nearer[0]) else math.nan
    if one.unfit:
        return Verdict("unfit", f"{_called(one)}{one.unfit}", p)
    if one.untestable:
        return Verdict("cannot tell", f"{_called(one)}{one.untestable}", p)
    needed = f"such runs would show a difference of {one.gap.detectable():.2g} four times in five"
    return Verdict("cannot tell", f"{_words(one, ', which leaves it open')}; {needed}", p)


def _weigh(clause: Clause, *, contrary: bool) -> Found:
    """What speaks for a claim, or for its contrary."""
    if isinstance(clause, Comparison):
        if clause.untestable:
            return math.inf, 1.0, clause
        p = clause.contrary() if contrary else clause.supported()
        return p / (LEVEL if contrary else clause.level), p, clause
    if not clause.parts:
        raise ValueError("a claim needs at least one comparison")
    found = [_weigh(part, contrary=contrary) for part in clause.parts]
    # Each part must be shown; what is unfit comes before what is open.
    if contrary == isinstance(clause, AnyOf):
        return max(found, key=lambda one: (one[0], bool(one[2].unfit)))
    share, p, one = min(found, key=lambda one: one[0])
    many = max(
        1, sum(one[0] < math.inf and not one[2].exact for one in found)
    )  # Holm: the smallest of so many
    return share * many, min(1.0, p * many), one


def _chance(found: Found) -> float:
    return math.nan if found[2].exact else found[1]


def told(name: str, gap: Estimate, digits: int = 1) -> str:
    """A figure with its name, and its unit where the name ends in one: "ffn-6: %" is told as "ffn-6: 10.7 %"."""
    called, _, unit = name.strip(" :").partition(": ")
    if unit and not unit.endswith(" by"):
        return f"{called}: {gap:{digits}} {unit}"
    return f"{name} {gap:{digits}}".strip()


def _called(one: Comparison) -> str:
    return f"{one.name.partition(': ')[0]}: " if one.name else ""


def _words(one: Comparison, what: str) -> str:
    if one.silent:
        return ""
    name = one.name if not one.name or ": " in one.name else f"{one.name}:"
    return told(name, one.gap, 2) + what
