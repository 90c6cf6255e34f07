"""How the command line shows training: lines, a progress bar, or TensorBoard."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from reservoir.training.events import (
    Event,
    Finished,
    Listener,
    Message,
    Point,
    Recorded,
    Saved,
    Started,
    Stepped,
    Stopped,
    Validated,
)


def describe(point: Point) -> str:
    """A validation point in one line."""
    metrics = ", ".join(f"{name} {value:.2f}" for name, value in point.metrics.items())
    return f"step {point.step}: {metrics} after {point.seconds:.0f} s and {point.tokens / 1e6:.2f} M tokens"


class PlainLines:
    """One line every `every` steps and at each validation point: for logs and pipes.

    Args:
        every: steps between lines.
        file: where to; standard error if None, so that a command's output stays its own.
    """

    def __init__(self, *, every: int = 100, file: TextIO | None = None):
        self.every, self.file = every, file

    def __call__(self, event: Event) -> None:
        match event:
            case Started(name=name, step=0, steps=steps, trainable=trainable, total=total):
                self._say(f"{name}: {steps} steps, {trainable:,} of {total:,} parameters move")
            case Started(name=name, step=step, steps=steps):
                self._say(f"{name}: goes on at step {step} of {steps}")
            case Stepped(step=step) if step % self.every == 0:
                self._say(
                    f"step {step}: loss {event.loss:.3f}, rate {event.rate:.2g},"
                    f" {event.tokens / max(event.seconds, 1e-9):,.0f} tokens/s"
                )
            case Validated(point=point):
                self._say(describe(point))
            case Message(text=text) | Recorded(text=text):
                self._say(text)

    def _say(self, line: str) -> None:
        print(line, file=self.file or sys.stderr, flush=True)


class ProgressBar:
    """A progress bar with the current loss, and a line for each validation point, in a terminal.

    Args:
        console: where to; standard error if None.
    """

    def __init__(self, *, console: Console | None = None):
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console or Console(stderr=True),
        )
        self.bar = TaskID(0)

    def __call__(self, event: Event) -> None:
        match event:
            case Started(name=name, step=step, steps=steps):
                self.progress.start()
                self.bar = self.progress.add_task(name, total=steps, completed=step, note="")
            case Stepped(step=step, loss=loss):
                self.progress.update(self.bar, completed=step, note=f"loss {loss:.3f}")
            case Validated(point=point):
                self.progress.console.print(describe(point), highlight=False)
            case Message(text=text) | Recorded(text=text):
                self.progress.console.print(text, highlight=False)
            case Finished() | Stopped():  # a bar that is not stopped leaves the terminal without a cursor
                self.progress.stop()


class TensorBoard:
    """Losses, rates and validation metrics as TensorBoard scalars.

    Args:
        folder: where the logs go.

    Raises:
        ValueError: the package tensorboard is not installed.
    """

    def __init__(self, folder: str):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ValueError("TensorBoard needs its package: pip install tensorboard") from error
        self.writer = SummaryWriter(folder)

    def __call__(self, event: Event) -> None:
        match event:
            case Stepped(step=step, loss=loss, rate=rate):
                self.writer.add_scalar("train/loss", loss, step)
                self.writer.add_scalar("train/rate", rate, step)
            case Validated(point=point):
                for name, value in point.metrics.items():
                    self.writer.add_scalar(f"valid/{name}", value, point.step)
            case Saved() | Finished() | Stopped():
                self.writer.flush()


def automatic(*, tensorboard: str | None = None) -> list[Listener]:
    """A progress bar in a terminal, plain lines elsewhere, and TensorBoard if a folder is given."""
    shown: Listener = ProgressBar() if sys.stderr.isatty() else PlainLines()
    return [shown] if tensorboard is None else [shown, TensorBoard(tensorboard)]
