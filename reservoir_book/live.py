"""Curves that grow while something trains: below a cell, whose notebook keeps the last state, and in a control."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from reservoir.training import Event, Finished, Point, Recorded, Started, Stepped, Validated
from reservoir_book import plots
from reservoir_book.explorables import pictures
from reservoir_book.kernel import InPlace

POINTS = 200  # of the loss, at most: more could not be seen, and would make the notebook larger


class LiveCurve:
    """A listener that draws the training loss above and a validation metric below, both against steps.

    Args:
        metric: the name of the validation metric in the record.
        title: of the axis of the metric, with its unit.
        every: seconds between two updates.
        show: called with each new figure; None shows one output in the notebook and updates it. While training runs,
            that is a sketch: JupyterLab's renderer of plotly's figures draws the first one alone.
    """

    def __init__(
        self,
        *,
        metric: str = "bleu",
        title: str = "BLEU",
        every: float = 1.0,
        show: Callable[[go.Figure], None] | None = None,
    ):
        self.metric, self.title, self.every = metric, title, every
        output = InPlace()
        self.show = show or (lambda figure: output(plots.bundle(figure)))
        self.draft = show or (lambda figure: output({"image/svg+xml": sketch(figure)}))
        self.steps = 0
        self.loss: list[tuple[int, float]] = []
        self.points: list[tuple[int, float]] = []
        self.source = ""
        self._drawn = 0.0

    def __call__(self, event: Event) -> None:
        match event:
            case Started(steps=steps):
                self.steps, self.loss, self.points, self.source = steps, [], [], ""
            case Stepped(step=step, loss=loss):
                self.loss.append((step, loss))
            case Validated(point=point):
                self._add(point)
            case Recorded(path=path, steps=steps, points=points):
                self.steps, self.loss, self.points, self.source = steps, [], [], f"read from {path}"
                for point in points:
                    self._add(point)
        now, last = time.monotonic(), isinstance(event, Finished | Recorded)
        if last or now - self._drawn >= self.every:
            self._drawn = now
            (self.show if last else self.draft)(self.figure())

    def _add(self, point: Point) -> None:
        if self.metric in point.metrics:
            self.points.append((point.step, point.metrics[self.metric]))

    def figure(self) -> go.Figure:
        """The curves so far; of a run that is recorded that of the metric alone, and where it was read."""
        drawn = plots.figure(x="steps", y="loss (nats per token)", height=400, showlegend=False)
        group = max(1, -(-len(self.loss) // POINTS))
        groups = [self.loss[i : i + group] for i in range(0, len(self.loss), group)]
        last, means = (
            [part[-1][0] for part in groups],
            [sum(loss for _, loss in part) / len(part) for part in groups],
        )
        line = {"color": plots.colour("trained"), "width": 1.5}
        drawn.add_scatter(x=last, y=[round(mean, 4) for mean in means], mode="lines", name="loss", line=line)
        drawn.add_scatter(
            x=[step for step, _ in self.points],
            y=[round(value, 4) for _, value in self.points],
            yaxis="y2",
            mode="lines+markers",
            name=self.title,
            line={**line, "width": 2},
            marker={"size": 6},
        )
        below = {"title": {"text": self.title}, "rangemode": "tozero", "automargin": True}
        drawn.update_layout(
            xaxis={"range": [0, self.steps or None], "anchor": "y2"},
            yaxis={"domain": [0.56, 1], "rangemode": "tozero"},
            yaxis2={"domain": [0, 0.44], **below},
        )
        if self.source:  # a record has no loss of every step
            title = {"text": self.source, "font": {"size": 13}}
            drawn.update_layout(title=title, yaxis={"visible": False}, yaxis2={"domain": [0, 1]})
        return drawn


def sketch(figure: go.Figure) -> str:
    """The two panels of a live curve as a small SVG, one below the other."""
    titles = figure.layout.yaxis.title.text, figure.layout.yaxis2.title.text
    above, below = (
        chart([], [{"label": trace.name, "origin": "trained", "points": [*zip(trace.x, trace.y, strict=True)]}],
              x="steps", y=title)
        for trace, title in zip(figure.data, titles, strict=True)
    )  # fmt: skip
    return pictures.svg(760, 680, above, pictures.element("g", below, transform="translate(0 340)"))


def chart(
    bands: Sequence[tuple[str, str, Sequence[plots.Line]]],
    runs: Sequence[Mapping[str, Any]],
    *,
    x: str,
    y: str,
    log: bool = False,
) -> str:
    """Bands from the lowest to the highest seed, and lines over them, each named at its end, as a small SVG.

    Args:
        bands: (words, origin, seeds).
        runs: each with a `label`, an `origin` and `points`.
        x, y: titles of the axes.
        log: whether the y axis is logarithmic.
    """
    width, height, left, right, top, bottom = 760, 340, 56, 250, 24, 40
    scale = (lambda value: math.log10(max(value, 1e-9))) if log else float
    xs = [at for _, _, seeds in bands for seed in seeds for at in seed[0]]
    xs += [at for run in runs for at, _ in run["points"]]
    ys = [scale(value) for _, _, seeds in bands for seed in seeds for value in seed[1]]
    ys += [scale(value) for run in runs for _, value in run["points"]]
    most, low, high = max(xs, default=1) or 1, min(ys, default=0.0), max(ys, default=1.0)
    low, high = (low if log else min(low, 0.0)), high if high > low else low + 1

    def place(at: float, value: float) -> tuple[float, float]:
        share = (scale(value) - low) / (high - low)
        return left + (width - left - right) * at / most, height - bottom - (height - top - bottom) * share

    end = width - right
    parts = [pictures.rect(0, 0, width, height, fill="#fffefb")]
    for step in range(5):
        value = low + (high - low) * step / 4
        value = 10**value if log else value
        where = place(0, value)[1]
        parts.append(pictures.line([(left, where), (end, where)], "#e3e1da", 1))
        parts.append(pictures.text(left - 6, where + 4, f"{value:.3g}", text_anchor="end", font_size=11))
        at = most * step / 4
        parts.append(
            pictures.text(
                place(at, value)[0], height - bottom + 16, f"{at:,.0f}", text_anchor="middle", font_size=11
            )
        )
    parts.append(pictures.text(left, top - 9, y))
    parts.append(pictures.text(end, height - 8, x, text_anchor="end"))
    named: list[tuple[float, str, str]] = []
    for words, name, seeds in bands:
        steps = seeds[0][0]
        columns = list(zip(*(values for _, values in seeds), strict=False))
        edge = [place(at, max(column)) for at, column in zip(steps, columns, strict=False)]
        edge += [place(at, min(column)) for at, column in reversed(list(zip(steps, columns, strict=False)))]
        joined = " ".join(f"{one:.1f},{other:.1f}" for one, other in edge)
        parts.append(pictures.element("polygon", points=joined, fill=plots.ORIGINS[name], fill_opacity=0.22))
        middle = [place(at, sum(column) / len(column)) for at, column in zip(steps, columns, strict=False)]
        parts.append(pictures.line(middle, plots.ORIGINS[name], 1.5))
        if middle:
            named.append((middle[-1][1], f"{words}, {len(seeds)} recorded seeds", plots.ORIGINS[name]))
    dashes: dict[str, int] = {}
    for run in runs:
        number = dashes[run["origin"]] = dashes.get(run["origin"], -1) + 1
        dash = (None, "7 4", "2 3", "10 3 2 3")[number % 4]
        points = [place(at, value) for at, value in run["points"]]
        colour = plots.ORIGINS[run["origin"]]
        if points:
            parts.append(pictures.line(points, colour, 2.2, stroke_dasharray=dash))
            parts.append(pictures.element("circle", cx=points[-1][0], cy=points[-1][1], r=3.5, fill=colour))
            named.append((points[-1][1], run["label"], colour))
    lowest = 0.0
    for where, words, colour in sorted(named):
        lowest = max(where + 4, lowest + 15)
        parts.append(pictures.text(end + 8, lowest, words, fill=colour, font_size=12))
    described = "; ".join(words for _, words, _ in named)
    return pictures.svg(width, height, *parts, role="img", aria_label=f"{y} against {x}: {described}")
