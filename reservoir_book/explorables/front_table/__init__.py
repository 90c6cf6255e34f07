"""The front page's table: what is left of each task of the bench where a part is not learned. A press trains a cell."""

from __future__ import annotations

from typing import Any, NamedTuple

import traitlets

from reservoir_book.explorables import bench, pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.explorables.playground import WORDS
from reservoir_lab.recipes.bench import ROWS

TASKS = {
    "circle": "who is 6 on?",
    "brackets": "what is open?",
    "facts": "remember 4,096",
    "grammar": "translate",
}
"""Task -> what is asked, in a few words."""


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
        ("attention", "frozen", "frozen-attention", "seeded"),
        ("attention", "masked", "mask-attention", "masked"),
        ("feed-forward", "removed", "no-feed-forward", "fixed"),
        ("feed-forward", "frozen", "frozen-feed-forward", "seeded"),
        ("feed-forward", "masked", "mask-feed-forward", "masked"),
        ("embeddings", "frozen", "frozen-embeddings", "seeded"),
        ("embeddings", "masked", "mask-embeddings", "masked"),
        ("all layers", "frozen", "frozen-attention-feed-forward", "seeded"),
        ("all layers", "masked", "mask", "masked"),
        ("layers", "half as many", "half", "trained"),
        ("layers", "random between", "reservoir-transformer", "seeded"),
    )
    if said[2] in ROWS
)
"""The table's lines, those that the bench has."""


def cell(task: str, row: str) -> dict[str, Any]:
    """A cell: its name, its settings as a line, and what is recorded of it."""
    return {"name": f"{task}/{row}", "line": bench.line(task, row), **bench.recorded(task, row)}


class FrontTable(Explorable, source=__file__):
    """Tasks and parts, coloured by the share of answers that are right; each cell trains in the reader's browser.

    Make it with `FrontTable.of_bench()`.

    Attributes:
        cell: "<task>/<row>", the one that is shown.
        tasks: from `bench.tasks`, each with what it asks, `said`.
        parts: the table's lines, each a `Part` with its cells by task.
        lexicon: the words of the miniature grammar.
    """

    cell = traitlets.Unicode().tag(sync=True)
    tasks = traitlets.List(traitlets.Dict()).tag(sync=True)
    parts = traitlets.List(traitlets.Dict()).tag(sync=True)
    lexicon = traitlets.Dict().tag(sync=True)

    @classmethod
    def of_bench(cls, **settings: Any) -> FrontTable:
        """The table with the runs that are recorded."""
        settings.setdefault("label", "Which parts of a transformer have to be learned?")
        settings.setdefault("text", "Press a cell to train that model here, from a seed of your own.")
        settings.setdefault("cell", f"facts/{PARTS[0].row}")
        found = bench.tasks(TASKS)
        return cls(
            tasks=[found[name] | {"said": said} for name, said in TASKS.items()],
            parts=[
                part._asdict() | {"cells": {task: cell(task, part.row) for task in TASKS}} for part in PARTS
            ],
            lexicon=WORDS,
            **settings,
        )

    def picture(self) -> str:
        """The table with its recorded scores."""
        width, height, left, top = 110, 26, 250, 40
        names = [task["name"] for task in self.tasks]
        drawn = [pictures.text(left + width * j + 4, top - 12, name) for j, name in enumerate(names)]
        for i, part in enumerate(self.parts):
            y = top + height * i
            words = part["how"] if part["of"] == "everything" else f"{part['of']} {part['how']}"
            drawn.append(pictures.text(4, y + 17, words))
            for j, name in enumerate(names):
                scores = part["cells"][name]["scores"]
                share = sum(scores) / len(scores) if scores else 0
                x = left + width * j
                drawn.append(
                    pictures.rect(
                        x, y, width - 3, height - 3, fill="#14606e", fill_opacity=0.46 * share / 100
                    )
                )
                drawn.append(pictures.text(x + 8, y + 17, f"{share:.0f} %" if scores else "–"))
        return pictures.svg(left + width * len(names), top + height * len(self.parts), *drawn)
