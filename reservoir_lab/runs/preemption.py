"""Asked to stop: a scheduler's signal ends a run after the step under way, with a checkpoint to go on from."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGUSR1", "SIGHUP") if hasattr(signal, name)
)  # Windows lacks two
EXIT_STATUS = 75
"""Of a process that was asked to stop and can go on: EX_TEMPFAIL of sysexits.h, "try again later"."""


def restarted() -> bool:
    """Whether torchrun or SLURM has started this process again, after a life that was cut off.

    It has been given the same command, and what that said of beginning afresh was for the first life.
    """
    lives = (os.environ.get(name, "0") for name in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"))
    return any(life.isdigit() and int(life) > 0 for life in lives)


class Preempted(Exception):
    """The run was asked to stop, and did; what it has done is in its checkpoint."""


class StopSignal:
    """Notes signals while it is entered: `with StopSignal() as stop`, then `stop()` says whether one has come.

    Where training listens, it ends after the step (and the validation) under way. Elsewhere nothing is worth keeping
    that the last checkpoint lacks, and `at_once` ends it there and then.

    Args:
        signals: which.
    """

    def __init__(self, signals: tuple[signal.Signals, ...] = SIGNALS):
        self.signals, self.came = signals, ""
        self._before: dict[signal.Signals, Any] = {}
        self._at_once = False

    def __call__(self) -> bool:
        return bool(self.came)

    def __enter__(self) -> StopSignal:
        if threading.current_thread() is threading.main_thread():  # no other may set handlers
            heard = [
                number for number in self.signals if signal.getsignal(number) is not signal.SIG_IGN
            ]  # nohup's
            self._before = {number: signal.signal(number, self._note) for number in heard}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise `Preempted` the moment a signal comes, or if one has come already."""
        self._at_once = True
        try:
            if self.came:
                raise Preempted(f"stopped by {self.came}")
            yield
        finally:
            self._at_once = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = signal.Signals(number).name
        if self.came == "SIGHUP":
            _let_go_of_the_terminal()
        if self._at_once:
            raise Preempted(f"stopped by {self.came}")


def _let_go_of_the_terminal() -> None:
    """Have what is still printed go nowhere: writing to a terminal that was closed is an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        if stat.S_ISCHR(os.fstat(number).st_mode):
            os.dup2(nowhere, number)
    os.close(nowhere)
