"""Which method a budget buys: the recorded translators on four axes of cost, and who wins below a limit on one."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import traitlets

from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS
from reservoir_lab.evidence.costs import (
    AXES,
    Method,
    best_within,
    methods,
    stairs,
    translators,
    typical_spread,
)

WIDTH, HEIGHT = 480, 260  # of the picture
UNITS = {"trained": "", "bytes": "B", "flops": "", "seconds": "s"}
FIGURES = 3
"""Significant figures of a limit."""
SELF_MADE = ("reservoirs", "backskipping", "few-bits", "supermask")
"""Families whose docstrings do not begin with a place in a source."""
PREFIXES = {"backskipping": "backskipping, ", "few-bits": "trained longer: ", "narrow": "narrow model, "}
NAMES = {
    "backskipping/none": "backskipping, nothing skipped",
    "combinations/longest-no-encoder": "chapter 3's wider translator; no encoder layers, as many operations",
    "keep/trained": "chapter 8's translator, everything trained",
    "keep/wide-trained": "chapter 8's wide translator, everything trained",
    "supermask/pretrained": "half of one shared layer, embeddings of a wide trained model",
    "supermask/trained": "the wide trained model whose embeddings masks take",
    "transformer/multi30k": "chapter 3's translator, everything trained",
}
"""What methods are called whose docstrings say it in other recipes' names."""


def called(recipe: str, words: str) -> str:
    """What a reader calls a method: its recipe's `words`, without the place in a source from which it is taken."""
    family = recipe.partition("/")[0]
    said = words.rstrip(".")
    if family not in SELF_MADE:
        said = said.partition(": ")[2] or said
    if family == "norms-only":
        said = f"only norms trained, {said.partition('; ')[2]}"
    said = said.replace("keep/trained", "a trained model").replace("layers of their own", "separate layers")
    said = f"a mask of {said}" if said[0].isdigit() else said
    if not said.startswith(("Fourier", "LR", "RL", "LL", "RR")):
        said = said[0].lower() + said[1:]
    said = PREFIXES.get(family, "") + said
    return NAMES.get(recipe, said)


