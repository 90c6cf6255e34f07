"""How far training is in a cell of a notebook, and how long it still takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from reservoir.training.events import ALWAYS, Event, Finished, Started, Stepped, Stopped

PATIENCE = 2.0  # seconds of training before a line appears
EVERY = 0.5


class Progress:
    """A listener that says the step, the loss and the time left in one line, which it updates.

    Args:
        show: called with each new line.
        clock: seconds; only differences count.
    """

    def __init__(self, show: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic):
        self.show, self.clock = show, clock
        self.begun, self.first, self.steps, self.said = 0.0, 0, 0, 0.0

    def __call__(self, event: Event) -> None:
        now = self.clock()
        match event:
            case Started(step=step, steps=steps):
                self.begun, self.first, self.steps, self.said = now, step, steps, now + PATIENCE - EVERY
            case Stepped(step=step, loss=loss) if now - self.said >= EVERY:
                self.said = now
                left = (now - self.begun) * (self.steps - step) / max(step - self.first, 1)
                self.show(f"step {step:,} of {self.steps:,}, loss {loss:.2f}, {duration(left)} left")
            case Finished(step=step) | Stopped(step=step) if now - self.begun >= PATIENCE:
                taken = step - self.first  # by this call; a run that goes on had taken the others before
                self.show(f"{taken:,} {'step' if taken == 1 else 'steps'} in {duration(now - self.begun)}")


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    whole = round(seconds)
    return f"{whole} s" if whole < 90 else f"{whole // 60} min {whole % 60:02d} s"


class InPlace:
    """One output of a cell, updated in place."""

    def __init__(self) -> None:
        self.handle: Any = None

    def __call__(self, bundle: dict[str, Any]) -> None:
        # Imported here: training without a notebook needs no IPython.
        from IPython.display import display

        # As plain data: a figure would also show itself, next to the output that is updated.
        if self.handle is None:
            self.handle = display(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)


class Line:
    """A line of words for each cell that runs, updated in place."""

    def __init__(self, shell: Any):
        self.shell, self.cell, self.output = shell, None, InPlace()

    def __call__(self, words: str) -> None:
        if self.cell != self.shell.execution_count:
            self.cell, self.output = self.shell.execution_count, InPlace()
        self.output({"text/plain": words})


def show_progress(shell: Any) -> None:
    """Let all training in `shell`, an IPython shell or None, say how far it is, where you are there to see it.

    Programs that run notebooks, such as nbclient, say that nobody can answer a question; the book's stored outputs
    then have no such line.
    """
    parent: dict[str, Any] = getattr(getattr(shell, "kernel", None), "get_parent", dict)()
    if parent.get("content", {}).get("allow_stdin") and not any(isinstance(one, Progress) for one in ALWAYS):
        ALWAYS.append(Progress(Line(shell)))
