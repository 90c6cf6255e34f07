"""Explorables of recorded runs: which components are frozen (chapter 4), which parts of a frozen body (chapter 7)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
import traitlets

from reservoir.weights import report
from reservoir.weights.freezing import COMPONENTS
from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.recipes import universal
from reservoir_lab.recipes.components import ROWS, TABLES, in_table
from reservoir_lab.runs import Record, Run, find_records
from reservoir_lab.runs.building import bare_model
from reservoir_lab.runs.convergence import epochs_to_converge
from reservoir_lab.runs.registry import Scale


def curves(records: Iterable[Record]) -> list[list[list[float]]]:
    """The validation curve of each record: its steps, and its metric to two decimals."""
    return [
        [
            [point["step"] for point in one.points],
            [round(point["metrics"][one.metric], 2) for point in one.points],
        ]
        for one in records
    ]


def parameters(run: Run, parts: Mapping[str, Iterable[str]]) -> tuple[dict[str, int], int]:
    """Parameters of each part of a run's model, and of the rest of it.

    Args:
        run: whose model is counted; nothing is drawn for it.
        parts: for each part the patterns of its stream names.
    """
    with torch.device("meta"):  # shapes need no memory
        rows = report(bare_model(run)).rows
    of = {
        part: sum(row.parameters for row in rows if any(fnmatchcase(row.stream, glob) for glob in globs))
        for part, globs in parts.items()
    }
    return of, sum(row.parameters for row in rows) - sum(of.values())


PARTS = tuple(COMPONENTS)
DRAWN = ("as-trained", "identity", "hollow")
POSTER = {
    "components": ("poster/big", "BLEU"),
    "narrow": ("poster/narrow", "BLEU"),
    "language": ("poster/lm", "PPL"),
}
HEIGHT, GAP, WIDTH = 15, 3, 480  # of a box, between boxes, and of the picture, in pixels


@functools.cache
def counted(family: str, scale: Scale) -> dict[str, Any]:
    """What the model of a family is made of at a scale: its layers, and the parameters of each component.

    Returns:
        embeddings, norms: parameters in all; attention, feed_forward: of one of them; encoder, decoder: layers; across:
        attentions of a decoder layer; width: d_ff over d_model.
    """
    run = recipes.get(f"{family}/baseline", scale=scale)
    of, rest = parameters(run, COMPONENTS)
    model: Any = run.model
    language = family == "language"
    encoder, decoder = (0, model.layers) if language else (model.encoder_layers, model.decoder_layers)
    across = 1 if language else 2
    return {
        "embeddings": of["embeddings"],
        "attention": of["attention"] // (encoder + across * decoder),
        "feed_forward": of["feed_forward"] // (encoder + decoder),
        "norms": rest,
        "encoder": encoder,
        "decoder": decoder,
        "across": across,
        "width": model.d_ff / model.d_model,
    }


def rows_of(family: str) -> list[dict[str, Any]]:
    """The rows of a table: what moves in each, what the poster prints, and what was recorded at the laptop scale."""
    where, score = POSTER[family]
    printed = sources.table(where)
    found = []
    for row, (name, plan, _) in ((row, of) for row, of in ROWS.items() if in_table(family, row)):
        records = find_records(f"{family}/{row}")
        figures = {"score": score, "epochs": "Epochs"}
        found.append(
            {
                "row": row,
                "frozen": [part for part in PARTS if getattr(plan, part)],
                "drawn": plan.drawn,
                "poster": {"name": name}
                | {key: printed.figure(name, of).printed for key, of in figures.items()},
                "scores": [round(one.score, 2) for one in records],
                "epochs": [round(epochs_to_converge(one), 2) for one in records if one.epoch_steps],
                "curves": curves(records),
            }
        )
    return found


def boxes(of: Mapping[str, Any], width: float) -> list[dict[str, Any]]:
    """The stack as boxes that are as long as they have parameters: the same rule as in model.mjs.

    Args:
        of: from `counted`.
        width: of the picture; the longest line of boxes fills it.

    Returns:
        part, side ("encoder", "decoder" or "both"), x, y, width and height of each box, the top line first.
    """
    attention, feed_forward = ("attention", of["attention"]), ("feed_forward", of["feed_forward"])
    stacks = {"encoder": [attention, feed_forward], "decoder": [attention] * of["across"] + [feed_forward]}
    depth = max(of["encoder"], of["decoder"])
    lines = [
        {side: parts for side, parts in stacks.items() if layer < of[side]}
        for layer in reversed(range(depth))
    ]
    between = 8 * GAP if of["encoder"] else 0
    longest = max(sum(n for parts in line.values() for _, n in parts) for line in lines)
    unit = min((width - GAP * 3) / of["embeddings"], (width - between - GAP * 5) / longest)
    left = sum(n for _, n in stacks["encoder"]) * unit + GAP + between if of["encoder"] else 0.0
    found: list[dict[str, Any]] = []

    def box(part: str, side: str, x: float, y: float, n: int) -> float:
        found.append({"part": part, "side": side, "x": x, "y": y, "width": n * unit, "height": HEIGHT})
        return x + n * unit + GAP

    for number, line in enumerate(lines):
        for side, parts in line.items():
            x = left if side == "decoder" else 0.0
            for part, n in parts:
                x = box(part, side, x, number * (HEIGHT + GAP), n)
    box("embeddings", "both", 0.0, depth * (HEIGHT + GAP) + 2 * GAP, of["embeddings"])
    return found


class FrozenComponents(Explorable, folder="frozen_components"):
    """Click components of a transformer on and off: the stack in the colours of its origins, its cost, its record.

    Make it with `FrozenComponents.recorded()`.

    Attributes:
        table: a family of recipes, "components", "narrow" or "language".
        embeddings, attention, feed_forward: whether that component is trained.
        drawn: how frozen attention or feed-forward maps are drawn, one of `DRAWN`.
        tables: for each table its sizes, its rows, and what they are called.
    """

    table = traitlets.Enum(list(TABLES), "components").tag(sync=True)
    embeddings = traitlets.Bool(True).tag(sync=True)
    attention = traitlets.Bool(True).tag(sync=True)
    feed_forward = traitlets.Bool(False).tag(sync=True)
    drawn = traitlets.Enum(list(DRAWN), "as-trained").tag(sync=True)
    tables = traitlets.Dict().tag(sync=True)

    @classmethod
    def recorded(cls, **settings: Any) -> FrozenComponents:
        """The explorable with the records that there are."""
        settings.setdefault("label", "Which components move?")
        settings.setdefault(
            "text",
            "A transformer as boxes, each as long as it has parameters: embeddings at the bottom, above them layers of"
            " attention and feed-forward maps. The feed-forward boxes are frozen and drawn from a seed, the others"
            " are trained. Below stand the poster's score and ours.",
        )
        tables = {
            family: {
                "score": {"BLEU": "BLEU", "PPL": "perplexity"}[score],
                "larger": score == "BLEU",
                "poster": counted(family, "full"),
                "ours": counted(family, "laptop"),
                "rows": rows_of(family),
            }
            for family, (_, score) in POSTER.items()
        }
        return cls(tables=tables, **settings)

    def picture(self) -> str | None:
        """The stack at the poster's sizes, in the colours of its origins."""
        if not self.tables:
            return None
        found = boxes(self.tables[self.table]["poster"], WIDTH)
        colours = {part: ORIGINS["trained" if getattr(self, part) else "seeded"] for part in PARTS}
        if self.drawn == "identity":
            colours |= {part: ORIGINS["fixed"] for part in PARTS[1:] if not getattr(self, part)}
        drawn = (
            pictures.rect(box["x"], box["y"], box["width"], box["height"], rx=2, fill=colours[box["part"]])
            for box in found
        )
        return pictures.svg(WIDTH, found[-1]["y"] + HEIGHT, *drawn)


