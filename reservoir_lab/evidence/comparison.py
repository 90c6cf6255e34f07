"""The sources' tables with ours next to them, what the records of a row's recipes say; and tables of recorded runs, a
line a recipe.

Which recipes a row is stands in `data/sources` with the table: under `ours`, the measure of each column, the recipes of
each row, or the reason why it has none. In a recipe, {column} stands for what `columns` calls the column; a recipe that
ends in /~ is the sweep of its learning rates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from reservoir.weights import report
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.sources import Figure
from reservoir_lab.runs.building import outline
from reservoir_lab.runs.convergence import frame
from reservoir_lab.runs.records import METRICS, Record, find_records
from reservoir_lab.runs.registry import Scale, family_or_own
from reservoir_lab.runs.sweep import choose

NOT_RUN = "not run"
CHOSEN = "~"
"""What a name ends in that stands for the learning rate that validation chose."""


@dataclass(frozen=True)
class Ours:
    """What stands next to a figure.

    Args:
        shown: the mean over seeds and their standard deviation; a number that follows from sizes; or `NOT_RUN`.
        seeds: how many runs; 0 where nothing has to be run.
        scale: at which they ran, or whose sizes were counted.
        machine: on which.
    """

    shown: str = NOT_RUN
    seeds: int = 0
    scale: str = ""
    machine: str = ""


@dataclass(frozen=True)
class Line:
    """One entry of a source's table with ours next to it.

    Args:
        figure: the entry, as printed.
        recipe: what it is compared with, empty where there is none; a sweep ends in /~.
        why: where there is no recipe, the reason.
        ours: what its records say.
    """

    figure: Figure
    recipe: str
    why: str
    ours: Ours

    @property
    def name(self) -> str:
        """The recipe; of a sweep, the part of the name that its recipes share."""
        return self.recipe.removesuffix(f"/{CHOSEN}")


@dataclass(frozen=True)
class Comparison:
    """What stands next to the entries of one table.

    Args:
        where: the table, such as "poster/big".
        measures: column -> what is read for its entries, a key of `MEASURES`. The other columns describe the rows.
        recipes: (row, column) -> recipes. Several are several readings of the row, a line each.
        why: (row, column) -> the reason why no recipe stands next to the entry.
    """

    where: str
    measures: Mapping[str, str]
    recipes: Mapping[tuple[str, str], tuple[str, ...]]
    why: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def lines(self, scale: Scale = "laptop") -> list[Line]:
        """The entries of the measured columns, row by row.

        Raises:
            KeyError: an entry has neither a recipe nor a reason.
        """
        table, found = sources.table(self.where), []
        for row, *_ in table.rows:
            for column, measure in self.measures.items():
                figure = table.figure(row, column)
                for recipe in self.recipes.get((row, column), ()):
                    found.append(Line(figure, recipe, "", MEASURES[measure](recipe, scale)))
                if (row, column) not in self.recipes:
                    found.append(Line(figure, "", self.why[row, column], Ours("")))
        return found

    def frame(self, scale: Scale = "laptop") -> pd.DataFrame:
        """The table as text: the source's columns, each with the mark of its origin, and ours.

        Where one column is measured, the others of the source stand next to it; where several are, one line an entry.
        """
        table, lines = sources.table(self.where), []
        printed = table.printed()
        only = next(iter(self.measures)) if len(self.measures) == 1 else ""
        for line in self.lines(scale):
            row, column = line.figure.row, line.figure.column
            theirs: dict[str, Any] = {"column": column, f"printed [{table.kind}]": line.figure.printed}
            if only:
                theirs = {f"{name} [{table.kind}]": printed.at[row, name] for name in table.columns[1:]}
            ours = {
                f"ours: {only}" if only else "ours": line.ours.shown,
                "seeds": str(line.ours.seeds or ""),
                "scale": line.ours.scale,
                "machine": line.ours.machine,
            }
            lines.append({table.columns[0]: row, **theirs, "recipe": line.name or line.why, **ours})
        return pd.DataFrame(lines)


@functools.cache
def comparisons() -> dict[str, Comparison]:
    """Every table of `data/sources` with what stands next to it, in the order of the documents."""
    found = {}
    for table in (one for name in sources.names() for one in sources.source(name).tables.values()):
        written, columns = table.ours, table.columns[1:]
        measures = written["measures"]
        if isinstance(measures, str):
            measures = dict.fromkeys(columns, measures)
        called, named = written.get("columns", {}), {}
        for row, names in written.get("recipes", {}).items():
            for column in measures:
                named[row, column] = tuple(name.format(column=called.get(column, column)) for name in names)
        why = {(row, column): said for row, said in written.get("why", {}).items() for column in measures}
        found[table.where] = Comparison(table.where, measures, named, why)
    return found


def alternatives(recipe: str) -> list[str]:
    """The recipes that a name chooses among: the rates of a sweep if it ends in /~, else itself."""
    stem = recipe.removesuffix(CHOSEN)
    if stem == recipe:
        return [recipe]
    found = [name for name in recipes.names() if name.startswith(f"{stem}lr-")]
    return sorted(found, key=lambda name: float(name.rpartition("lr-")[2]))


def score(recipe: str, scale: Scale) -> Ours:
    """The score on the first test set; of a sweep at the rate that validation chose, and whether it is whole."""
    if not recipe.endswith(f"/{CHOSEN}"):
        return _over_seeds(find_records(recipe, scale=scale), lambda record: record.score, scale)
    chosen = choose(alternatives(recipe), scale=scale)
    note = "" if chosen is None or chosen.complete else " (a neighbouring rate not run)"
    return _over_seeds(chosen.records if chosen else [], lambda record: record.score, scale, note)


def horizon(recipe: str, scale: Scale) -> Ours:
    """Hours at which the area under a recipe's curve is cut off: its steps times the median duration of one."""
    return _over_seeds(find_records(recipe, scale=scale), lambda record: record.aucc["horizon"] / 3600, scale)


