"""The sources' tables next to ours (appendix A2)."""

from __future__ import annotations

import pandas as pd

from reservoir_lab.evidence import sources
from reservoir_lab.evidence.comparison import comparisons
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
