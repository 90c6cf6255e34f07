"""A training curve that grows while a cell trains; the notebook keeps its last state."""

from __future__ import annotations

import time
from collections.abc import Callable

import plotly.graph_objects as go

from reservoir.page import plots
from reservoir.training import Event, Finished, Point, Recorded, Started, Stepped, Validated

POINTS = 200  # of the loss, at most: more could not be seen, and would make the notebook larger


class LiveCurve:
    """A listener that draws the training loss above and a validation metric below, both against steps.

    Args:
        metric: the name of the validation metric in the record.
        title: of the axis of the metric, with its unit.
        every: seconds between two updates.
        show: called with each new figure; None shows one output in the notebook and updates it.
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
        self.show = show or _Display()
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
        now = time.monotonic()
        if isinstance(event, Finished | Recorded) or now - self._drawn >= self.every:
            self._drawn = now
            self.show(self.figure())

    def _add(self, point: Point) -> None:
        if self.metric in point.metrics:
            self.points.append((point.step, point.metrics[self.metric]))

    def figure(self) -> go.Figure:
        """The curves so far; of a run that is recorded that of the metric alone, and where it was read."""
        drawn = plots.figure(x="steps", y="loss (nats per token)", height=400, showlegend=False)
        group = max(1, -(-len(self.loss) // POINTS))
        groups = [self.loss[i : i + group] for i in range(0, len(self.loss), group)]
        drawn.add_scatter(
            x=[part[-1][0] for part in groups],
            y=[round(sum(loss for _, loss in part) / len(part), 4) for part in groups],
            mode="lines",
            name="loss",
            line={"color": plots.colour("trained"), "width": 1.5},
        )
        drawn.add_scatter(
            x=[step for step, _ in self.points],
            y=[round(value, 4) for _, value in self.points],
            yaxis="y2",
            mode="lines+markers",
            name=self.title,
            line={"color": plots.colour("trained"), "width": 2},
            marker={"size": 6},
        )
        drawn.update_layout(
            xaxis={"range": [0, self.steps or None], "anchor": "y2"},
            yaxis={"domain": [0.56, 1], "rangemode": "tozero"},
            yaxis2={
                "domain": [0, 0.44],
                "title": {"text": self.title},
                "rangemode": "tozero",
                "automargin": True,
            },
        )
        if self.source:  # a record has no loss of every step
            drawn.update_layout(
                title={"text": self.source, "font": {"size": 13}},
                yaxis={"visible": False},
                yaxis2={"domain": [0, 1]},
            )
        return drawn


class _Display:
    """One output of the cell, updated in place."""

    def __init__(self) -> None:
        self.handle = None

    def __call__(self, figure: go.Figure) -> None:
        # Imported here: training without a notebook needs no IPython.
        from IPython.display import display

        # As plain data: a figure would also show itself, next to the output that is updated.
        if self.handle is None:
            self.handle = display(plots.bundle(figure), raw=True, display_id=True)
        else:
            self.handle.update(plots.bundle(figure), raw=True)
