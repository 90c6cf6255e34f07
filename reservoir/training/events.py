"""What the training loop says and measures: events for listeners that show or record them, and the history of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


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
        flops_per_token: what the next step costs; 0 before the first.
        step_seconds: median wall-clock of a step in the last process that made one.
        cpu_seconds: processor time of all processes that trained, validation included.
        flops_per_skipped_token: the same where backward passes are skipped.
        skipped: steps in which they were.
        kind_seconds: median wall-clock of a "full" and of a "skipped" step, where there are both, in the last process.
        losses: training loss of every step since the process started, in nats a prediction.
    """

    points: list[Point] = field(default_factory=list)
    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    flops: float = 0.0
    flops_per_token: float = 0.0
    step_seconds: float = 0.0
    cpu_seconds: float = 0.0
    flops_per_skipped_token: float = 0.0
    skipped: int = 0
    kind_seconds: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)

    def progress(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {
            "step": self.step,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "flops": self.flops,
            "flops_per_token": self.flops_per_token,
            "step_seconds": self.step_seconds,
            "cpu_seconds": self.cpu_seconds,
            "flops_per_skipped_token": self.flops_per_skipped_token,
            "skipped": self.skipped,
            "kind_seconds": self.kind_seconds,
            "points": [asdict(point) for point in self.points],
        }

    @classmethod
    def restored(cls, progress: dict[str, Any]) -> History:
        """The history that `progress` was made from."""
        return cls(**{**progress, "points": [Point(**point) for point in progress["points"]]})