BAR, LEAST = 22, 3  # the height of a bar, and the width of its smallest piece, in pixels
SIZES: dict[str, tuple[str, Scale]] = {
    "our small GPT on digits": ("universal/digits/pretrained/lr-1e-3", "laptop"),
    "GPT-2 on CIFAR-10": ("universal/cifar10/pretrained/lr-1e-3", "full"),
}


def named(part: str) -> str:
    """The part's name as a setting."""
    return part.replace("-", "_")


@functools.cache
def counted_body(recipe: str, scale: Scale) -> dict[str, int]:
    """The parameters of each part of a recipe's model."""
    of, _ = parameters(recipes.get(recipe, scale=scale), universal.PARTS)
    return {named(part): count for part, count in of.items()}


def body_rows() -> list[dict[str, Any]]:
    """The recipes of `switches/…`: where the body is from, what is trained, and what was recorded at laptop scale."""
    return [
        {
            "start": start,
            "trained": [named(part) for part in universal.PARTS if part in parts],
            "scores": [round(float(one.tests["test"]["accuracy"]), 2) for one in records],
            "curves": curves(records),
        }
        for start in universal.STARTS
        for parts in universal.SWITCHES
        for records in [find_records(universal.switch_name(start, parts))]
    ]


def bar(of: Mapping[str, int], width: float) -> list[dict[str, Any]]:
    """A bar cut by parameters, the same rule as in model.mjs: part, x and width of each piece."""
    total = sum(of.values())
    small = {part for part, n in of.items() if n / total * width < LEAST}
    unit = (width - LEAST * len(small)) / sum(n for part, n in of.items() if part not in small)
    found, x = [], 0.0
    for part, n in of.items():
        piece = LEAST if part in small else n * unit
        found.append({"part": part, "x": x, "width": piece})
        x += piece
    return found


