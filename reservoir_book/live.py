"""Curves that grow while something trains: below a cell, whose notebook keeps the last state, and in a control."""

from __future__ import annotations

import time
from collections.abc import Callable

import plotly.graph_objects as go

from reservoir.training import Event, Finished, Point, Recorded, Started, Stepped, Validated
from reservoir_book import pictures, plots
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
        pictures.chart(
            [],
            [{"label": one.name, "origin": "trained", "points": [*zip(one.x, one.y, strict=True)]}],
            x="steps",
            y=title,
        )
        for one, title in zip(figure.data, titles, strict=True)
    )
    return pictures.svg(760, 680, above, pictures.element("g", below, transform="translate(0 340)"))
