"""The bench in the page: the front page's table, whose cells train at a press, and the playground."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from statistics import fmean
from typing import Any, NamedTuple

import traitlets

from reservoir.datasets import grammar, shipped
from reservoir.datasets.bench import Grammar
from reservoir.models.pretrained import TOKENIZER
from reservoir_book import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.explorables.recorded import curves
from reservoir_lab import recipes
from reservoir_lab.recipes.bench import JUDGED, ROWS, TASKS
from reservoir_lab.recipes.playground import PRESETS
from reservoir_lab.recipes.transformer import sizes_of
from reservoir_lab.runs import Record, find_records

SAID = {
    "circle": "who is 6 on?",
    "brackets": "what is open?",
    "facts": "remember 4,096",
    "grammar": "translate",
}
"""Task -> what is asked, in a few words."""


class Part(NamedTuple):
    """A line of the table.

    Args:
        of, how: what it is about, and what becomes of that.
        row: of the bench.
        origin: in whose colour it is shown.
        letters: the origins of embeddings, and of attention, feed-forward layer and norms of one layer or of several in
            turn, as `settings.mjs` writes them.
    """

    of: str
    how: str
    row: str
    origin: str
    letters: str


PARTS = tuple(
    Part(*said)
    for said in (
        ("everything", "trained", "trained", "trained", "t ttt"),
        ("attention", "removed", "no-attention", "fixed", "t ntt"),
        ("attention", "frozen", "frozen-attention", "seeded", "t stt"),
        ("attention", "masked", "mask-attention", "masked", "t mtt"),
        ("feed-forward", "removed", "no-feed-forward", "fixed", "t tnt"),
        ("feed-forward", "frozen", "frozen-feed-forward", "seeded", "t tst"),
        ("feed-forward", "masked", "mask-feed-forward", "masked", "t tmt"),
        ("embeddings", "frozen", "frozen-embeddings", "seeded", "s ttt"),
        ("embeddings", "masked", "mask-embeddings", "masked", "m ttt"),
        ("all layers", "frozen", "frozen-attention-feed-forward", "seeded", "t sst"),
        ("all layers", "masked", "mask", "masked", "t mmt"),
        ("layers", "half as many", "half", "trained", "t ttt"),
        ("layers", "half left random", "reservoir-transformer", "seeded", "t ttt ssf"),
    )
)
"""The table's lines."""


def tasks(names: Iterable[str] = tuple(SAID)) -> list[dict[str, Any]]:
    """Tasks as `tasks.mjs` draws them and as their fully trained models begin."""
    found = []
    for name in names:
        run = recipes.get(f"bench/{name}/trained")
        spec: Any = run.task
        puzzle = spec.puzzle
        its = puzzle.sizes
        sizes = asdict(puzzle) | {"length": its.length}
        if isinstance(puzzle, Grammar):
            sizes["words"] = dict(zip(("german", "english"), puzzle.words, strict=True))
        more = {
            "name": name,
            "said": SAID.get(name, TASKS[name].about),
            "puzzle": type(puzzle).__name__,
            "vocabulary": its.vocabulary,
            "answers": its.answers,
            "questions": its.questions,
            "places": its.places,
            "batch": spec.batch,
            "asked": spec.held_out,
            "tested": spec.tested,
            "causal": TASKS[name].causal,
            "layers": TASKS[name].layers,
            "steps": run.budget.steps,
            "every": run.budget.validate_every,
            "rate": run.optimiser.lr,
            "warmup": run.optimiser.warmup,
        }
        found.append(sizes | more)
    return found


def line(task: str, row: str) -> str:
    """The settings of a row of `PARTS` as `settings.mjs` reads them: what differs from the trained one; no seed."""
    run, base = (recipes.get(f"bench/{task}/{name}") for name in (row, "trained"))
    layers, usual = (sizes_of(one).layers for one in (run, base))
    embedding, *inner = next(part.letters for part in PARTS if part.row == row).split()
    # "tt" are the last norm and the readout.
    parts = embedding + "".join(inner[at % len(inner)] for at in range(layers)) + "tt"
    said = [f"b{task}"]
    said += [f"l{layers}"] if layers != usual else []
    said += [f"r{run.optimiser.lr:g}"] if run.optimiser.lr != base.optimiser.lr else []
    return "_".join([*said, *([f"p{parts}"] if set(parts) != {"t"} else [])])