def _over_seeds(found: list[Record], read: Callable[[Record], float], scale: Scale, note: str = "") -> Ours:
    if not found:
        return Ours()
    return Ours(spread(pd.Series(map(read, found))) + note, len(found), scale, machines(found))


def _counted(name: str) -> Callable[[str, Scale], Ours]:
    """A size of the model at the full scale, as the sources count it, whatever the scale of the table."""

    def counted(recipe: str, scale: Scale) -> Ours:
        made_of = report(outline(recipes.get(recipe, scale="full")))
        return Ours(f"{getattr(made_of, name):,}", scale="full")

    return counted


def _setting(read: Callable[[Any], Any]) -> Callable[[str, Scale], Ours]:
    """A field of the recipe at the full scale."""

    return lambda recipe, scale: Ours(str(read(recipes.get(recipe, scale="full"))), scale="full")


MEASURES: dict[str, Callable[[str, Scale], Ours]] = {
    "score": score,
    "horizon": horizon,
    "trained": _counted("trainable_all_rows"),
    "total": _counted("weights"),
    "learning rate": _setting(lambda run: f"{run.optimiser.lr:g}"),
    "dropout": _setting(lambda run: run.model.dropout),
    "weight decay": _setting(lambda run: f"{run.optimiser.weight_decay:g}"),
    "epochs": _setting(lambda run: f"{run.budget.steps:,} steps"),
    "tokens a batch": _setting(lambda run: run.task.max_tokens * run.budget.accumulate),
}
"""What can be read of a recipe to stand next to a figure."""


def spread(values: pd.Series, digits: int = 2) -> str:
    """The mean, and the standard deviation of the sample where there are two values or more."""
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1):.{digits}f}"


def machines(found: Iterable[Record]) -> str:
    """The GPUs or processors of some records, each once."""
    return ", ".join(sorted({record.machine["gpu"] or record.machine["cpu"] for record in found}))


def table(name: str, *, scale: Scale = "laptop") -> pd.DataFrame:
    """The recorded runs of a family of recipes, one line a recipe.

    Args:
        name: a family such as "transformer", or one recipe or run of your own.
        scale: "smoke", "laptop" or "full".

    Returns:
        A DataFrame of text: the score on each test set as mean ± standard deviation over seeds (of the sample, where
        there are two or more), number of seeds, parameters, steps, minutes and processor. A recipe that nobody has run
        says so.
    """
    recipes = family_or_own(name)  # before any record is read: a name that nothing has is said at once
    records = frame(name, scale=scale)
    lines = []
    for recipe in recipes:
        runs = records[records["recipe"] == recipe] if len(records) else records
        if not len(runs):
            lines.append({"recipe": recipe, "seeds": "not run"})
            continue
        one = runs.drop_duplicates("seed")
        scores = {
            f"{METRICS.get(str(metric), metric)} {test}": spread(group[metric])
            for (metric, test), group in runs.groupby(["metric", "test"], sort=False)
        }
        sizes = {"trained": "trainable", "of": "total", "steps": "steps"}
        lines.append(
            {"recipe": recipe, "seeds": str(len(one)), **scores}
            | {shown: f"{one[column].iloc[0]:,}" for shown, column in sizes.items()}
            | {
                "minutes": spread(one["cpu_seconds"] / 60, digits=1),
                "on": ", ".join(sorted(set(one["gpu"].fillna(one["cpu"])))),
            }
        )
    return pd.DataFrame(lines).fillna("")


def over_seeds(values: Iterable[float], *, digits: int = 1, none: str = "not run yet") -> str:
    """Figures of several seeds as a page shows them: "31.5 (30.9 to 32.0)", the mean and the smallest and largest.

    Args:
        values: one a seed; of a single one there is no range.
        digits: after the point.
        none: what is said of no values.
    """
    values = list(values)
    if not values:
        return none
    mean = f"{sum(values) / len(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"
