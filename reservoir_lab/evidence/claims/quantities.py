"""What a claim compares: the figure of one recipe, or a difference, a share, a mean of several, as data says it.

In `data/claims` a quantity is the name of a recipe; {measure = recipe}, for another measure than its comparison's;
{margin = name}, a number that is stated with its reason; or {operation = quantities}, such as
{share = ["components/attention", "components/baseline"]}. A `mean` goes over a selection:
{mean = "keep/{stack}-random-50", each = {stack = ["shared", "layers"]}}.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from reservoir_lab.evidence import sources
from reservoir_lab.evidence.judge import AnyOf, Clause, Comparison, Estimate

Figure = Callable[[str, str, Sequence[str]], Estimate]
"""(measure, recipe, recipes of the whole comparison) -> the figure over seeds. May raise `NotRunError`."""
Names = Mapping[str, Any]
"""What the placeholders of a template stand for."""

OPERATIONS: dict[str, Callable[..., Estimate]] = {
    "value": lambda a: a,
    "log": lambda a: a.log(),
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "lost": lambda a, b: b - a,
    "ratio": lambda a, b: a / b,
    "share": lambda a, b: a / b * 100,
    "saved": lambda a, b: (Estimate(1.0) - a / b) * 100,
}
"""What can be made of one or two quantities; a share, and what is saved, in per cent."""


Relation = Callable[[Estimate, str, str], Clause]
"""(Figure, its name, why it decides nothing or "") -> what a rule asks of it."""


def _between(low: float, high: float, *, closed: bool = False) -> Relation:
    return lambda gap, name, unfit: Comparison(gap, low, high, closed, name, unfit)


def _apart(factor: float) -> Relation:
    ends = (_between(factor, math.inf), _between(-math.inf, 1 / factor))
    return lambda gap, name, unfit: AnyOf(tuple(end(gap, name, unfit) for end in ends))


RELATIONS: dict[str, Callable[..., Relation]] = {
    "above": lambda limit: _between(limit, math.inf),
    "below": lambda limit: _between(-math.inf, limit),
    "at least": lambda limit: _between(limit, math.inf, closed=True),
    "at most": lambda limit: _between(-math.inf, limit, closed=True),
    "equal to": lambda limit: _between(limit, limit, closed=True),
    "within": lambda margin: _between(-margin, margin, closed=True),
    "between": lambda low, high: _between(low, high, closed=True),
    "apart by": _apart,
}
"""The relations that a rule can ask of a figure and a number; "between" needs two. "apart by" is of a ratio."""


@dataclass(frozen=True)
class Leaf:
    """The figure of one recipe."""

    measure: str
    recipe: str


@dataclass(frozen=True)
class Compound:
    """An operation on quantities."""

    operation: str
    parts: tuple[Quantity, ...]


Quantity = Leaf | float | Compound
"""A figure of a recipe, a number that the ledger states, or what is made of such."""


def check(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known, with the nearest one that is."""
    if name not in (names := list(known)):
        raise ValueError(sources.unknown(what, name, names, "the ledger"))


@dataclass(frozen=True)
class Vocabulary:
    """What a file of claims can refer to.

    Args:
        measures: names of measures.
        margins: name -> number.
        lists: name -> what a selection goes through.
    """

    measures: frozenset[str]
    margins: Mapping[str, float]
    lists: Mapping[str, Sequence[Any]]

    def margin(self, name: str, names: Names = MappingProxyType({})) -> float:
        """A stated number; with a minus sign before its name, the opposite.

        Args:
            name: of the margin.
            names: what placeholders in it stand for.

        Raises:
            ValueError: there is no margin of that name.
        """
        if not isinstance(name, str):
            raise ValueError(
                f"a margin is named here, and stated with its reason under [margin]; got {name!r}"
            )
        name = name.format(**names)
        check("margin", name.removeprefix("-"), self.margins)
        return -self.margins[name[1:]] if name.startswith("-") else self.margins[name]

    def choices(self, each: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Every combination of what the names of a selection go through."""
        for values in each.values():
            if isinstance(values, str):
                check("list", values, self.lists)
        values = [self.lists[v] if isinstance(v, str) else v for v in each.values()]
        return [dict(zip(each, choice, strict=True)) for choice in itertools.product(*values)]

    def quantity(self, written: Any, measure: str, names: Names) -> Quantity:
        """A quantity as it is written in data.

        Args:
            written: a text or a table.
            measure: of recipes that stand there without one.
            names: what placeholders stand for.

        Raises:
            ValueError: it names no measure, operation, margin or list that there is.
        """
        if isinstance(written, str):
            check("measure", measure, self.measures)
            return Leaf(measure, written.format(**names))
        rest = dict(written)
        each = rest.pop("each", {})
        ((key, value),) = rest.items()
        if key == "margin":
            return self.margin(value, names)
        if key == "mean":
            choices = self.choices(each)
            return Compound(key, tuple(self.quantity(value, measure, {**names, **one}) for one in choices))
        if key in OPERATIONS:
            written = value if isinstance(value, list) else [value]
            return Compound(key, tuple(self.quantity(part, measure, names) for part in written))
        return self.quantity(value, key, names)


def leaves(quantity: Quantity) -> Iterator[Leaf]:
    """The single figures that a quantity is made of."""
    match quantity:
        case Leaf():
            yield quantity
        case Compound(parts=parts):
            for part in parts:
                yield from leaves(part)


def evaluate(quantity: Quantity, figure: Figure, among: Sequence[str] = ()) -> Estimate:
    """What a quantity comes to over the seeds.

    Raises:
        NotRunError: a record is missing.
    """
    match quantity:
        case Leaf(measure, recipe):
            return figure(measure, recipe, among)
        case float():
            return Estimate(quantity)
        case Compound("mean", parts):
            total = functools.reduce(operator.add, (evaluate(part, figure, among) for part in parts))
            return total * (1 / len(parts))
        case Compound(operation, parts):
            return OPERATIONS[operation](*(evaluate(part, figure, among) for part in parts))