def recorded(records: Iterable[Record], digits: int = 1) -> dict[str, Any]:
    """What the page shows of runs: "scores", one each; and the "band" of their validation curves, None without any.

    A band is "x", steps, and "mean", "low" and "high" at each.
    """
    records = list(records)
    band = None
    if records:
        (steps, *_), values = zip(*curves(records), strict=True)
        at = list(zip(*values, strict=True))
        of: dict[str, Callable[..., float]] = {"mean": fmean, "low": min, "high": max}
        band = {"x": steps} | {name: [round(each(one), 1) for one in at] for name, each in of.items()}
    return {"scores": [round(one.score, digits) for one in records], "band": band}


def cell(task: str, row: str) -> dict[str, Any]:
    """A cell: its name, its settings as a line, and what its judged runs reach, in percent."""
    judged = [one for one in find_records(f"bench/{task}/{row}") if one.seed in JUDGED]
    return {"name": f"{task}/{row}", "line": line(task, row), **recorded(judged)}


LISTS = ("adjectives", "reporting", "modals", "pronouns", "times", "places")
WORDS = {
    "nouns": [asdict(noun) for noun in grammar.NOUNS],
    "verbs": [asdict(verb) for verb in grammar.VERBS],
    **{name: getattr(grammar, name.upper()) for name in LISTS},
}
"""The words of the miniature grammar, which the page makes its sentences of."""


class FrontTable(Explorable, folder="front_table"):
    """Tasks and parts, coloured by the share of answers that are right; each cell trains in the reader's browser.

    Make it with `FrontTable.of_bench()`.

    Attributes:
        cell: "<task>/<row>", the one that is shown.
        tasks: from `tasks`.
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
        return cls(
            tasks=tasks(),
            parts=[
                part._asdict() | {"cells": {task: cell(task, part.row) for task in SAID}} for part in PARTS
            ],
            lexicon=WORDS,
            **settings,
        )

    def picture(self) -> str:
        """The table with its recorded scores."""
        rows = {}
        for part in self.parts:
            scores = [part["cells"][task["name"]]["scores"] for task in self.tasks]
            name = part["how"] if part["of"] == "everything" else f"{part['of']} {part['how']}"
            rows[name] = [fmean(one) if one else None for one in scores]
        return pictures.shares({task["name"]: task["said"] for task in self.tasks}, rows)


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
    found = [
        {
            "name": name,
            "about": about,
            "chapter": CHAPTERS.get(name),
            "line": line_of(letters),
            **recorded(find_records(f"playground/{name}"), digits=2),
        }
        for name, (about, letters) in PRESETS.items()
    ]
    abouts = {part.row: f"{ROWS[part.row].about.capitalize()}." for part in PARTS}
    return found + [cell(task, row) | {"about": about} for task in SAID for row, about in abouts.items()]


class Playground(Explorable, folder="playground"):
    """A small transformer that trains in a worker next to the page, up to four of them side by side.

    Make it with `Playground.of_presets()`.

    Attributes:
        setup: the settings of the runs, one after the other, as `settings.mjs` writes them, with "~" between.
        sentence: a German sentence that the runs translate while they train.
        brush: the origin that a click gives to a part, a letter of `reservoir_lab.recipes.playground`.
        tasks: from `tasks`.
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
        settings.setdefault("setup", "~".join(line(*name.split("/")) for name in bench_rows))
        settings.setdefault("label", "The playground")
        settings.setdefault(
            "text",
            "A small transformer as boxes, to be read from the bottom up. Choose where each part's weights come from,"
            " press Train, and see what it gets right while it learns.",
        )
        return cls(
            tasks=tasks(),
            presets=presets(),
            lexicon=json.dumps(WORDS, ensure_ascii=False),
            tokenizer=(shipped() / "models" / "miniature" / TOKENIZER).read_text(encoding="utf-8"),
            **settings,
        )
