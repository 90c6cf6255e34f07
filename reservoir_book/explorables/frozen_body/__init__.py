"""A frozen body whose parts can be switched on: what is trained, what share that is, and how well digits are read."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import traitlets

from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.explorables.recorded import curves, parameters
from reservoir_book.plots import ORIGINS
from reservoir_lab import recipes
from reservoir_lab.recipes.universal import PARTS, STARTS, SWITCHES, switch_name
from reservoir_lab.runs import find_records
from reservoir_lab.runs.registry import Scale

WIDTH, HEIGHT, LEAST = 480, 22, 3  # of a bar, and of its smallest piece, in pixels
SIZES: dict[str, tuple[str, Scale]] = {
    "our small GPT on digits": ("universal/digits/pretrained/lr-1e-3", "laptop"),
    "GPT-2 on CIFAR-10": ("universal/cifar10/pretrained/lr-1e-3", "full"),
}


def named(part: str) -> str:
    """The part's name as a setting."""
    return part.replace("-", "_")


@functools.cache
def counted(recipe: str, scale: Scale) -> dict[str, int]:
    """The parameters of each part of a recipe's model."""
    of, _ = parameters(recipes.get(recipe, scale=scale), PARTS)
    return {named(part): count for part, count in of.items()}


def recorded_rows() -> list[dict[str, Any]]:
    """The recipes of `switches/…`: where the body is from, what is trained, and what was recorded at laptop scale."""
    return [
        {
            "start": start,
            "trained": [named(part) for part in PARTS if part in parts],
            "scores": [round(float(one.tests["test"]["accuracy"]), 2) for one in records],
            "curves": curves(records),
        }
        for start in STARTS
        for parts in SWITCHES
        for records in [find_records(switch_name(start, parts))]
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


class FrozenBody(Explorable, source=__file__):
    """Switch parts of a model around a language model's body on and off: their share, and the recorded curve.

    Make it with `FrozenBody.recorded()`.

    Attributes:
        start: what the body was before, "random" or "pretrained".
        input, output, positions, norms, attention, feed_forward: whether that part is trained.
        sizes: for each model that is counted, the parameters of its parts.
        rows: the recipes and their records.
    """

    start = traitlets.Enum(list(STARTS), "random").tag(sync=True)
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
        sizes = {name: counted(*where) for name, where in SIZES.items()}
        return cls(sizes=sizes, rows=recorded_rows(), **settings)

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
                at = piece["x"], number * (HEIGHT + 8), max(1, piece["width"] - 1), HEIGHT
                pieces.append(pictures.rect(*at, fill=ORIGINS[origin]))
        return pictures.svg(WIDTH, len(self.sizes) * (HEIGHT + 8), *pieces)
