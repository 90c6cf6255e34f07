"""What a comparison reads and compares: a score, a loss, an epoch, a cost or a size of a recipe, over its independent
runs, and differences, shares and means of them.

The measures themselves are data (`data/claims/measures.toml`): what is read of a record, in which metric, and what a
baseline has to beat before it is compared with. This module reads them.

A recipe may end in "/~", which stands for the learning rate that validation chose; in mixing/~fourier the ~ stands for
the layout, norms after or before the sublayers, that ends its pretraining with the lower validation perplexity, and
mixing/swept/~fourier/~ is both: the layout that ends lower, each at the learning rate that validation chose for it.

In `data/claims` a quantity is the name of a recipe; {measure = recipe}, for another measure than its comparison's;
{margin = name}, a number that is stated with its reason; or {operation = quantities}, such as
{share = ["components/attention", "components/baseline"]}. A `mean` goes over a selection:
{mean = "keep/{stack}-random-50", each = {stack = ["shared", "layers"]}}.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reservoir.weights import Report, report
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.judge import FEWEST, AnyOf, Clause, Comparison, Estimate, Spread, judge
from reservoir_lab.recipes.mixing import LAYOUTS, sweep_of
from reservoir_lab.runs.building import outline
from reservoir_lab.runs.convergence import area_under, best, cost_to_reach, epochs_to_converge, nearly
from reservoir_lab.runs.records import Record, find_records
from reservoir_lab.runs.registry import results
from reservoir_lab.runs.sweep import choose

CHOSEN = "~"
SWEPT = "mixing/swept/"


class NotRunError(LookupError):
    """A record that a rule needs does not exist."""


METRICS = (
    "accuracy",
    "bits_per_byte",
    "bleu",
    "bleu at 4 bits",
    "bleu at 8 bits",
    "perplexity",
    "word_perplexity",
)
"""What tests of a run report as a score."""


class CannotTellError(ValueError):
    """The records that a rule needs exist, but are not fit to decide it."""


@dataclass(frozen=True)
class Measure:
    """A kind of figure.

    Args:
        name: what claims call it.
        reads: what is read, a key of `READERS`, of `COUNTS` or of `EXACT`.
        unit: of the figure, for a reader.
        metric: of a score; that which the record is scored by if empty.
        field: of the report on a model, where a size is read.
        factor: the figure is multiplied by it.
        log: whether its logarithm is taken.
        smaller: whether a smaller figure is the better one, where a baseline has to beat something.
        idle: pattern over recipes -> what does nothing, a recipe or a number: what a matching recipe has to beat before
            anything is compared with it.
        why: the reason for a number in `idle`.
    """

    name: str
    reads: str
    unit: str = ""
    metric: str = ""
    field: str = ""
    factor: float = 1.0
    log: bool = False
    smaller: bool = False
    idle: Mapping[str, str | float] = dataclasses.field(default_factory=dict)
    why: str = ""

    def __post_init__(self) -> None:
        if self.reads not in READERS | COUNTS | EXACT:
            raise ValueError(
                f"reads must be one of {', '.join(READERS | COUNTS | EXACT)}, got {self.reads!r}"
            )
        if self.metric and self.metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}")
        if any(isinstance(limit, float) for limit in self.idle.values()) and not self.why.strip():
            raise ValueError("a number that baselines must beat needs a reason: say why")

    @property
    def of_runs(self) -> bool:
        """Whether it is of what training came to, so that budgets have to be equal."""
        return self.reads in READERS

    def figure(self, recipe: str, *, among: Sequence[str] = (), scale: str = "laptop") -> Estimate:
        """The figure of a recipe over its independent runs.

        Args:
            recipe: its name, which may have a ~ in it; for printed figures "table | row | column".
            among: the recipes of the whole comparison, for measures that depend on all of them.
            scale: "smoke", "laptop" or "full".

        Raises:
            NotRunError: a record is missing.
        """
        if self.reads in EXACT:
            return Estimate(self._turned(EXACT[self.reads](self, recipe)))
        found = records(recipe, scale=scale)
        if self.reads in COUNTS:
            return Estimate(self._turned(COUNTS[self.reads](self, found)))
        values = self._values(found, among, scale)
        return Estimate.of(values, spread=self._spread(found[0], scale))

    def needs(self, recipe: str) -> list[str]:
        """The recipes whose records the figure of `recipe` rests on."""
        return [] if self.reads in EXACT else alternatives(recipe)

    def unfit(self, recipe: str, *, scale: str = "laptop") -> str:
        """Why nothing should be compared with a recipe: it does not beat what does nothing. Empty where it does."""
        idle = next((idle for pattern, idle in self.idle.items() if fnmatchcase(recipe, pattern)), None)
        if idle is None or idle == recipe:
            return ""
        score = dataclasses.replace(self, reads="score")
        try:
            nothing = score.figure(idle, scale=scale) if isinstance(idle, str) else Estimate(float(idle))
            own = score.figure(recipe, scale=scale)
        except NotRunError:
            return f"nobody has run {idle}, which {recipe} has to beat"
        gap = (own - nothing) * (-1 if self.smaller else 1)
        beaten = judge(Comparison(gap, low=0.0)).outcome == "holds here" if gap.scatters else gap.mean > 0
        if own.runs < FEWEST or beaten:  # of too few runs nothing is said, fit or not
            return ""
        named = idle if isinstance(idle, str) else f"a guess's {idle:g}"
        return f"{recipe} does not clearly beat {named} (by {gap:2})"

    def _values(self, found: list[Record], among: Sequence[str], scale: str) -> list[float]:
        """One figure for each independent run: what began with the same pretraining counts as one."""
        runs: dict[object, list[float]] = {}
        for record, value in zip(found, READERS[self.reads](self, found, among, scale), strict=True):
            started = (record.run.get("start") or {}).get("recipe")
            one: object = tuple(record.begun_with) if started and record.begun_with else record.seed
            runs.setdefault(one, []).append(self._turned(value))
        return [sum(values) / len(values) for values in runs.values()]

    def _turned(self, value: float) -> float:
        return (math.log(value) if self.log else value) * self.factor

    def _spread(self, one: Record, scale: str) -> Spread:
        """What is usual among the rows of a record's family that have the same task."""
        if self.reads in ("speed to reach", "area"):  # which depend on the rows that are compared
            return Spread()
        family, task = one.recipe.partition("/")[0], json.dumps(one.run["task"], sort_keys=True)
        key = self.name, family, task, scale, results()
        if key not in _spreads:
            alike = [
                rows
                for rows in _rows(family, scale, results())
                if json.dumps(rows[0].run["task"], sort_keys=True) == task
            ]
            _spreads[key] = Spread.of(self._values(rows, (), scale) for rows in alike)
        return _spreads[key]


