"""Processes of one call: each with a log of its own, some at a time, until all have ended or the time is over.

What is done stays done: a part that an earlier call has done with the same code is not begun again.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reservoir.launch.console import show
from reservoir.runs.machine import code
from reservoir.training.preemption import EXIT_STATUS, StopSignal

GRACE = 20.0  # seconds in which runs that are asked to stop write their checkpoints, and what comes back is packed
OFTEN = 20.0  # seconds between lines about what is going on


@dataclass
class Part:
    """A process of this call.

    Args:
        name: what it is called.
        words: what Python is called with.
        log: where it writes; next to it, once it is done, is the code that did it.
        steps: that it takes, where it is a run.
    """

    name: str
    words: list[str]
    log: Path
    steps: int = 0
    process: subprocess.Popen = field(init=False, repr=False)
    began: float = field(init=False)
    first: tuple[float, int] | None = (
        None  # when its first line about a step was seen, and which step that was
    )

    def start(self, environment: dict[str, str]) -> None:
        """Begin, with output to the log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.words],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )

    @property
    def done(self) -> Path:
        """A file that says with which code it was done."""
        return self.log.with_suffix(".done")

    def is_done(self) -> bool:
        """Whether an earlier call has done it, with this code; a run is known by its record."""
        return not self.steps and self.done.is_file() and json.loads(self.done.read_text()) == code()

    def last_line(self) -> str:
        """What it said last."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def about(self) -> str:
        """Its name, the step that it is at, and the minutes that it still takes at the pace so far."""
        found = re.findall(r"^step (\d+)", self.log.read_text(encoding="utf-8", errors="replace"), re.M)
        if not found:
            return self.name
        step, now = int(found[-1]), time.monotonic()
        self.first = self.first or (now, step)
        words = f"{self.name} at step {step:,} of {self.steps:,}"
        if step == self.first[1]:
            return words
        left = (self.steps - step) * (now - self.first[0]) / (step - self.first[1])
        return f"{words}, {left / 60:.1f} min left"


def _end_with_parent() -> None:
    """Have Linux ask this process to stop when the one that began it is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def work(
    parts: Iterator[Part],
    *,
    until: float,
    parallel: int,
    environment: dict[str, str],
    stop: StopSignal,
    ended: Callable[[], object],
) -> list[str]:
    """Have so many parts at work until there are none left or the time is over; those are asked to stop.

    Args:
        parts: what is to be done; they are begun in this order.
        until: when the time is over, by `time.monotonic`.
        parallel: how many share the device.
        environment: of the processes.
        stop: whether this process was asked to stop.
        ended: what is done each time that a part has ended.

    Returns:
        What is to be said of each part that failed.
    """
    waiting = (part for part in parts if not part.is_done())
    working: list[Part] = []
    failed: list[str] = []
    said = time.monotonic()
    try:
        while not stop() and (left := until - time.monotonic()) > 0:
            while len(working) < parallel and (part := next(waiting, None)):
                part.start(environment)
                show(f"{part.name} begins, {left / 60:.1f} min left")
                working.append(part)
            if not working:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                working[0].process.wait(timeout=min(0.5, left))
            for part in [one for one in working if one.process.poll() is not None]:
                working.remove(part)
                if why := _failure(part):
                    failed.append(why)
                ended()
            if time.monotonic() > said + OFTEN:
                said = time.monotonic()
                show(f"{'; '.join(one.about() for one in working)} ({(until - said) / 60:.1f} min left)")
    finally:
        for part in working:
            part.process.terminate()
        for part in working:
            with contextlib.suppress(subprocess.TimeoutExpired):
                part.process.wait(timeout=GRACE / 2)
            part.process.kill()
            part.process.wait()
            show(f"{part.name} is stopped, and goes on with the next call: {part.last_line()}")
    return failed


def _failure(part: Part) -> str:
    """Say how a part ended, and return why it failed, if it did."""
    status, seconds = part.process.returncode, time.monotonic() - part.began
    if status == 0:
        show(f"{part.name} is done after {seconds:.0f} s")
        part.done.write_text(json.dumps(code()))
    elif status == EXIT_STATUS:
        show(f"{part.name} was asked to stop, and goes on with the next call")
    else:
        failed = f"{part.name} failed with status {status}, see {part.log}: {part.last_line()}"
        show(failed)
        return failed
    return ""
