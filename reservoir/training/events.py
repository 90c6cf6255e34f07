"""Events that the training loop emits, for listeners that show or record them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


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
