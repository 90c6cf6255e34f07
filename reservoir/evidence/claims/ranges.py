"""A figure over several seeds, as a range, and how a rule reads it: confirmed, refuted or undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

Word = Literal["confirmed", "refuted", "undecided", "not run", "cannot be tested here"]
SEEDS = 3
"""How many seeds a figure that no seed moves counts as."""


class NotRunError(LookupError):
    """A record that a rule needs does not exist."""


class CannotTellError(ValueError):
    """The records that a rule needs exist, but are not fit to decide it."""


@dataclass(frozen=True)
class Range:
    """A figure over seeds.

    Sums, differences and ratios of two ranges are as wide as the seeds could make them, whichever seed of one is
    compared with whichever seed of the other. That is stricter than a test on means, and assumes nothing of three
    numbers.

    Args:
        low, mean, high: the smallest, the mean and the largest.
        seeds: how many there were; of a difference, on the side that had fewer.
    """

    low: float
    mean: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Range:
        """The range of one value per seed; at least one is needed."""
        values = list(values)
        if not values:
            raise ValueError("a range needs at least one value, got none")
        return cls(min(values), sum(values) / len(values), max(values), len(values))

    @classmethod
    def exactly(cls, value: float) -> Range:
        """A figure that no seed moves."""
        return cls(value, value, value, SEEDS)

    def __add__(self, other: Range) -> Range:
        seeds = min(self.seeds, other.seeds)
        return Range(self.low + other.low, self.mean + other.mean, self.high + other.high, seeds)

    def __sub__(self, other: Range) -> Range:
        return self + other * -1

    def __mul__(self, factor: float) -> Range:
        low, high = sorted((self.low * factor, self.high * factor))
        return Range(low, self.mean * factor, high, self.seeds)

    def __truediv__(self, other: Range) -> Range:
        """The ratio to a positive figure; a ValueError if that is not positive for every seed."""
        if other.low <= 0:
            raise ValueError(f"a ratio needs a positive figure to divide by, got {other}")
        low = self.low / (other.high if self.low > 0 else other.low)
        high = self.high / (other.low if self.high > 0 else other.high)
        return Range(low, self.mean / other.mean, high, min(self.seeds, other.seeds))

    def log(self) -> Range:
        """The natural logarithm of the three figures, which must be positive."""
        return replace(self, low=math.log(self.low), mean=math.log(self.mean), high=math.log(self.high))

    def on_means(self) -> Range:
        """The mean alone, taken as exact: for rules that were written for means, and know no spread."""
        return Range.exactly(self.mean)

    def widened(self, half_width: float) -> Range:
        """A figure with one seed has no spread: this lends it another's, `half_width` to either side.

        Where nothing has a spread to lend (0), one seed stays one seed, and decides nothing.
        """
        if self.seeds > 1 or not half_width:
            return self
        return replace(self, low=self.low - half_width, high=self.high + half_width, seeds=2)

    @property
    def half_width(self) -> float:
        """Half the distance from the smallest to the largest."""
        return (self.high - self.low) / 2

    def __format__(self, digits: str) -> str:
        """ "33.4 (33.1 to 33.8)", or the one figure with "one seed"; the format is the number of decimals."""
        places = int(digits or 1)
        if self.low == self.high:
            return f"{self.mean:.{places}f}" + (" (one seed)" if self.seeds == 1 else "")
        return f"{self.mean:.{places}f} ({self.low:.{places}f} to {self.high:.{places}f})"

    def __str__(self) -> str:
        return format(self)


OPPOSITE: dict[Word, Word] = {"confirmed": "refuted", "refuted": "confirmed"}


def above(figure: Range, threshold: float = 0.0) -> Word:
    """Whether all of the range lies above the threshold (confirmed), or none of it (refuted)."""
    if figure.seeds < 2:
        return "undecided"
    if figure.low > threshold:
        return "confirmed"
    return "refuted" if figure.high <= threshold else "undecided"


def below(figure: Range, threshold: float = 0.0) -> Word:
    """Whether all of the range lies below the threshold, or none of it."""
    return above(figure * -1, -threshold)


def between(figure: Range, low: float, high: float) -> Word:
    """Whether all of the range lies between `low` and `high`, or none of it; at an end is not between."""
    if figure.seeds < 2:
        return "undecided"
    if low < figure.low and figure.high < high:
        return "confirmed"
    return "refuted" if figure.low >= high or figure.high <= low else "undecided"


def apart(figure: Range, factor: float) -> Word:
    """Whether a ratio is `factor` or more away from 1, in one direction; undecided while the range contains 1."""
    if figure.low <= 1 <= figure.high:
        return "undecided"
    return above(figure if figure.low > 1 else Range.exactly(1.0) / figure, factor)


def notably_below(ratio: Range, share: float) -> Word:
    """Whether a ratio is below 1 by more than `share`; refuted only where it is above 1 by more than that."""
    if below(ratio, 1 - share) == "confirmed":
        return "confirmed"
    return "refuted" if above(ratio, 1 + share) == "confirmed" else "undecided"


RELATIONS: dict[str, Callable[..., Word]] = {
    "above": above,
    "below": below,
    "at most": lambda figure, limit: OPPOSITE.get(word := above(figure, limit), word),
    "at least": lambda figure, limit: OPPOSITE.get(word := below(figure, limit), word),
    "equal to": lambda figure, value: "confirmed" if figure.low == figure.high == value else "refuted",
    "within": lambda figure, margin: between(figure, -margin, margin),
    "apart by": apart,
    "notably below": notably_below,
    "between": between,
}
"""The relations that a rule can ask of a figure and a number; "between" needs two."""


def every(words: Iterable[Word]) -> Word:
    """All must hold: one that is refuted refutes, and one that is undecided leaves all undecided."""
    found = set(words)
    order: tuple[Word, ...] = ("refuted", "not run", "cannot be tested here", "undecided")
    return next((word for word in order if word in found), "confirmed")


def any_of(words: Iterable[Word]) -> Word:
    """One must hold: all must be refuted to refute."""
    found = set(words)
    order: tuple[Word, ...] = ("confirmed", "undecided")
    return next((word for word in order if word in found), "refuted")