def packed(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """The methods of a table of `reservoir_lab.evidence.costs`: costs are means over seeds, qualities one a seed."""
    found = []
    for name, group in runs.groupby("recipe", sort=False):
        first = group.iloc[0]
        found.append(
            {
                "name": called(str(name), first["words"]),
                "recipe": name,
                "kind": first["kind"],
                "quality": [round(float(value), 2) for value in group["quality"]],
                **{axis: float(f"{group[axis].mean():.6g}") for axis in AXES},
            }
        )
    return found


def unpacked(found: list[dict[str, Any]], axis: str) -> list[Method]:
    """The same for `reservoir_lab.evidence.costs`."""
    return [Method(m["name"], tuple(m["quality"]), (m[axis],) * len(m["quality"])) for m in found]


def priced(value: float, unit: str) -> str:
    """A cost in a few characters, as the page writes it: "2.9 MB"."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size * 0.9995:
            return (
                f"{float(f'{value / size:.3g}'):g} {letter}" + (unit if unit == "B" else f" {unit}").rstrip()
            )
    return f"{float(f'{value:.3g}'):g} {unit}".rstrip()


def rounded(value: float, *, up: bool) -> float:
    """To `FIGURES` significant figures, never inward."""
    size = 10.0 ** (math.floor(math.log10(value)) - FIGURES + 1)
    return float((math.ceil if up else math.floor)(value / size) * size)


class Budget(Explorable, source=__file__):
    """Choose the cost that hurts, drag the limit, and see which recorded method is the best below it.

    Make it with `Budget.recorded()`.

    Attributes:
        axis: the cost that is limited, a key of `reservoir_lab.evidence.costs.AXES`.
        trained, bytes, flops, seconds: the limit on each.
        axes: for each its words, its unit and the range of its limit.
        methods: name, recipe, kind, the quality of each seed, and the four costs.
        lent: half the spread that a method with one seed is taken to have.
    """

    axis = traitlets.Enum(list(AXES), next(iter(AXES))).tag(sync=True)
    trained = traitlets.Float(1.0).tag(sync=True)
    bytes = traitlets.Float(1.0).tag(sync=True)
    flops = traitlets.Float(1.0).tag(sync=True)
    seconds = traitlets.Float(1.0).tag(sync=True)
    axes = traitlets.Dict().tag(sync=True)
    methods: traitlets.List = traitlets.List().tag(sync=True)
    lent = traitlets.Float(0.0).tag(sync=True)

    @classmethod
    def recorded(cls, runs: pd.DataFrame | None = None, **settings: Any) -> Budget:
        """The explorable with the translators that have been recorded.

        Args:
            runs: a table of `reservoir_lab.evidence.costs`; the translators if None.
            settings: of the explorable.

        Raises:
            ValueError: the table is empty.
        """
        runs = translators() if runs is None else runs
        if not len(runs):
            raise ValueError(
                "runs must have at least one recorded run, got none; run a recipe of components/ first"
            )
        found = packed(runs)
        axes, limits = {}, {}
        for axis, of in AXES.items():
            low, high = (f(m[axis] for m in found) for f in (min, max))
            low, high = rounded(low, up=False), rounded(high, up=True)
            step = 10.0 ** (math.floor(math.log10(low)) - FIGURES + 1)
            words = {"words": of.words, "short": of.short, "unit": UNITS[axis]}
            axes[axis] = {**words, "min": low, "max": high, "step": step}
            limits[axis] = low + round((math.sqrt(low * high) - low) / step) * step
        lent = typical_spread(methods(runs, quality="quality", cost="trained"))
        made = {"axes": axes, "methods": found, "lent": round(lent, 3), **limits, **settings}
        axis = made.get("axis", next(iter(AXES)))
        best = best_within(unpacked(found, axis), made[axis], lent=made["lent"])
        limit = priced(made[axis], UNITS[axis])
        wins = f"the best is “{best.name}” with {best.mean:.1f} BLEU" if best else "nothing can be afforded"
        made.setdefault("label", "Which budget hurts, and who wins")
        made.setdefault(
            "text",
            f"Recorded translators as points, BLEU against {AXES[axis].words}. With at most {limit} {wins}. A line"
            " shows the best that each budget buys, a band how far seeds move it.",
        )
        return cls(**made)

    def picture(self) -> str | None:
        """All points, the best at each budget as steps, and the limit."""
        if not self.methods:
            return None
        of, limit = self.axes[self.axis], getattr(self, self.axis)
        low, high = math.log(of["min"] * 0.9), math.log(of["max"] * 1.1)
        most = 1.06 * max(max(m["quality"]) for m in self.methods)

        def x(value: float) -> float:
            return 8 + (WIDTH - 16) * (math.log(value) - low) / (high - low)

        def y(value: float) -> float:
            return HEIGHT - 8 - (HEIGHT - 16) * value / most

        steps = stairs(unpacked(self.methods, self.axis))
        ends = [*steps["cost"][1:], of["max"]]
        best = [
            (x(at), y(mean))
            for cost, mean, end in zip(steps["cost"], steps["mean"], ends, strict=True)
            for at in (cost, max(end, cost))
        ]
        grey, points = ORIGINS["fixed"], []
        for method in self.methods:
            colour, quality = ORIGINS[method["kind"]], method["quality"]
            fill = colour if method[self.axis] <= limit else "none"
            at: dict[str, Any] = {"cx": x(method[self.axis]), "cy": y(sum(quality) / len(quality))}
            points.append(pictures.element("circle", **at, r=4, fill=fill, stroke=colour))
        border = pictures.line([(x(limit), 8), (x(limit), HEIGHT - 8)], grey, 1, stroke_dasharray="4 3")
        return pictures.svg(WIDTH, HEIGHT, pictures.line(best, grey, 1), border, *points)