class FrozenBody(Explorable, folder="frozen_body"):
    """Switch parts of a model around a language model's body on and off: their share, and the recorded curve.

    Make it with `FrozenBody.recorded()`.

    Attributes:
        start: what the body was before, "random" or "pretrained".
        input, output, positions, norms, attention, feed_forward: whether that part is trained.
        sizes: for each model that is counted, the parameters of its parts.
        rows: the recipes and their records.
    """

    start = traitlets.Enum(list(universal.STARTS), "random").tag(sync=True)
    input = traitlets.Bool(True).tag(sync=True)
    output = traitlets.Bool(True).tag(sync=True)
    positions = traitlets.Bool(True).tag(sync=True)
    norms = traitlets.Bool(True).tag(sync=True)
    attention = traitlets.Bool(False).tag(sync=True)
    feed_forward = traitlets.Bool(False).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    rows: traitlets.List = traitlets.List().tag(sync=True)

    @classmethod
    def recorded(cls, **settings: Any) -> FrozenBody:
        """The explorable with the records that there are."""
        settings.setdefault("label", "What is trained around a frozen body?")
        settings.setdefault(
            "text",
            "Input, output, positions and norms are trained, attention and feed-forward layers are frozen. Two bars say"
            " how little of a small GPT and of GPT-2 that is. A curve shows how many digits are read right while the"
            " model learns, where that has been run.",
        )
        sizes = {name: counted_body(*where) for name, where in SIZES.items()}
        return cls(sizes=sizes, rows=body_rows(), **settings)

    def picture(self) -> str | None:
        """The bars, one below the other, in the colours of the parts' origins."""
        if not self.sizes:
            return None
        pieces = []
        for number, of in enumerate(self.sizes.values()):
            for piece in bar(of, WIDTH):
                around = piece["part"] in ("input", "output")
                frozen = "seeded" if around or self.start == "random" else "pretrained"
                origin = "trained" if getattr(self, piece["part"]) else frozen
                at = piece["x"], number * (BAR + 8), max(1, piece["width"] - 1), BAR
                pieces.append(pictures.rect(*at, fill=ORIGINS[origin]))
        return pictures.svg(WIDTH, len(self.sizes) * (BAR + 8), *pieces)
