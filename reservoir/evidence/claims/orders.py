"""The order of a table's rows is a claim as well: what the source has clearly above something else should be there.

A pair of rows counts where the source has them further apart than a margin. The pairs that our records have run must
all lie in the source's order; one that clearly does not, after Holm's correction, refutes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from itertools import permutations

from reservoir.evidence import sources
from reservoir.evidence.claims.measures import NotRunError
from reservoir.evidence.claims.quantities import Figure
from reservoir.evidence.claims.schema import Order
from reservoir.evidence.comparison import Line, comparisons
from reservoir.evidence.judge import Clause, Comparison, Estimate, Every, judge

Key = tuple[str, str, str]
"""Contest, row, recipe."""


def in_order(claimed: Order, figure: Figure) -> tuple[Clause, str]:
    """That our rows lie as the source's do, and how many pairs are clear.

    Args:
        claimed: the order.
        figure: gives our figures.

    Raises:
        NotRunError: fewer than half of the pairs that count have been run.
    """
    beside = comparisons()[claimed.table]
    lines = {_key(claimed, line): line for line in beside.lines() if line.recipe}
    sign = -1 if beside.best == "smallest" else 1

    def better(a: Key, b: Key) -> bool:
        one, other = lines[a].figure.value, lines[b].figure.value
        return other / one - 1 > claimed.margin if sign < 0 else one - other > claimed.margin

    pairs = [(a, b) for a, b in permutations(lines, 2) if a[0] == b[0] and better(a, b)]
    ours: dict[Key, Estimate] = {}
    for key, line in lines.items():
        with contextlib.suppress(NotRunError):
            ours[key] = figure(claimed.measure, line.recipe, ())
    found = [
        Comparison((ours[a] - ours[b]) * sign, low=0.0, name=f"{_short(a)} before {_short(b)}")
        for a, b in pairs
        if a in ours and b in ours
    ]
    if 2 * len(found) < len(pairs):
        raise NotRunError(f"{len(found)} of {len(pairs)} pairs of rows have been run at the laptop scale")
    outcomes = Counter(judge(one).outcome for one in found)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    return Every(tuple(found)), f"of {len(pairs)} pairs {len(found)} have been run; one by one, {counts}"


def _short(key: Key) -> str:
    return key[2].partition("/")[2]


def _key(claimed: Order, line: Line) -> Key:
    """The contest that an entry takes part in, its row and its recipe."""
    row, column = line.figure.row, line.figure.column
    if claimed.contests:
        column = sources.table(claimed.table).figure(row, claimed.contests).printed
    return column, row, line.name
