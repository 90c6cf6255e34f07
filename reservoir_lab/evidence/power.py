"""Whether our runs could have shown what the sources report: the power of the judge's test for their differences."""

from __future__ import annotations

import math

import pandas as pd

from reservoir_lab.evidence import claims, sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.evidence.judge import FEWEST, Estimate

UNITS = {"largest": "score", "smallest": "nats"}


def reported() -> pd.DataFrame:
    """Every row of the sources' tables against the table's first, and whether runs like ours would show as much.

    Returns:
        one line a difference: "table", "row", "column"; "reported", the difference as printed there, of perplexities
        that of their logarithms; "unit"; "ours" with its 95 % interval; "runs" a side; "shown", the smallest difference
        that runs like ours show four times in five; "power", how often they would show the reported one. Rows
        without three runs of ours are left out, and those that the source has equal.
    """
    lines = []
    for where, compared in comparisons().items():
        if not compared.best:
            continue
        table, log = sources.table(where), compared.best == "smallest"
        first, *others = [row for row, *_ in table.rows]
        for column in (name for name, measure in compared.measures.items() if measure == "score"):
            found: dict[str, tuple[float, Estimate]] = {}
            for row in (first, *others):
                try:
                    recipe, *_ = compared.recipes[row, column]
                    score, printed = (
                        claims.figure("score", recipe),
                        table.figure(row, column).value,
                    )
                except (KeyError, claims.NotRunError, ValueError):  # no recipe, no record, or no number there
                    continue
                found[row] = (math.log(printed), score.log()) if log else (printed, score)
            for row in (row for row in others if {first, row} <= found.keys()):
                gap = found[row][1] - found[first][1]
                if gap.runs < FEWEST or not gap.errors:
                    continue
                effect = found[row][0] - found[first][0]
                if effect == 0:  # which no run can show
                    continue
                line = {"table": where, "row": row, "column": column, "reported": effect}
                ours = {"unit": UNITS[compared.best], "ours": f"{gap:2}", "runs": int(gap.runs)}
                lines.append(line | ours | {"shown": gap.detectable(), "power": gap.power(abs(effect))})
    return pd.DataFrame(lines)
