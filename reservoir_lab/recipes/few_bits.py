"""Chapter 8: masks over random weights and trained models rounded to few bits, all six times as long as in `keep/`.

The paper leaves open whether, for the same bytes, a mask is better than trained weights of few bits. In `keep/` the
trained models are cut short and scored before rounding. Here each row has six times the steps, at the learning rate
that it has there, and a copy of each trained model with its matrices rounded to eight and to four bits is scored as
well. Embeddings that come from another model are paid for: `pretrained` and `embeddings`, its donor, have half of the
steps each. The rows that end in `-twice` have twice the steps again: what they gain is what the others have left.

A rounded matrix needs a scale for each row, which the bytes of the narrow rows leave out. The `narrower` rows fit into
the masks' bytes with these scales counted, 32 bits each.

Budget at the laptop scale in minutes of one core: `trained` and `masks` 5 each, twice as long 10, the others 2 to 3.
"""

from collections.abc import Callable
from functools import partial

from reservoir_lab.recipes.supermasks import HALF, NARROW, kept, narrow, trained, with_embeddings
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

LONGER = 6
"""Times the steps of `keep/`."""

NARROWER: dict[int, dict[Scale, tuple[int, int]]] = {
    8: {"smoke": (12, 48), "laptop": (28, 112), "full": (148, 256)},
    4: {"smoke": (20, 48), "laptop": (48, 112), "full": (216, 512)},
}
"""Bits a weight -> d_model and d_ff with which the scales of the rows fit into the masks' bytes too."""


def masks(scale: Scale) -> Run:
    """Half of one shared random layer and of the embeddings."""
    return kept("shared", "random", HALF, scale)


ROWS: dict[str, tuple[Callable[[Scale], Run], str]] = {
    "trained": (trained, "Everything trained, a layer for each depth."),
    "masks": (masks, "Half of one shared random layer and embeddings."),
    "embeddings": (trained, "Everything trained for half of the steps, for its embeddings."),
    "pretrained": (
        lambda scale: with_embeddings(masks(scale), "few-bits/embeddings"),
        "Half of one shared random layer over trained embeddings, in the other half of the steps.",
    ),
    **{
        f"{name}-{bits}": (
            partial(narrow, bits, sizes=sizes),
            f"Everything trained, so narrow that {bits} bits a weight {what} the masks' bytes.",
        )
        for name, sizes, what in (
            ("narrow", NARROW, "take"),
            ("narrower", NARROWER, "and the rows' scales take"),
        )
        for bits in sizes
    },
}
"""Name in a recipe -> the row of `keep/` that is trained longer, and what it is."""
HALVED = ("embeddings", "pretrained")
"""Rows that share the steps of one."""
TWICE = ("trained", "masks")
"""Rows that are trained for twice the steps as well."""


def longer(row: str, scale: Scale, length: int = LONGER) -> Run:
    """A row of `keep/`, trained `length` times as long; trained ones are tested in few bits as well."""
    run = ROWS[row][0](scale)
    if row not in ("masks", *HALVED):
        run = run.evolve(task={"rounded": tuple(NARROW)})
    if scale == "smoke":
        return run
    steps, times = length * run.budget.steps, 12
    if row in HALVED:
        steps, times = steps // 2, 10
    return run.evolve(budget={"steps": steps, "validate_every": steps // times})


for _row, (_, _about) in ROWS.items():
    enter(f"few-bits/{_row}", _about, longer, _row)
for _row in TWICE:
    enter(
        f"few-bits/{_row}-twice", f"{ROWS[_row][1]} Twice the steps again.", longer, _row, length=2 * LONGER
    )
