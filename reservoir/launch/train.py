"""Training runs one after another, alone or with the other processes that torchrun has started."""

from __future__ import annotations

from collections.abc import Sequence

from reservoir.launch.console import show
from reservoir.launch.show import show_record
from reservoir.runs.building import device_of
from reservoir.runs.execution import execute
from reservoir.runs.records import RecordError, path_of
from reservoir.runs.run import Run
from reservoir.training.checkpoint import CheckpointError
from reservoir.training.distribution import World, join_world
from reservoir.training.distribution import leave_world as leave_world  # for the command line, when it fails
from reservoir.training.events import Message
from reservoir.training.listeners import automatic
from reservoir.training.loop import TrainingError
from reservoir.training.preemption import StopSignal, restarted
from reservoir.weights.files import WeightsError


def train_runs(runs: Sequence[Run], *, fresh: bool = False, tensorboard: str | None = None) -> None:
    """Execute runs and print what came of them.

    Args:
        runs: what to run.
        fresh: from the start, even if it is recorded; a process that was started again goes on all the same.
        tensorboard: a folder for TensorBoard's logs.

    Raises:
        ValueError: a run asks for a device that is not here.
    """
    for run in runs:
        device_of(run)  # before the first of them is trained
    with join_world() as world, StopSignal() as stop:
        for run in runs:
            train(run, world, stop, fresh=fresh and not restarted(), tensorboard=tensorboard)


def train(run: Run, world: World, stop: StopSignal, *, fresh: bool, tensorboard: str | None) -> None:
    """Execute one run; the first process prints what happens."""
    if not world.main:
        execute(run, fresh=fresh, stop=stop)
        return
    listeners = automatic(tensorboard=tensorboard)
    if world.size > 1:
        for listener in listeners:
            listener(Message(f"{world.size} processes share every batch"))
    show_record(execute(run, fresh=fresh, listeners=listeners, stop=stop))
    show(f"recorded in {path_of(run)}")


EXPLAINED = (CheckpointError, RecordError, TrainingError, WeightsError)
