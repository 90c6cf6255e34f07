"""The front page's table: the bench's tasks, and what is left of each where a part is not learned; a press trains a cell."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import traitlets

from reservoir_book.explorables import bench, pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.explorables.playground import WORDS
from reservoir_lab.recipes.bench import MAIN, ROWS

TASKS = {
    "circle": "six steps around a circle",
    "brackets": "nested brackets",
    "facts": "4,096 facts",
    "grammar": "German to English",
}
"""Task -> what is asked, in a few words."""
assert tuple(TASKS) == MAIN


class Part(NamedTuple):
    """A line of the table: what it is about, what becomes of that, the row of the bench, and the origin it shows."""

    of: str
    how: str
    row: str
    origin: str


PARTS = tuple(
    Part(*said)
    for said in (
        ("everything", "trained", "trained", "trained"),
        ("attention", "removed", "no-attention", "fixed"),
        ("attention", "frozen at random", "frozen-attention", "seeded"),
        ("attention", "masked", "mask-attention", "masked"),
        ("feed-forward", "removed", "no-feed-forward", "fixed"),
        ("feed-forward", "frozen at random", "frozen-feed-forward", "seeded"),
        ("feed-forward", "masked", "mask-feed-forward", "masked"),
        ("embeddings", "frozen at random", "frozen-embeddings", "seeded"),
        ("embeddings", "masked", "mask-embeddings", "masked"),
        ("all layers", "frozen at random", "frozen-attention-feed-forward", "seeded"),
        ("all layers", "masked", "mask", "masked"),
        ("layers", "half as many", "half", "trained"),
        ("layers", "every second one random", "reservoir-transformer", "seeded"),
    )
    if said[2] in ROWS
)
"""The table's lines, those that the bench has."""
