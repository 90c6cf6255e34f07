"""The order of a table's rows is a claim as well: what the source puts clearly above something else should lie there.

One entry a table whose rows compete. A pair of rows counts where the source has them further apart than a margin. The
pairs that our records have run must all lie in the source's order; one that clearly does not refutes.
"""

from __future__ import annotations

import contextlib
from itertools import permutations

from reservoir.evidence import sources
from reservoir.evidence.claims import universal
from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import NotRunError, Range, Word, above, every, score, spread
from reservoir.evidence.comparison import Line
from reservoir.evidence.source_recipes import COMPARISONS, TASKS

MARGINS = {
    "poster/big": 1.0,
    "poster/narrow": 1.0,
    "poster/lm": 0.1,
    "frozen-pretrained/accuracy": 2.0,
    "frozen-pretrained/cifar10-added": 2.0,
    "cross-modal/accuracy": 2.0,
    "one-layer/translation": 1.0,
}
"""Table -> how far apart two rows must be to count: BLEU, points of accuracy, or a share of the smaller perplexity."""
APART = {"one-layer/translation": "Task"}
"""Tables with several contests, and the column that tells them apart."""
LATE = ("poster/big", "poster/narrow", "poster/lm")
SHOWN = 3  # pairs that lie the wrong way round

Key = tuple[str, str, str]
"""Contest, row, recipe."""


def _entries(where: str) -> dict[Key, Line]:
    """What competes: each entry that has a recipe."""
    found = {}
    for line in COMPARISONS[where].lines():
        if line.name:
            row, column = line.figure.row, line.figure.column
            contest = sources.table(where).figure(row, APART[where]).printed if where in APART else column
            found[contest, row, line.name] = line
    return found


def _ours(where: str, entries: dict[Key, Line]) -> dict[Key, Range]:
    """Our figures over seeds, of those that have been run; one seed borrows the widest spread of the table."""
    lent = spread(line.recipes[0] for line in entries.values()) if not COMPARISONS[where].sweep else 0.0
    found = {}
    for key, line in entries.items():
        with contextlib.suppress(NotRunError):
            if COMPARISONS[where].sweep:
                found[key] = universal.swept(TASKS[line.figure.column], line.name.rpartition("/")[2])
            else:
                found[key] = score(line.recipes[0]).widened(lent)
    return found


def _better(where: str, one: float, other: float) -> bool:
    """Whether the source has `one` clearly better than `other`."""
    if COMPARISONS[where].best == "smallest":
        return other / one - 1 > MARGINS[where]
    return one - other > MARGINS[where]


def order(where: str) -> tuple[Word, str]:
    """Whether our rows lie as the source's do.

    Raises:
        NotRunError: fewer than half of the pairs that count have been run.
    """
    entries = _entries(where)
    pairs = [
        (a, b)
        for a, b in permutations(entries, 2)
        if a[0] == b[0] and _better(where, entries[a].figure.value, entries[b].figure.value)
    ]
    ours = _ours(where, entries)
    sign = -1 if COMPARISONS[where].best == "smallest" else 1
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


def _enter(where: str) -> None:
    beside, quoted = COMPARISONS[where], sources.table(where)
    unit = f"{MARGINS[where]:.0%}" if beside.best == "smallest" else f"{MARGINS[where]:g}"
    claim(
        f"{where}-order",
        says=f"the order of the rows by {' and '.join(beside.measures) if len(beside.measures) < 3 else 'accuracy'}",
        where=f"{quoted.source}, {quoted.title} [{quoted.kind}]",
        rule=f"every two rows that the source has more than {unit} apart lie in that order here, whatever seeds meet",
        recipes=[name for group in beside.recipes.values() for name in group],
        late=where in LATE,
    )(lambda: order(where))


for _where in MARGINS:
    _enter(_where)
