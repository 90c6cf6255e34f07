"""Runs that differ in the learning rate alone: which of them counts is decided on validation, never on the test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reservoir_lab.runs.records import Record, find_record, find_records


@dataclass(frozen=True)
class Choice:
    """What a sweep has come to.

    Args:
        recipe: the run whose last validation, with seed 0, was the best of those that are recorded; of equals the one
            nearest to the middle of the sweep, since a rate at its edge may not be where the best is, and of two as
            near the smaller.
        records: its records, one a seed.
        tried: recipe -> its last validation with seed 0, of those that are recorded; negated where less is better.
        recipes: the whole sweep, in the order of its rates.
    """

    recipe: str
    records: list[Record]
    tried: dict[str, float]
    recipes: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The runs on either side of the best one that are not recorded: one of them might be better."""
        at = self.recipes.index(self.recipe)
        return [name for name in self.recipes[max(at - 1, 0) : at + 2] if name not in self.tried]

    @property
    def complete(self) -> bool:
        """Whether the best rate has been compared with its neighbours; the others need not be recorded."""
        return not self.missing


def choose(recipes: Sequence[str], *, scale: str = "laptop") -> Choice | None:
    """The best of a sweep on validation; None if nothing of it is recorded.

    Args:
        recipes: the runs, in the order of their rates.
        scale: "smoke", "laptop" or "full".
    """
    tried: dict[str, float] = {}
    for recipe in recipes:
        if record := find_record(recipe, scale=scale):
            sign = 1 if record.larger_is_better else -1
            tried[recipe] = sign * record.points[-1]["metrics"][record.metric]
    if not tried:
        return None
    middle = (len(recipes) - 1) / 2
    best = max(tried, key=lambda name: (tried[name], -abs(recipes.index(name) - middle)))
    return Choice(best, find_records(best, scale=scale), tried, tuple(recipes))
