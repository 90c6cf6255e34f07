"""Train a small transformer in the page, each part from the origin that the reader chooses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import traitlets

from reservoir.datasets import grammar, shipped
from reservoir.models.pretrained import TOKENIZER
from reservoir_book.explorables import bench
from reservoir_book.explorables.base import Explorable
from reservoir_book.explorables.recorded import curves
from reservoir_lab.recipes.bench import ROWS
from reservoir_lab.recipes.playground import PRESETS
from reservoir_lab.runs import find_records

LISTS = ("adjectives", "reporting", "modals", "pronouns", "times", "places")
WORDS = {
    "nouns": [asdict(noun) for noun in grammar.NOUNS],
    "verbs": [asdict(verb) for verb in grammar.VERBS],
    **{name: getattr(grammar, name.upper()) for name in LISTS},
}
"""The words of the miniature grammar, which the page makes its sentences of."""
FOUR = ("attention", "feed-forward", "embeddings", "frozen")
CHAPTERS = {**dict.fromkeys(FOUR, 4), "reservoir": 5, "fourier": 6, "masks": 8}
"""The chapter that a preset is from."""


def line_of(letters: str) -> str:
    """A preset's settings as a link says them: what differs from the standard, by its letter."""
    groups = letters.split()
    depth = sum(len(group) == 3 for group in groups)
    parts = "".join(groups)
    said = ([] if depth == 2 else [f"e{depth}"]) + ([f"p{parts}"] if set(parts) != {"t"} else [])
    return "_".join(said)


def presets() -> list[dict[str, Any]]:
    """The presets with their recorded runs: name, about, chapter, line, band of the curves, and scores on the test."""
    found = []
    for name, (about, letters) in PRESETS.items():
        records = find_records(f"playground/{name}")
        found.append(
            {
                "name": name,
                "about": about,
                "chapter": CHAPTERS.get(name),
                "line": line_of(letters),
                "band": bench.band(curves(records)),
                "scores": [round(one.score, 2) for one in records],
            }
        )
    rows = [
        {
            "name": f"{task}/{row}",
            "about": f"{about.capitalize()}.",
            "line": bench.line(task, row),
            **bench.recorded(task, row),
        }
        for task in bench.SAID
        for row, about in ((part.row, ROWS[part.row].about) for part in bench.PARTS)
    ]
    return found + rows


class Playground(Explorable, folder="playground"):
    """A small transformer that trains in a worker next to the page, up to four of them side by side.

    Make it with `Playground.of_presets()`.

    Attributes:
        setup: the settings of the runs, one after the other, as `settings.mjs` writes them, with "~" between.
        sentence: a German sentence that the runs translate while they train.
        brush: the origin that a click gives to a part, a letter of `reservoir_lab.recipes.playground`.
        tasks: from `bench.tasks`.
        presets: from `presets`.
        lexicon, tokenizer: JSON of the grammar's words and of the vocabulary.
    """

    setup = traitlets.Unicode().tag(sync=True)
    sentence = traitlets.Unicode("Die kleine Katze sieht den alten Lehrer nicht.").tag(sync=True)
    brush = traitlets.Enum(["t", "s", "m", "f", "n"], "s").tag(sync=True)
    tasks = traitlets.List(traitlets.Dict()).tag(sync=True)
    presets = traitlets.List(traitlets.Dict()).tag(sync=True)
    lexicon = traitlets.Unicode().tag(sync=True)
    tokenizer = traitlets.Unicode().tag(sync=True)

    @classmethod
    def of_presets(cls, bench_rows: Iterable[str] = (), **settings: Any) -> Playground:
        """The playground with its text, its vocabulary, and the recorded runs of its presets.

        Args:
            bench_rows: "<task>/<row>" of each run that it opens with; the standard translator if there are none.
            settings: of the widget.
        """
        settings.setdefault("setup", "~".join(bench.line(*name.split("/")) for name in bench_rows))
        settings.setdefault("label", "The playground")
        settings.setdefault(
            "text",
            "A small transformer as boxes, to be read from the bottom up. Choose where each part's weights come from,"
            " press Train, and see what it gets right while it learns.",
        )
        return cls(
            tasks=bench.tasks(),
            presets=presets(),
            lexicon=json.dumps(WORDS, ensure_ascii=False),
            tokenizer=(shipped() / "models" / "miniature" / TOKENIZER).read_text(encoding="utf-8"),
            **settings,
        )
