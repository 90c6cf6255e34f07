"""A table of the sources with ours beside it: what the records of a row's recipes say, with seeds, scale and machine.

Which recipe a row is stands in `reservoir.evidence.source_recipes`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from reservoir import recipes
from reservoir.evidence import sources
from reservoir.evidence.sources import Figure
from reservoir.runs.building import outline
from reservoir.runs.records import Record, find_records
from reservoir.runs.registry import Scale
from reservoir.runs.run import Run
from reservoir.runs.sweep import choose
from reservoir.weights import report

NOT_RUN = "not run"


@dataclass(frozen=True)
class Ours:
    """What stands beside a figure.

    Args:
        shown: the mean over seeds and their standard deviation; a number that follows from sizes; or `NOT_RUN`.
        mean: the mean alone, where it is a score of records.
        seeds: how many runs; 0 where nothing has to be run.
        scale: at which they ran, or whose sizes were counted.
        machine: on which.
    """

    shown: str = NOT_RUN
    mean: float | None = None
    seeds: int = 0
    scale: str = ""
    machine: str = ""


Measure = Callable[[tuple[str, ...], Scale], Ours]
"""Looks at the recipes of an entry at a scale."""


@dataclass(frozen=True)
class Line:
    """One entry of a source's table with ours beside it.

    Args:
        figure: the entry, as printed.
        name: the recipe; of a sweep, the part of the name that its recipes share. Empty where there is none.
        recipes: those whose records are read.
        why: where there is no recipe, the reason.
        ours: what they say.
    """

    figure: Figure
    name: str
    recipes: tuple[str, ...]
    why: str
    ours: Ours


@dataclass(frozen=True)
class Comparison:
    """What stands beside the entries of one table.

    Args:
        where: the table, such as "poster/big".
        measures: column -> what is read beside its entries. The other columns of the table describe its rows.
        recipes: (row, column) -> recipes. Several are several readings of the row, a line each.
        why: (row, column) -> the reason why no recipe stands beside the entry.
        sweep: whether the recipes of an entry are one sweep, and so one line.
        best: "largest" or "smallest" where the rows of a column compete; empty where they do not.
    """

    where: str
    measures: Mapping[str, Measure]
    recipes: Mapping[tuple[str, str], tuple[str, ...]]
    why: Mapping[tuple[str, str], str] = field(default_factory=dict)
    sweep: bool = False
    best: str = ""

    def lines(self, scale: Scale = "laptop") -> list[Line]:
        """The entries of the measured columns, row by row.

        Raises:
            KeyError: an entry has neither a recipe nor a reason.
        """
        table, found = sources.table(self.where), []
        for row, *_ in table.rows:
            for column, measure in self.measures.items():
                names, figure = self.recipes.get((row, column), ()), table.figure(row, column)
                if not names:
                    found.append(Line(figure, "", (), self.why[row, column], Ours("")))
                    continue
                for group in [names] if self.sweep else [(name,) for name in names]:
                    name = group[0].rpartition("/")[0] if self.sweep else group[0]
                    found.append(Line(figure, name, group, "", measure(group, scale)))
        return found

    def frame(self, scale: Scale = "laptop") -> pd.DataFrame:
        """The table as text: the source's columns, each with the mark of its origin, and ours.

        Where one column is measured, the others of the source stand beside it; where several are, one line an entry.
        """
        table, lines = sources.table(self.where), []
        printed = table.printed()
        for line in self.lines(scale):
            row, column = line.figure.row, line.figure.column
            if len(self.measures) == 1:
                theirs = {f"{name} [{table.kind}]": printed.loc[row, name] for name in printed}
            else:
                theirs = {"column": column, f"printed [{table.kind}]": line.figure.printed}
            lines.append(
                {
                    table.columns[0]: row,
                    **theirs,
                    "recipe": line.name or line.why,
                    f"ours: {next(iter(self.measures))}"
                    if len(self.measures) == 1
                    else "ours": line.ours.shown,
                    "seeds": str(line.ours.seeds or ""),
                    "scale": line.ours.scale,
                    "machine": line.ours.machine,
                }
            )
        return pd.DataFrame(lines)


def score(names: tuple[str, ...], scale: Scale) -> Ours:
    """The score of a recipe on its first test set."""
    return _scored(find_records(names[0], scale=scale), scale)


def swept(names: tuple[str, ...], scale: Scale) -> Ours:
    """The score at the learning rate that validation chose. A sweep that is not whole says so."""
    found = choose(names, scale=scale)
    if found is None:
        return Ours()
    note = "" if found.complete else " (a rate beside it not run)"
    return _scored(found.records, scale, note)


def trained(names: tuple[str, ...], scale: Scale) -> Ours:
    """How many numbers are trained at the full scale, whatever `scale` says."""
    return _size(f"{_sizes(names[0])[0]:,}")


def total(names: tuple[str, ...], scale: Scale) -> Ours:
    """How many parameters there are at the full scale, whatever `scale` says."""
    return _size(f"{_sizes(names[0])[1]:,}")


def setting(read: Callable[[Run], Any]) -> Measure:
    """A field of the recipe at the full scale."""
    return lambda names, scale: _size(str(read(recipes.get(names[0], scale="full"))))


def horizon(names: tuple[str, ...], scale: Scale) -> Ours:
    """Hours at which the area under a recipe's curve is cut off: its steps times the median duration of one."""
    found = find_records(names[0], scale=scale)
    if not found:
        return Ours()
    hours = pd.Series([record.aucc["horizon"] / 3600 for record in found])
    return Ours(spread(hours), None, len(found), scale, machines(found))


def spread(values: pd.Series, digits: int = 2) -> str:
    """The mean, and the standard deviation of the sample where there are two values or more."""
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1):.{digits}f}"


def machines(found: Iterable[Record]) -> str:
    """The GPUs or processors of some records, each once."""
    return ", ".join(sorted({record.machine["gpu"] or record.machine["cpu"] for record in found}))


def _scored(found: list[Record], scale: Scale, note: str = "") -> Ours:
    if not found:
        return Ours()
    scores = pd.Series([record.score for record in found])
    return Ours(spread(scores) + note, float(scores.mean()), len(found), scale, machines(found))


def _size(shown: str) -> Ours:
    return Ours(shown, scale="full")


@functools.cache
def _sizes(name: str) -> tuple[int, int]:
    """Numbers that are trained and parameters in all as the sources count them, on the meta device."""
    made_of = report(outline(recipes.get(name, scale="full")))
    return made_of.trainable_all_rows, made_of.weights