_spreads: dict[object, Spread] = {}


@functools.cache
def _rows(family: str, scale: str, folder: Path) -> list[list[Record]]:
    """The records of a family's recipes that have several, read once for each folder of results."""
    found = (find_records(name, scale=scale) for name in recipes.family(family))
    return [rows for rows in found if len(rows) > 1]


def records(recipe: str, *, scale: str = "laptop") -> list[Record]:
    """The records of a recipe, one a seed, after validation has chosen what a ~ stands for.

    Raises:
        NotRunError: there is none, or the best rate of a sweep has neighbours that have not been run.
    """
    if ways := _layouts(recipe):
        return min((records(way, scale=scale) for way in ways), key=_end)
    if recipe.endswith(f"/{CHOSEN}"):
        found = choose(alternatives(recipe), scale=scale)
        if found is None:
            raise NotRunError(f"no rate of {recipe.removesuffix('/' + CHOSEN)} has been run")
        if not found.complete:
            raise NotRunError(f"{found.recipe} is the best so far, and {', '.join(found.missing)} not run")
        return found.records
    if CHOSEN in recipe:
        recipe = recipe.replace(CHOSEN, layout(recipe.partition(CHOSEN)[2], scale=scale))
    kept = find_records(recipe, scale=scale)
    if not kept:
        raise NotRunError(f"{recipe} has not been run at the {scale} scale")
    return kept


def layout(row: str, *, scale: str = "laptop") -> str:
    """The layout in which a row of the mixing tables ends its pretraining with the lower validation perplexity.

    Returns:
        the part of a recipe's name that says so, "" or "pre-norm/".
    """
    pretrained = row.removesuffix("-scratch")
    return min(LAYOUTS, key=lambda way: _end(records(f"mixing/{way}{pretrained}", scale=scale)))


