"""An hour of a GPU in one command: the bits, then speed against peers, then a queue of runs, in the given minutes.

Each part is a process of its own, so that none takes the others with it. What is done stays done: the parts of an
earlier call, one that was killed among them, are not begun again, and runs go on from their checkpoints.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from reservoir.datasets.errors import DataError
from reservoir.files import atomic_write, lock
from reservoir.training.loop import TrainingError
from reservoir.training.preemption import EXIT_STATUS, Preempted, StopSignal
from reservoir_lab.launch import cargo
from reservoir_lab.launch.console import show
from reservoir_lab.launch.queue import read_queue, with_sources
from reservoir_lab.runs.building import missing_sources
from reservoir_lab.runs.machine import code
from reservoir_lab.runs.records import recorded
from reservoir_lab.runs.registry import results
from reservoir_lab.runs.run import Run

if TYPE_CHECKING:
    from reservoir_lab.launch.cli import Gpu

STAGES = ("bits", "speed", "queue")
SHORT = ("--precision", "bf16", "--seconds", "4")
PEERS = {
    "libraries": ("--size", "IWSLT", *SHORT),
    "fourier": ("--size", "IWSLT", *SHORT),
    "fused": SHORT,
    "step": ("--size", "IWSLT", *SHORT),
}
"""Benchmarks and their options: transformers' Marian, eager and compiled, and FNet; weights made inside a product."""
SHARE = 1 / 3  # of the time that is left, at most, for speed
GRACE = 20.0  # seconds in which runs that are asked to stop write their checkpoints, and what comes back is packed
OFTEN = 20.0  # seconds between lines about what is going on


def checked(hour: Gpu) -> None:
    """Refuse what makes no sense, before anything is begun.

    Raises:
        ValueError: an option is out of range, there is no GPU, or another stage is asked for.
    """
    if hour.device not in ("cuda", "cpu"):
        raise ValueError(f"--device must be cuda or cpu, got {hour.device!r}")
    if hour.device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "PyTorch finds no GPU here; --device cpu --scale smoke rehearses everything on the processor"
        )
    if not 2 * GRACE < 60 * hour.minutes < 60 * 24 * 60:
        raise ValueError(
            f"--minutes must be more than {2 * GRACE / 60:.1f}, and a day at most, got {hour.minutes}"
        )
    if hour.parallel < 1:
        raise ValueError(f"--parallel must be at least 1, got {hour.parallel}")
    if hour.cargo:
        cargo.check(hour.cargo)
    if unknown := set(hour.stages) - set(STAGES):
        raise ValueError(f"--stages must be of {', '.join(STAGES)}, got {', '.join(sorted(unknown))}")


def environment(hour: Gpu) -> dict[str, str]:
    """What the parts find in theirs: where their results and data are, and how they compute."""
    found = {
        **os.environ,
        "RESERVOIR_RESULTS": str(results().resolve()),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "PYTHONUNBUFFERED": "1",
    }
    if hour.device == "cpu":
        found["TRITON_INTERPRET"] = "1"
    if hour.cargo:
        found |= {"RESERVOIR_MIRROR": str((hour.cargo / "data").resolve()), "RESERVOIR_OFFLINE": "1"}
        found["RESERVOIR_CODE"] = json.dumps(made_by(hour))
    return found


def made_by(hour: Gpu) -> dict[str, Any]:
    """The code that is at work: what was packed, or what lies here."""
    return cargo.packed_code(hour.cargo) if hour.cargo else code()


def spend(hour: Gpu) -> None:
    """Do what there is time for, and pack what came of it.

    Raises:
        TrainingError: a part failed; the others went on.
        ValueError: another call is still at work in the results folder, or a stage is unknown.
    """
    checked(hour)
    folder = results() / "gpu"
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * hour.minutes - GRACE
    failed: list[str] = []
    runs: list[Run] = []
    with (folder / "lock").open("wb") as held, StopSignal() as stop:
        if not lock(held):
            raise ValueError(
                f"another call is at work in {folder.parent}, or its file system has no locks: wait for that call,"
                " or set RESERVOIR_RESULTS to a folder on a local disk"
            )
        if hour.cargo and (hour.cargo / "back").is_dir():
            cargo.unpack(hour.cargo / "back")
        try:
            runs = with_sources(hour.queue, scale=hour.scale)
        except (DataError, ValueError) as error:  # the bits and the speed do not depend on it
            show(str(error))
            failed.append(str(error))
        back = partial(cargo.archive, runs, hour.to, checkpoints=False)
        do = partial(work, environment=environment(hour), stop=stop, ended=back)
        try:
            for stage in hour.stages:
                left = until - time.monotonic()
                if stage == "queue":
                    if runs:
                        failed += do(_queued(hour, folder), until=until, parallel=hour.parallel)
                elif stage == "speed":
                    failed += do(_speed(hour, folder), until=until - (1 - SHARE) * left, parallel=1)
                else:
                    failed += do(_bits(hour, folder), until=until, parallel=1)
        finally:
            sizes = cargo.archive(runs, hour.to)
            total = sum(sizes.values()) / cargo.MIB
            show(f"{len(sizes)} files with {total:.1f} MiB to take back are in {hour.to}")
    wanted = {run for run, _ in read_queue(hour.queue, scale=hour.scale)} if runs else set()
    done = sum(run not in wanted for run in runs)
    show(f"{done} of {len(runs)} runs are recorded; the same command goes on with the others")
    if stop.came:
        raise Preempted(f"stopped by {stop.came}")
    if failed:
        raise TrainingError(f"{len(failed)} parts failed: {'; '.join(failed)}")


