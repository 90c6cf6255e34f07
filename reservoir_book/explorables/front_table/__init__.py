"""The front page's table: what is left of each task of the bench where a part is not learned. A press trains a cell."""

from __future__ import annotations

from typing import Any

import traitlets

from reservoir_book.explorables import bench, pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.explorables.playground import WORDS


def cell(task: str, row: str) -> dict[str, Any]:
    """A cell: its name, its settings as a line, and what is recorded of it."""
    return {"name": f"{task}/{row}", "line": bench.line(task, row), **bench.recorded(task, row)}


class FrontTable(Explorable, folder="front_table"):
    """Tasks and parts, coloured by the share of answers that are right; each cell trains in the reader's browser.

    Make it with `FrontTable.of_bench()`.

    Attributes:
        cell: "<task>/<row>", the one that is shown.
        tasks: from `bench.tasks`.
        parts: the table's lines, each a `bench.Part` with its cells by task.
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
        settings.setdefault("cell", f"facts/{bench.PARTS[0].row}")
        return cls(
            tasks=bench.tasks(),
            parts=[
                part._asdict() | {"cells": {task: cell(task, part.row) for task in bench.SAID}}
                for part in bench.PARTS
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