def _end(found: list[Record]) -> float:
    """The last validation perplexity, on average over the seeds."""
    return sum(one.points[-1]["metrics"]["perplexity"] for one in found) / len(found)


def _layouts(recipe: str) -> list[str]:
    """The sweeps of a row in each layout, where a name has a ~ for the layout and one for the rate; else none."""
    return [recipe.replace(CHOSEN, way, 1) for way in LAYOUTS] if recipe.count(CHOSEN) == 2 else []


@functools.cache
def alternatives(recipe: str) -> list[str]:
    """The recipes that a name with a ~ chooses among, and those whose validation decides; of others, itself."""
    if ways := _layouts(recipe):
        return [name for way in ways for name in alternatives(way)]
    if recipe.startswith(SWEPT) and recipe.endswith(f"/{CHOSEN}"):
        return sweep_of(recipe.removeprefix(SWEPT).removesuffix(f"/{CHOSEN}"))
    if recipe.endswith(f"/{CHOSEN}"):
        stem = recipe.removesuffix(CHOSEN)
        found = [name for name in recipes.RECIPES if name.startswith(f"{stem}lr-")]
        return sorted(found, key=lambda name: float(name.rpartition("lr-")[2]))
    if CHOSEN in recipe:
        row = recipe.partition(CHOSEN)[2].removesuffix("-scratch")
        both = [recipe.replace(CHOSEN, way) for way in LAYOUTS]
        return list(dict.fromkeys(both + [f"mixing/{way}{row}" for way in LAYOUTS]))
    return [recipe]


def size(recipe: str, field: str) -> float:
    """A field of the report of a recipe's model at the full scale, by shapes alone."""
    return getattr(_report(recipe), field)


def printed(where: str) -> float:
    """A figure that a source prints, as "table | row | column"."""
    table, row, column = where.split(" | ")
    return sources.table(table).figure(row, column).value


@functools.cache
def _report(recipe: str) -> Report:
    return report(outline(recipes.get(recipe, scale="full")))


def _score(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> list[float]:
    """The score on the first test set."""
    return [float(next(iter(one.tests.values()))[measure.metric or one.scored_by]) for one in found]


def _last_loss(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> list[float]:
    """The logarithm of the last validation perplexity: nats per token."""
    return [math.log(one.points[-1]["metrics"]["perplexity"]) for one in found]


def _epochs(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> list[float]:
    """Epochs to converge."""
    if not all(one.epoch_steps for one in found):
        raise NotRunError(f"not every record of {found[0].recipe} says how long an epoch is")
    return [epochs_to_converge(one) for one in found]


def _speed_to_reach(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> list[float]:
    """One over the operations until a run is within 2 % of the best of the last of `among`; 0 if it never is."""
    rival = records(among[-1], scale=scale)
    target = nearly(sum(map(best, rival)) / len(rival), larger_is_better=rival[0].larger_is_better)
    costs = [cost_to_reach(one, target, axis="flops") for one in found]
    return [1 / cost if cost else 0.0 for cost in costs]


def _area(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> list[float]:
    """The area under the curve over operations, up to what the cheapest of `among` spent in all."""
    horizon = min(one.points[-1]["flops"] for name in among for one in records(name, scale=scale))
    return [area_under(one, horizon=horizon, axis="flops").value for one in found]


Reader = Callable[[Measure, list[Record], Sequence[str], str], list[float]]
READERS: dict[str, Reader] = {
    "score": _score,
    "last validation loss": _last_loss,
    "epochs to converge": _epochs,
    "speed to reach": _speed_to_reach,
    "area": _area,
}
"""What a measure can read of runs, one figure a record."""
COUNTS: dict[str, Callable[[Measure, list[Record]], float]] = {
    # They differ between seeds by the batches that they draw alone.
    "operations": lambda measure, found: sum(one.flops for one in found) / len(found),
    "parameters": lambda measure, found: float(found[0].parameters[measure.field]),  # type: ignore[literal-required]
}
"""What a measure can read of records that no seed moves."""
EXACT: dict[str, Callable[[Measure, str], float]] = {
    "full size": lambda measure, recipe: size(recipe, measure.field),
    "printed": lambda measure, where: printed(where),
}
"""What a measure can read without records: sizes, by shapes alone, and the figures that a source prints."""


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
