"""What the documents ran or describe, with our recipes for each: which recipe covers what, and what it cost us.

The rows of the sources' tables are covered by `reservoir_lab.evidence.comparison`; what they ran beyond those is listed
in `data/sources` under `system`, each with patterns over the names of our recipes, or the reason why there is none.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatchcase

import pandas as pd

from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.evidence.sources import System
from reservoir_lab.runs.records import all_records

CHAPTER = re.compile(r"(?:Chapters?|Appendix) (A?\d+)")
ELSEWHERE = {"glue": "6", "masked-wide": "8", "pairs-wide": "8"}
"""Families of a module that serves several chapters."""


def chapter(recipe: str) -> str:
    """The chapter or appendix that a recipe belongs to: the one that the module of its family names first."""
    family = recipe.partition("/")[0]
    if family in ELSEWHERE:
        return ELSEWHERE[family]
    first = next(name for name in recipes.RECIPES if name.partition("/")[0] == family)
    found = CHAPTER.search(sys.modules[recipes.RECIPES[first].__module__].__doc__ or "")
    if found is None:
        raise ValueError(f"the module of {recipe} names no chapter")
    return found[1]


def systems() -> list[System]:
    """Everything that the sources ran or describe: the rows of their tables, then the rest."""
    rows: list[System] = []
    for where, beside in comparisons().items():
        source, table = where.partition("/")[::2]
        for row, *_ in sources.table(where).rows:
            cells = [(row, column) for column in beside.measures]
            names = dict.fromkeys(name for cell in cells for name in beside.recipes.get(cell, ()))
            why = "" if names else "; ".join(dict.fromkeys(beside.why[cell] for cell in cells))
            rows.append(System(source, table, row, tuple(names), why))
    return rows + [one for name in sources.names() for one in sources.source(name).systems]


def covered_by(system: System) -> list[str]:
    """The recipes that the patterns of a system match; one that ends in /~ is a sweep of learning rates."""
    patterns = [f"{p.removesuffix('~')}lr-*" if p.endswith("/~") else p for p in system.recipes]
    return [name for name in recipes.names() if any(fnmatchcase(name, p) for p in patterns)]


def coverage() -> pd.DataFrame:
    """Every system of the sources, a line each: its recipes, how many are recorded, and where the book has it.

    "laptop" and "full" count the recipes that have a record at the scale, of those that there are.
    """
    recorded = {(record.recipe, record.scale) for record in all_records()}
    lines = []
    for one in systems():
        names = covered_by(one)
        run = {scale: sum((name, scale) in recorded for name in names) for scale in ("laptop", "full")}
        chapters = ", ".join(sorted({chapter(name) for name in names}, key=_place))
        line = {"source": one.source, "where": one.where, "system": one.words}
        line |= {"recipes": _shown(names) if names else one.why, "chapter": chapters}
        lines.append(line | {scale: f"{run[scale]} of {len(names)}" if names else "" for scale in run})
    return pd.DataFrame(lines)


def _shown(names: list[str]) -> str:
    if len(names) < 3:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"


def unclaimed() -> list[str]:
    """Recipes that stand for nothing in the sources: the book's own questions and controls."""
    taken = {name for one in systems() for name in covered_by(one)}
    return [name for name in recipes.names() if name not in taken]


def cost() -> pd.DataFrame:
    """What the records took: for each chapter and family their number and processor hours, laptop and full scale."""
    records = [one for one in all_records() if one.recipe in recipes.RECIPES and one.scale != "smoke"]
    lines = [
        (chapter(one.recipe), one.recipe.partition("/")[0], one.recipe, 1, one.cpu_seconds / 3600)
        for one in records
    ]
    frame = pd.DataFrame(lines, columns=["chapter", "family", "recipes", "records", "core-hours"])
    frame = frame.sort_values(["chapter", "family"], key=lambda column: column.map(_place))
    grouped = frame.groupby(["chapter", "family"], sort=False)
    return grouped.agg({"recipes": "nunique", "records": "sum", "core-hours": "sum"})


def _place(name: str) -> tuple[bool, int, str]:
    """What chapters are sorted by, and families: 4 before 10, 10 before A6."""
    return not name.isdigit(), int(name) if name.isdigit() else 0, name
