"""Chapter 10: masks over random weights and trained models rounded to few bits, all six times as long as in `keep/`.

The paper leaves open whether, for the same bytes, a mask is better than trained weights of few bits. In `keep/` the
trained models are cut short and scored before rounding. Here each row has six times the steps, at the learning rate
that it has there, and a copy of each trained model with its matrices rounded to eight and to four bits is scored as
well. No embeddings come from another model, so there is no donor to pay for.

A rounded matrix needs a scale for each row, which the bytes of the narrow rows leave out. The `narrower` rows fit into
the masks' bytes with these scales counted, 32 bits each.

Budget at the laptop scale in minutes of one core: `trained` and `masks` 5 each, the narrow rows 2 to 3.
"""

from collections.abc import Callable
from functools import partial

from reservoir.recipes.supermasks import HALF, NARROW, kept, narrow, trained
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run

LONGER = 6
"""Times the steps of `keep/`."""

NARROWER: dict[int, dict[Scale, tuple[int, int]]] = {
    8: {"smoke": (12, 48), "laptop": (28, 112), "full": (148, 256)},
    4: {"smoke": (20, 48), "laptop": (48, 112), "full": (216, 512)},
}
"""Bits a weight -> d_model and d_ff with which the scales of the rows fit into the masks' bytes too."""

ROWS: dict[str, tuple[Callable[[Scale], Run], str]] = {
    "trained": (trained, "Everything trained, a layer for each depth."),
    "masks": (partial(kept, "shared", "random", HALF), "Half of one shared random layer and embeddings."),
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


def longer(row: str, scale: Scale) -> Run:
    """A row of `keep/`, trained longer; trained ones are tested in few bits as well."""
    run = ROWS[row][0](scale)
    if row != "masks":
        run = run.evolve(task={"rounded": tuple(NARROW)})
    if scale == "smoke":
        return run
    steps = LONGER * run.budget.steps
    return run.evolve(budget={"steps": steps, "validate_every": steps // 12})


for _row, (_, _about) in ROWS.items():
    enter(f"few-bits/{_row}", _about, longer, _row)
