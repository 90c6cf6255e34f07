"""The sources' tables next to ours (appendix A2)."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pandas as pd

from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.runs.convergence import all_records
from reservoir_lab.runs.registry import Scale


def beside(where: str, *, scale: Scale = "laptop") -> pd.DataFrame:
    """A table of a source next to ours; where several columns are measured, each cell holds both figures.

    Such a cell has the source's figure, a bar, and ours with its number of seeds.
    """
    one, table = comparisons()[where], sources.table(where)
    if len(one.measures) == 1:
        frame = one.frame(scale).set_index(table.columns[0]).rename_axis(None)
        return frame[[name for name in frame if name != "scale" or frame[name].nunique() > 2]]
    found: dict[str, dict[str, str]] = {}
    for line in one.lines(scale):
        seeds = f", {line.ours.seeds} seeds" if line.ours.seeds > 1 else ""
        column, cell = f"{line.figure.column} [{table.kind}] | ours", line.ours.shown or "–"
        found.setdefault(line.figure.row, {})[column] = f"{line.figure.printed} | {cell}{seeds}"
    return pd.DataFrame(found).T


def run_at(scale: Scale) -> pd.DataFrame:
    """For each table, how many of its entries have a recipe, and how many of those have a record at the scale."""
    lines = {}
    for where, one in comparisons().items():
        found = one.lines(scale)
        ours = [line.ours for line in found if line.name]
        lines[where] = {
            "entries": len(found),
            "with a recipe": len(ours),
            "without, for a reason": len(found) - len(ours),
            "counted, nothing to run": sum(bool(one.scale and not one.seeds) for one in ours),
            f"run at {scale}": sum(bool(one.seeds) for one in ours),
        }
    return pd.DataFrame(lines).T


def standing_for(system: sources.System) -> list[str]:
    """The recipes that the patterns of a system match; one that ends in /~ is a sweep of learning rates."""
    patterns = [f"{p.removesuffix('~')}lr-*" if p.endswith("/~") else p for p in system.recipes]
    return [name for name in recipes.names() if any(fnmatchcase(name, p) for p in patterns)]


def systems(source: str) -> pd.DataFrame:
    """What a source ran or describes beyond the rows of its tables: our recipes for it, or why there is none."""
    recorded = {record.recipe for record in all_records() if record.scale == "laptop"}
    lines = []
    for one in sources.source(source).systems:
        names = standing_for(one)
        shown = ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]} ({len(names)})"
        run = f"{sum(name in recorded for name in names)} of {len(names)}" if names else ""
        lines.append(
            {"where": one.where, "system": one.words, "recipes": shown or one.why, "run at laptop": run}
        )
    return pd.DataFrame(lines, columns=["where", "system", "recipes", "run at laptop"]).set_index("where")
