"""What several seeds of a run say: a range, and how a rule reads it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from reservoir.runs.records import Record, find_records

Word = Literal["confirmed", "refuted", "undecided", "not run", "cannot be tested here"]
SEEDS = (0, 1, 2)


class NotRunError(LookupError):
    """A record that a rule needs does not exist."""


class CannotTellError(ValueError):
    """The records that a rule needs exist, and are not fit to decide it."""


@dataclass(frozen=True)
class Range:
    """A figure over seeds.

    Sums, differences and ratios of two ranges are as wide as the seeds could make them: whatever seed of one meets
    whatever seed of the other. That is stricter than a test on means, and needs no assumption on three numbers.

    Args:
        low, mean, high: the smallest, the mean and the largest.
        seeds: how many there were, of the side that had fewer.
    """

    low: float
    mean: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Range:
        values = list(values)
        if not values:
            raise ValueError("a range needs at least one value, got none")
        return cls(min(values), sum(values) / len(values), max(values), len(values))

    @classmethod
    def exactly(cls, value: float) -> Range:
        """A figure that no seed moves."""
        return cls(value, value, value, len(SEEDS))

    def __add__(self, other: Range | float) -> Range:
        other = _range(other)
        seeds = min(self.seeds, other.seeds)
        return Range(self.low + other.low, self.mean + other.mean, self.high + other.high, seeds)

    def __sub__(self, other: Range | float) -> Range:
        other = _range(other)
        return self + Range(-other.high, -other.mean, -other.low, other.seeds)

    def __mul__(self, factor: float) -> Range:
        low, high = sorted((self.low * factor, self.high * factor))
        return Range(low, self.mean * factor, high, self.seeds)

    def __truediv__(self, other: Range | float) -> Range:
        """The ratio of two positive figures."""
        other = _range(other)
        if self.low <= 0 or other.low <= 0:
            raise ValueError(f"a ratio needs positive figures, got {self} and {other}")
        seeds = min(self.seeds, other.seeds)
        return Range(self.low / other.high, self.mean / other.mean, self.high / other.low, seeds)

    def widened(self, half_width: float) -> Range:
        """One seed says nothing of its spread: this lends it another's, `half_width` to either side.

        Where nobody has a spread to lend (0), one seed stays one seed, and decides nothing.
        """
        if self.seeds > 1 or not half_width:
            return self
        return replace(self, low=self.low - half_width, high=self.high + half_width, seeds=2)

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def text(self, digits: int = 1) -> str:
        """ "33.4 (33.1 to 33.8)", or the one figure with "one seed"."""
        if self.low == self.high:
            return f"{self.mean:.{digits}f}" + (" (one seed)" if self.seeds == 1 else "")
        return f"{self.mean:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"

    def __str__(self) -> str:
        return self.text()


def above(figure: Range, threshold: float = 0.0) -> Word:
    """All of the range lies above: confirmed. All of it at or below: refuted. Else undecided, as for one seed."""
    if figure.seeds < 2:
        return "undecided"
    if figure.low > threshold:
        return "confirmed"
    return "refuted" if figure.high <= threshold else "undecided"


def below(figure: Range, threshold: float = 0.0) -> Word:
    """`above`, turned round."""
    return above(figure * -1, -threshold)


def between(figure: Range, low: float, high: float) -> Word:
    """Whether all of the range lies in [low, high]: confirmed; none of it: refuted."""
    if figure.seeds < 2:
        return "undecided"
    if low <= figure.low and figure.high <= high:
        return "confirmed"
    return "refuted" if figure.low > high or figure.high < low else "undecided"


def every(words: Iterable[Word]) -> Word:
    """All must hold: one that is refuted refutes, one that is undecided leaves all undecided."""
    words = list(words)
    for word in ("refuted", "not run", "cannot be tested here", "undecided"):
        if word in words:
            return word
    return "confirmed"


def records(recipe: str, *, scale: str = "laptop") -> list[Record]:
    """The records of a recipe, one a seed.

    Raises:
        NotRunError: there is none.
    """
    found = find_records(recipe, scale=scale)
    if not found:
        raise NotRunError(f"{recipe} has not been run at the {scale} scale")
    return found


def score(recipe: str, *, test: str | None = None, metric: str | None = None, scale: str = "laptop") -> Range:
    """What a recipe scored on a test set, over its seeds.

    Args:
        recipe: its name.
        test: the test set; the first of the record if None.
        metric: such as "bleu"; the one that the record is scored by if None.
        scale: "smoke", "laptop" or "full".

    Raises:
        NotRunError: there is no record.
    """
    values = []
    for record in records(recipe, scale=scale):
        metrics = record.tests[test or next(iter(record.tests))]
        values.append(metrics[metric or record.scored_by])
    return Range.of(values)


def spread(recipes: Iterable[str], figure: Callable[[str], Range] = score) -> float:
    """Half the widest range of a figure among recipes that have been run, to lend to a row with one seed."""
    widths = [0.0]
    for recipe in recipes:
        with contextlib.suppress(NotRunError):
            widths.append(figure(recipe).half_width)
    return max(widths)


def each(gaps: dict[str, Range], judge: Callable[[Range], Word], digits: int = 1) -> tuple[Word, str]:
    """The verdict that all gaps must share, and what was seen of each, by its name."""
    word = every(judge(gap) for gap in gaps.values())
    return word, "; ".join(f"{name} {gap.text(digits)}" for name, gap in gaps.items())


def _range(value: Range | float) -> Range:
    return value if isinstance(value, Range) else Range.exactly(value)
