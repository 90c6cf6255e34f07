"""What the training loop says and measures: events, a training's history, the area under its curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from reservoir.layers.arguments import check_number


@dataclass(frozen=True)
class Point:
    """One validation.

    Args:
        step: optimiser steps taken.
        seconds: wall-clock of training so far, validation left out.
        tokens: source and target tokens seen so far, padding left out.
        flops: floating-point operations of training so far.
        metrics: what was measured, by name.
    """

    step: int
    seconds: float
    tokens: int
    flops: float
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    """A remark about the run, in words."""

    text: str


@dataclass(frozen=True)
class Started:
    """Training begins, or goes on from `step`."""

    name: str
    step: int
    steps: int
    trainable: int
    total: int


@dataclass(frozen=True)
class Stepped:
    """One optimiser step: its loss in nats per prediction, learning rate, and running counts."""

    step: int
    loss: float
    rate: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Validated:
    """A validation point was measured."""

    point: Point


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int
    path: str


@dataclass(frozen=True)
class Finished:
    """The budget is used up."""

    step: int
    seconds: float


@dataclass(frozen=True)
class Stopped:
    """Training ends before its budget; an exception that says why is on its way."""

    step: int


@dataclass(frozen=True)
class Recorded:
    """Nothing is trained: the run is recorded in a file, with these validation points."""

    path: str
    steps: int
    points: list[Point]

    @property
    def text(self) -> str:
        """The same in words."""
        return f"{self.path} is there already; --fresh runs again (in Python, fresh=True)"


Event = Message | Started | Stepped | Validated | Saved | Finished | Stopped | Recorded
Listener = Callable[[Event], None]

ALWAYS: list[Listener] = []
"""Told of all training in this process, next to a run's own listeners: a notebook shows its progress so."""


@dataclass
class History:
    """What training measured.

    Args:
        points: validation points, in order.
        step, seconds, tokens, flops: totals, as in `Point`.
        step_seconds: median wall-clock of a step in the last process that made one.
        cpu_seconds: processor time of all processes that trained, validation included.
        skipped: steps in which backward passes were skipped; skipped_tokens and skipped_flops are their totals.
        kind_seconds: median wall-clock of a "full" and of a "skipped" step, where there are some, in the last process.
        losses: training loss of every step since the process started, in nats per prediction.
    """

    points: list[Point] = field(default_factory=list)
    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    flops: float = 0.0
    step_seconds: float = 0.0
    cpu_seconds: float = 0.0
    skipped: int = 0
    skipped_tokens: int = 0
    skipped_flops: float = 0.0
    kind_seconds: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)

    def progress(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {name: value for name, value in asdict(self).items() if name != "losses"}

    @classmethod
    def restored(cls, progress: dict[str, Any]) -> History:
        """The history that `progress` was made from."""
        return cls(**{**progress, "points": [Point(**point) for point in progress["points"]]})


@dataclass(frozen=True)
class Aucc:
    """An area with what it takes to read it.

    Args:
        value: mean height of the curve between 0 and `horizon`, in the metric's units, larger is better.
        horizon: T̂, where the curve is cut, in units of `axis`.
        axis: what time is measured in.
        orientation: "larger is better", or "negated" for a metric that falls.
    """

    value: float
    horizon: float
    axis: str
    orientation: Literal["larger is better", "negated"]


def aucc(
    time: Sequence[float],
    metric: Sequence[float],
    *,
    horizon: float,
    axis: str = "seconds",
    larger_is_better: bool = True,
    floor: float | None = None,
) -> Aucc:
    """Area under a validation curve from 0 to T̂, divided by T̂ (after Shen et al. 2021).

    The curve is linear between validation points, flat after the last, and cut at T̂. Before the first point it
    rises from `floor`. A falling metric is negated, so that larger is better always. Divided by T̂ the area reads as a
    mean height; the paper does not print how it normalises, and comparisons at one T̂ do not depend on it.

    Args:
        time: of each validation point, from 0 on; it may stand still but not fall.
        metric: at each point.
        horizon: T̂ > 0.
        axis: "seconds", "steps", "flops" or whatever `time` counts.
        larger_is_better: false for a loss or a perplexity.
        floor: the metric at time 0; the first point's value if None.
    """
    if len(time) != len(metric) or not len(time):
        raise ValueError(
            f"time and metric must have the same number of points, at least one, got {len(time)} and {len(metric)}"
        )
    check_number("horizon", horizon, above=0)
    for name, values in (("time", time), ("metric", metric)):
        for value in values:
            check_number(name, value)
    t, m = np.asarray(time, dtype=float), np.asarray(metric, dtype=float)
    falls = np.flatnonzero(np.diff(t) < 0)
    if len(falls) or t[0] < 0:
        got = f"{t[falls[0] + 1]:g} after {t[falls[0]]:g}" if len(falls) else f"{t[0]:g} first"
        raise ValueError(f"time must not fall and must start at 0 or later, got {got}")
    if t[0] > 0:
        t, m = np.r_[0.0, t], np.r_[m[0] if floor is None else floor, m]
    if not larger_is_better:
        m = -m
    inside = t < horizon
    cut_t, cut_m = np.r_[t[inside], horizon], np.r_[m[inside], np.interp(horizon, t, m)]
    area = float(np.trapezoid(cut_m, cut_t) / horizon)
    return Aucc(area, float(horizon), axis, "larger is better" if larger_is_better else "negated")
