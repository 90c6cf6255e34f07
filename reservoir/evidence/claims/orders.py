"""The order of a table's rows is a claim as well: what the source has clearly above something else should be there.

A pair of rows counts where the source has them further apart than a margin. The pairs that our records have run must
all lie in the source's order; one that clearly does not refutes.
"""

from __future__ import annotations

import contextlib
from itertools import permutations

from reservoir.evidence import sources
from reservoir.evidence.claims.quantities import Figure
from reservoir.evidence.claims.ranges import NotRunError, Range, Word, above, every
from reservoir.evidence.claims.schema import Order
from reservoir.evidence.comparison import Line, comparisons

SHOWN = 3  # pairs that lie the wrong way round

Key = tuple[str, str, str]
"""Contest, row, recipe."""


def in_order(claimed: Order, figure: Figure) -> tuple[Word, str]:
    """Whether our rows lie as the source's do.

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
    ours: dict[Key, Range] = {}
    for key, line in lines.items():
        with contextlib.suppress(NotRunError):
            ours[key] = figure(claimed.measure, line.recipe, ())
    words = {(a, b): above((ours[a] - ours[b]) * sign) for a, b in pairs if a in ours and b in ours}
    if 2 * len(words) < len(pairs):
        raise NotRunError(f"{len(words)} of {len(pairs)} pairs of rows have been run at the laptop scale")
    counts = [f"{list(words.values()).count(word)} {word}" for word in ("confirmed", "refuted", "undecided")]
    seen = f"of {len(pairs)} pairs {len(words)} have been run: {', '.join(counts)}"
    wrong = [
        f"{a[2].partition('/')[2]} is not better than {b[2].partition('/')[2]}"
        for (a, b), word in words.items()
        if word == "refuted"
    ]
    if wrong:
        seen += f"; {'; '.join(wrong[:SHOWN])}{'; …' if len(wrong) > SHOWN else ''}"
    return every(words.values()), seen


def _key(claimed: Order, line: Line) -> Key:
    """The contest that an entry takes part in, its row and its recipe."""
    row, column = line.figure.row, line.figure.column
    if claimed.contests:
        column = sources.table(claimed.table).figure(row, claimed.contests).printed
    return column, row, line.name