def _bits(hour: Gpu, folder: Path) -> Iterator[Part]:
    """The comparison of bits."""
    words = ["-m", "reservoir_lab.launch.bits", hour.device, str(folder / f"bits-{hour.device}.json")]
    yield Part("bits", words, folder / "logs" / "bits.log", made_by(hour))


def _speed(hour: Gpu, folder: Path) -> Iterator[Part]:
    """The benchmarks; one that was cut off goes on after its last line."""
    if not Path("benchmarks/__main__.py").is_file():
        show("speed is left out: the benchmarks come with the repository, whose folder this is not")
        return
    for name, options in PEERS.items():
        options = ("--quick",) if hour.scale == "smoke" else options
        words = ["-m", "benchmarks", name, "--device", hour.device, "--resume", *options]
        yield Part(f"speed of {name}", words, folder / "logs" / f"speed-{name}.log", made_by(hour))


def _queued(hour: Gpu, folder: Path) -> Iterator[Part]:
    """The runs of the queue that nobody has recorded."""
    for run, _ in read_queue(hour.queue, scale=hour.scale):
        name = f"{run.recipe}, seed {run.seed}"
        words = ["-m", "reservoir_lab", "run", run.recipe, "--scale", run.scale, "--seeds", str(run.seed)]
        words += ["--fresh"] if recorded(run) else []  # and yet asked for
        log = folder / "logs" / f"{run.recipe.replace('/', '-')}-{run.seed}.log"
        words += ["--device", hour.device]
        yield Part(name, words, log, made_by(hour), run.budget.steps, partial(_waits, run))


def _waits(run: Run) -> bool:
    """Whether what it begins with has yet to be run."""
    return any(missing_sources(run))


@dataclass(eq=False)
class Part:
    """A process of this call.

    Args:
        name: what it is called.
        words: what Python is called with.
        log: where it writes; next to it, once it is done, is the code that did it.
        made_by: that code.
        steps: that it takes, where it is a run.
        waits: whether something has to be done before it can begin.
    """

    name: str
    words: list[str]
    log: Path
    made_by: dict[str, Any]
    steps: int = 0
    waits: Callable[[], bool] = bool
    process: subprocess.Popen = field(init=False, repr=False)
    began: float = field(init=False)
    first: tuple[float, int] | None = None
    """When its first line about a step was seen, and which step that was."""

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
        """Whether an earlier call has done it, with this code; a run is known by its record.

        What a file that cannot be read says of a part is not known, so the part is done again.
        """
        try:
            return not self.steps and json.loads(self.done.read_text(encoding="utf-8")) == self.made_by
        except (OSError, ValueError):
            return False

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
    waiting = [part for part in parts if not part.is_done()]
    working: list[Part] = []
    failed: list[str] = []
    said = time.monotonic()
    try:
        while not stop() and (left := until - time.monotonic()) > 0:
            while len(working) < parallel and (
                part := next((one for one in waiting if not one.waits()), None)
            ):
                waiting.remove(part)
                part.start(environment)
                show(f"{part.name} begins, {left / 60:.1f} min left")
                working.append(part)
            if not working:
                failed += [f"{part.name} cannot begin: what it begins with was not run" for part in waiting]
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
        atomic_write(part.done, json.dumps(part.made_by).encode())
    elif status == EXIT_STATUS:
        show(f"{part.name} was asked to stop, and goes on with the next call")
    else:
        failed = f"{part.name} failed with status {status}, see {part.log}: {part.last_line()}"
        show(failed)
        return failed
    return ""
