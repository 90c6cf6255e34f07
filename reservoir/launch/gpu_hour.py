"""An hour of a GPU in one command: first the bits, then speed beside peers, then a queue of runs, in the given minutes.

Each part is a process of its own, so that none takes the others with it. What is done stays done: the parts of an
earlier call, one that was killed among them, are not begun again, and runs go on from their checkpoints.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from reservoir.datasets.errors import DataError
from reservoir.files import lock
from reservoir.launch import cargo
from reservoir.launch.console import show
from reservoir.launch.parts import GRACE, Part, work
from reservoir.launch.queue import all_runs, read_queue
from reservoir.runs.registry import Scale, results
from reservoir.runs.run import Run
from reservoir.training.loop import TrainingError
from reservoir.training.preemption import Preempted, StopSignal

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


@dataclass(frozen=True)
class Hour:
    """What a call may take, and where.

    Args:
        minutes: in all.
        device: "cuda", or "cpu" to rehearse.
        scale: of the runs; None takes what the queue says.
        queue: the file that lists them.
        parallel: how many share the device.
        to: where the files go that come back.
        cargo: the folder that `cargo.pack` has written, if there is one.
    """

    minutes: float
    device: str
    scale: Scale | None
    queue: Path
    parallel: int
    to: Path
    cargo: Path | None = None

    def __post_init__(self) -> None:
        if self.device not in ("cuda", "cpu"):
            raise ValueError(f"--device must be cuda or cpu, got {self.device!r}")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError(
                "PyTorch finds no GPU here; --device cpu --scale smoke rehearses everything on the processor"
            )
        if not 2 * GRACE < 60 * self.minutes < 60 * 24 * 60:
            raise ValueError(
                f"--minutes must be more than {2 * GRACE / 60:.1f}, and a day at most, got {self.minutes}"
            )
        if self.parallel < 1:
            raise ValueError(f"--parallel must be at least 1, got {self.parallel}")
        if self.cargo and not (self.cargo / "site").is_dir():
            raise ValueError(f"--cargo {self.cargo} holds nothing that `gpu --pack` has written")

    def environment(self) -> dict[str, str]:
        """What the parts find in theirs: where their results and data are, and how they compute."""
        found = {
            **os.environ,
            "RESERVOIR_RESULTS": str(results().resolve()),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "PYTHONUNBUFFERED": "1",
        }
        if self.device == "cpu":
            found["TRITON_INTERPRET"] = "1"
        if self.cargo:
            found |= {"RESERVOIR_MIRROR": str((self.cargo / "data").resolve()), "RESERVOIR_OFFLINE": "1"}
        return found


def spend(hour: Hour, stages: Sequence[str] = STAGES) -> None:
    """Do what there is time for, and pack what came of it.

    Raises:
        TrainingError: a part failed; the others went on.
        ValueError: another call is still at work in the results folder, or a stage is unknown.
    """
    if unknown := set(stages) - set(STAGES):
        raise ValueError(f"--stages must be of {', '.join(STAGES)}, got {', '.join(sorted(unknown))}")
    folder = results() / "gpu"
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * hour.minutes - GRACE
    failed: list[str] = []
    runs: list[Run] = []
    with (folder / "lock").open("wb") as held, StopSignal() as stop:
        if not lock(held):
            raise ValueError(f"another call is at work in {folder.parent}: wait for it, or end it")
        if hour.cargo and (hour.cargo / "back").is_dir():
            cargo.unpack(hour.cargo / "back")
        try:
            runs = [run for run, *_ in all_runs(hour.queue, scale=hour.scale)]
        except (DataError, ValueError) as error:  # the bits and the speed do not depend on it
            show(str(error))
            failed.append(str(error))
        back = partial(cargo.archive, runs, hour.to, checkpoints=False)
        do = partial(work, environment=hour.environment(), stop=stop, ended=back)
        try:
            for stage in stages:
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
    todo = len(read_queue(hour.queue, scale=hour.scale)) if runs else 0
    show(f"{len(runs) - todo} of {len(runs)} runs are recorded; the same command goes on with the others")
    if stop.came:
        raise Preempted(stop.came)
    if failed:
        raise TrainingError(f"{len(failed)} parts failed: {'; '.join(failed)}")


def _bits(hour: Hour, folder: Path) -> Iterator[Part]:
    """The comparison of bits."""
    words = ["-m", "reservoir.launch.bits", hour.device, str(folder / f"bits-{hour.device}.json")]
    yield Part("bits", words, folder / "logs" / "bits.log")


def _speed(hour: Hour, folder: Path) -> Iterator[Part]:
    """The benchmarks; one that was cut off goes on after its last line."""
    if not Path("benchmarks/__main__.py").is_file():
        show("speed is left out: the benchmarks come with the repository, whose folder this is not")
        return
    for name, options in PEERS.items():
        options = ("--quick",) if hour.scale == "smoke" else options
        words = ["-m", "benchmarks", name, "--device", hour.device, "--resume", *options]
        yield Part(f"speed of {name}", words, folder / "logs" / f"speed-{name}.log")


def _queued(hour: Hour, folder: Path) -> Iterator[Part]:
    """The runs of the queue that nobody has recorded."""
    for run, _ in read_queue(hour.queue, scale=hour.scale):
        name = f"{run.recipe}, seed {run.seed}"
        words = ["-m", "reservoir", "run", run.recipe, "--scale", run.scale, "--seeds", str(run.seed)]
        log = folder / "logs" / f"{run.recipe.replace('/', '-')}-{run.seed}.log"
        yield Part(name, [*words, "--device", hour.device], log, run.budget.steps)
