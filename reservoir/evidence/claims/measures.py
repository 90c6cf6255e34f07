"""What a comparison reads: a score, a loss, an epoch, a cost or a size of a recipe, over its seeds.

The measures themselves are data (`data/claims/measures.toml`): what is read of a record, in which metric, and from
which neighbours a recipe with one seed borrows a spread. This module reads them.

A recipe may end in "/~", which stands for the learning rate that validation chose; in mixing/~fourier the ~ stands for
the layout, norms after or before the sublayers, that ends its pretraining with the lower validation perplexity.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from reservoir import recipes
from reservoir.evidence import sources
from reservoir.evidence.claims.ranges import CannotTellError, NotRunError, Range
from reservoir.recipes.mixing import LAYOUTS
from reservoir.runs.building import outline
from reservoir.runs.convergence import WITHIN, area_under, best, cost_to_reach, epochs_to_converge
from reservoir.runs.records import Record, find_records
from reservoir.runs.sweep import choose
from reservoir.weights import Report, report

CHOSEN = "~"


@dataclass(frozen=True)
class Measure:
    """A kind of figure.

    Args:
        name: what claims call it.
        reads: what is read, a key of `READERS` or of `EXACT`.
        unit: of the figure, for a reader.
        metric: of a score; that which the record is scored by if empty.
        field: of the report on a model, where a size is read; of records the first that they have.
        factor: the figure is multiplied by it.
        log: whether its logarithm is taken.
        lend: patterns of recipes; a recipe with one seed borrows the widest spread among these.
        lent: the least half width that is lent.
        why: the reason for `lent` and for `least`.
        fit, least: a recipe, and what it must score before this measure decides anything.
    """

    name: str
    reads: str
    unit: str = ""
    metric: str = ""
    field: tuple[str, ...] = ()
    factor: float = 1.0
    log: bool = False
    lend: tuple[str, ...] = ()
    lent: float = 0.0
    why: str = ""
    fit: str = ""
    least: float = 0.0

    def __post_init__(self) -> None:
        if self.reads not in READERS | EXACT:
            raise ValueError(f"reads must be one of {', '.join(READERS | EXACT)}, got {self.reads!r}")
        if (self.lent or self.least) and not self.why:
            raise ValueError("a margin needs a reason: lent and least go with why")

    def figure(self, recipe: str, *, among: Sequence[str] = (), scale: str = "laptop") -> Range:
        """The figure of a recipe over its seeds; one seed is lent a spread.

        Args:
            recipe: its name, which may have a ~ in it; for printed figures "table | row | column".
            among: the recipes of the whole comparison, for measures that depend on all of them.
            scale: "smoke", "laptop" or "full".

        Raises:
            NotRunError: a record is missing.
            CannotTellError: what the measure rests on has hardly learned.
        """
        if self.reads in EXACT:
            return self._turned(Range.exactly(EXACT[self.reads](self, recipe)))
        if self.fit and (middle := self._bare(self.fit, (), scale)).mean < self.least:
            raise CannotTellError(f"{self.fit} reaches {middle} {self.unit}; {self.least:g} is the least")
        figure = self._bare(recipe, among, scale)
        return figure if figure.seeds > 1 else figure.widened(self._spread(recipe, among, scale))

    def needs(self, recipe: str) -> list[str]:
        """The recipes whose records the figure of `recipe` rests on."""
        return [] if self.reads in EXACT else alternatives(recipe)

    def _bare(self, recipe: str, among: Sequence[str], scale: str) -> Range:
        """The figure without a spread from elsewhere."""
        return self._turned(READERS[self.reads](self, records(recipe, scale=scale), among, scale))

    def _turned(self, figure: Range) -> Range:
        return (figure.log() if self.log else figure) * self.factor

    def _spread(self, recipe: str, among: Sequence[str], scale: str) -> float:
        """Half the widest range among the recipes that lend, of those that have been run."""
        family, head, tail = recipe.partition("/")[0], recipe.rsplit("/", 2)[0], recipe.rpartition("/")[2]
        widths = [self.lent]
        for pattern in self.lend:
            wanted = pattern.format(family=family, head=head, tail=tail)
            for name in _all_names():
                if fnmatchcase(name, wanted):
                    with contextlib.suppress(NotRunError):
                        widths.append(self._bare(name, among, scale).half_width)
        return max(widths)


def records(recipe: str, *, scale: str = "laptop") -> list[Record]:
    """The records of a recipe, one a seed, after validation has chosen what a ~ stands for.

    Raises:
        NotRunError: there is none, or the best rate of a sweep has neighbours that have not been run.
    """
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
    ends = {
        way: records(f"mixing/{way}{pretrained}", scale=scale)[0].points[-1]["metrics"]["perplexity"]
        for way in LAYOUTS
    }
    return min(ends, key=ends.__getitem__)


@functools.cache
def alternatives(recipe: str) -> list[str]:
    """The recipes that a name with a ~ chooses among, and those whose validation decides; of others, itself."""
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
def _all_names() -> list[str]:
    """Every recipe, and every sweep of rates as one name with a ~."""
    names = recipes.names()
    sweeps = {name.rpartition("/")[0] for name in names if name.rpartition("/")[2].startswith("lr-")}
    return [*names, *sorted(f"{sweep}/{CHOSEN}" for sweep in sweeps)]


@functools.cache
def _report(recipe: str) -> Report:
    return report(outline(recipes.get(recipe, scale="full")))


def _score(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> Range:
    """The score on the first test set."""
    tests = [(next(iter(one.tests.values())), measure.metric or one.scored_by) for one in found]
    return Range.of(float(scores[metric]) for scores, metric in tests)


def _last_loss(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> Range:
    """The logarithm of the last validation perplexity: nats per token."""
    return Range.of(math.log(one.points[-1]["metrics"]["perplexity"]) for one in found)


def _epochs(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> Range:
    """Epochs to converge."""
    known = [epochs_to_converge(one) for one in found if one.epoch_steps]
    if not known:
        raise NotRunError(f"no record of {found[0].recipe} says how long an epoch is")
    return Range.of(known)


def _operations(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> Range:
    """Operations of the whole training, which differ between seeds by the batches that they draw alone."""
    return Range.exactly(sum(one.flops for one in found) / len(found))


def _parameters(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> Range:
    """A size, which every seed shares."""
    sizes: dict[str, int] = dict(found[0].parameters)  # type: ignore[arg-type]
    return Range.exactly(next(sizes[name] for name in measure.field if name in sizes))


def _cost_to_reach(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> Range:
    """Operations until a run is within 2 % of the best of the last of `among`; ∞ if it never is."""
    rival = records(among[-1], scale=scale)
    target = (1 - WITHIN) * sum(map(best, rival)) / len(rival)
    costs = [cost_to_reach(one, target, axis="flops") for one in found]
    if None in costs and found == rival:  # one of its seeds is below their mean by more than that
        raise NotRunError(f"not every seed of {among[-1]} comes within 2 % of their mean best score")
    return Range.of(math.inf if cost is None else cost for cost in costs)


def _area(measure: Measure, found: list[Record], among: Sequence[str], scale: str) -> Range:
    """The area under the curve over operations, up to what the cheapest of `among` spent in all."""
    horizon = min(one.points[-1]["flops"] for name in among for one in records(name, scale=scale))
    return Range.of(area_under(one, horizon=horizon, axis="flops").value for one in found)


Reader = Callable[[Measure, list[Record], Sequence[str], str], Range]
READERS: dict[str, Reader] = {
    "score": _score,
    "last validation loss": _last_loss,
    "epochs to converge": _epochs,
    "operations": _operations,
    "parameters": _parameters,
    "cost to reach": _cost_to_reach,
    "area": _area,
}
"""What a measure can read of records."""
EXACT: dict[str, Callable[[Measure, str], Any]] = {
    "full size": lambda measure, recipe: size(recipe, *measure.field),
    "printed": lambda measure, where: printed(where),
}
"""What a measure can read without records: sizes, by shapes alone, and the figures that a source prints."""
