"""Runs as jobs of a cluster: submitit hands them to SLURM.

A job is a run. When its time is nearly up (or another job needs its place), the scheduler's signal ends the run after
the current step, with a checkpoint, and the job puts itself back into the queue; when it is started again it continues.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import submitit

import reservoir_lab.recipes  # noqa: F401 (a job is unpickled where nothing else has entered them)
from reservoir_lab.launch.console import show
from reservoir_lab.launch.train import PlainLines
from reservoir_lab.runs.distribution import PATIENCE, join_world
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.preemption import SIGNALS, Preempted, StopSignal
from reservoir_lab.runs.records import path_of, recorded
from reservoir_lab.runs.registry import results
from reservoir_lab.runs.run import Run

TIMEOUTS = 1000  # times that a job may put itself back into the queue


@dataclass(frozen=True)
class Job:
    """One run, as submitit calls it: with `checkpoint`, which says how the job continues.

    Args:
        run: what to run.
        fresh: even if it is recorded; a job that is started again goes on.
    """

    run: Run
    fresh: bool = False

    def __call__(self) -> str:
        """Run, and return the path of the record."""
        environment = submitit.JobEnvironment()
        # The one signal after which submitit puts a job back into the queue.
        nearly_over = signal.Signals[f"SIG{submitit.JobEnvironment.USR_SIG}"]
        if environment.num_tasks > 1:
            submitit.helpers.TorchDistributedEnvironment().export(
                set_cuda_visible_devices=False, overwrite=True
            )
        try:
            with StopSignal((*SIGNALS, nearly_over)) as stop, join_world() as world:
                execute(
                    self.run, fresh=self.fresh, listeners=self.listeners() if world.main else (), stop=stop
                )
        except Preempted:
            if stop.came != nearly_over.name:
                raise  # cancelled: the checkpoint is kept, and nothing is queued again
            # submitit's own handler is back: the first process requeues the job.
            signal.raise_signal(nearly_over)
            time.sleep(PATIENCE.total_seconds())  # which ends the others
        return str(path_of(self.run))

    def listeners(self) -> list[Any]:
        """What prints the events of the run."""
        return [PlainLines()]

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """How the job continues when it is started again."""
        return submitit.helpers.DelayedSubmission(replace(self, fresh=False))


def submit_runs(
    runs: Sequence[Run], folder: Path | None = None, *, fresh: bool = False, **asked: Any
) -> None:
    """Submit runs as one array, and print where their logs are.

    Args:
        runs: what to run; what is recorded is left out.
        folder: for logs; `jobs` in the results folder if None.
        fresh: run again what is recorded, from the start.
        asked: what each job asks for, as in `executor`.

    Raises:
        ValueError: there is no SLURM here.
    """
    jobs = [Job(run, fresh) for run in runs if fresh or not recorded(run)]
    if len(jobs) < len(runs):
        show(f"{len(runs) - len(jobs)} of {len(runs)} are recorded already; --fresh runs them again")
    if not jobs:
        return
    queue = executor((folder or results() / "jobs").resolve() / "%j", **asked)
    with queue.batch():
        submitted = [queue.submit(job) for job in jobs]
    for job, place in zip(jobs, submitted, strict=True):
        run = job.run
        name = f"{run.recipe} ({run.scale}, seed {run.seed})"
        show(f"job {place.job_id}: {name} submitted; log {place.paths.stderr}")


def executor(
    folder: Path,
    *,
    hours: float,
    nodes: int,
    gpus: int,
    cpus: int,
    lead: int,
    partition: str,
    account: str,
    parallel: int,
) -> submitit.Executor:
    """What takes jobs; `reservoir submit --help` says what each asks for.

    Args:
        folder: for the jobs' logs and what they were called with.

    Raises:
        ValueError: there is no SLURM here.
    """
    try:
        found = submitit.AutoExecutor(folder, cluster="slurm", slurm_max_num_timeout=TIMEOUTS)
    except RuntimeError as error:
        raise ValueError(f"{error}; `reservoir run` takes the same runs on this machine") from error
    found.update_parameters(
        name="reservoir",
        timeout_min=max(1, round(hours * 60)),
        nodes=nodes,
        gpus_per_node=gpus,
        tasks_per_node=max(1, gpus),
        cpus_per_task=cpus,
        slurm_signal_delay_s=lead,
        slurm_array_parallelism=parallel,
        slurm_srun_args=["--kill-on-bad-exit=1"],  # or the others would wait for hours for one that has died
        slurm_partition=partition or None,
        slurm_account=account or None,
        slurm_additional_parameters={"requeue": True},
    )
    return found
