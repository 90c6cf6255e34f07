"""Runs as jobs of a cluster: submitit hands them to SLURM, or to processes of this machine.

A job is a run. When its time is nearly up (or another job needs its place), the scheduler's signal ends the run after
the current step, with a checkpoint, and the job puts itself back into the queue; when it is started again it continues.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import submitit
import torch

import reservoir_lab.recipes  # noqa: F401 (a job is unpickled where nothing else has entered them)
from reservoir.training.loop import TrainingError
from reservoir_lab.launch.console import show
from reservoir_lab.launch.gpus import Cluster, Resources
from reservoir_lab.launch.progress import PlainLines
from reservoir_lab.runs.distribution import PATIENCE, join_world
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.preemption import SIGNALS, Preempted, StopSignal
from reservoir_lab.runs.records import path_of, recorded
from reservoir_lab.runs.registry import results
from reservoir_lab.runs.run import Run

TIMEOUTS = 1000  # times that a job may put itself back into the queue
VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Job:
    """One run, as submitit calls it: with `checkpoint`, which says how the job continues.

    Args:
        run: what to run.
        fresh: even if it is recorded; a job that is started again goes on.
        gpus: the GPUs of this machine that it may use, as `CUDA_VISIBLE_DEVICES` names them; empty leaves the choice
            to the cluster.
    """

    run: Run
    fresh: bool = False
    gpus: tuple[str, ...] = ()

    def __call__(self) -> str:
        """Run, and return the path of the record."""
        if self.gpus:  # before anything asks for the GPUs
            os.environ[VISIBLE] = ",".join(self.gpus)
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
    runs: Sequence[Run],
    resources: Resources,
    *,
    cluster: Cluster,
    folder: Path | None = None,
    fresh: bool = False,
) -> None:
    """Submit runs and print where their logs are; on this machine, wait for them as well.

    Args:
        runs: what to run; what is recorded is left out.
        resources: of each job.
        cluster: as in `executor`.
        folder: for logs; `jobs` in the results folder if None.
        fresh: run again what is recorded, from the start.

    Raises:
        ValueError: there is no such cluster here, or this machine has fewer GPUs.
        TrainingError: jobs on this machine failed.
    """
    jobs = [Job(run, fresh) for run in runs if fresh or not recorded(run)]
    if len(jobs) < len(runs):
        show(f"{len(runs) - len(jobs)} of {len(runs)} are recorded already; --fresh runs them again")
    if not jobs:
        return
    queue = executor(cluster, resources, (folder or results() / "jobs").resolve() / "%j", name="reservoir")
    if isinstance(queue, submitit.LocalExecutor) and 0 < len(gpus_here()) < resources.gpus:
        raise ValueError(
            f"--gpus must be at most {len(gpus_here())}, the GPUs of this machine, got {resources.gpus}"
        )
    failed = 0
    for job, submitted in zip(
        jobs, submit(jobs, queue, parallel=resources.parallel, gpus=resources.gpus), strict=True
    ):
        words = "submitted"
        if isinstance(queue, submitit.LocalExecutor):
            wrong = submitted.exception()
            failed += wrong is not None
            words = "ended" if wrong is None else f"failed ({str(wrong).strip().splitlines()[-1]})"
        run = job.run
        name = f"{run.recipe} ({run.scale}, seed {run.seed})"
        show(f"job {submitted.job_id}: {name} {words}; log {submitted.paths.stderr}")
    if failed:
        raise TrainingError(f"{failed} of {len(jobs)} jobs failed; their logs say why")


def executor(cluster: Cluster, resources: Resources, folder: Path, *, name: str) -> submitit.Executor:
    """What takes jobs.

    Args:
        cluster: "slurm", "local" (processes of this machine), or "auto": SLURM where there is one.
        resources: of each job.
        folder: for the jobs' logs and what they were called with.
        name: of the jobs.

    Raises:
        ValueError: there is no SLURM here.
    """
    r = resources
    each: dict[str, Any] = {
        "timeout_min": max(1, round(r.hours * 60)),
        "nodes": r.nodes,
        "gpus_per_node": r.gpus,
        "tasks_per_node": max(1, r.gpus),
    }
    chosen = submitit.AutoExecutor.which() if cluster == "auto" else cluster
    if chosen == "local":
        local = submitit.LocalExecutor(folder, max_num_timeout=TIMEOUTS)
        local.update_parameters(**each, signal_delay_s=r.lead)
        return local
    try:
        found = submitit.AutoExecutor(folder, cluster=chosen, slurm_max_num_timeout=TIMEOUTS)
    except RuntimeError as error:
        raise ValueError(
            f"--cluster {cluster}: {error}; --cluster local runs the jobs on this machine"
        ) from error
    found.update_parameters(
        **each,
        name=name,
        cpus_per_task=r.cpus,
        slurm_signal_delay_s=r.lead,
        slurm_array_parallelism=r.parallel,
        slurm_srun_args=["--kill-on-bad-exit=1"],  # or the others would wait for hours for one that has died
        slurm_partition=r.partition or None,
        slurm_account=r.account or None,
        slurm_additional_parameters={"requeue": True},
    )
    return found


def gpus_here() -> list[str]:
    """This machine's GPUs by number or UUID: those that `CUDA_VISIBLE_DEVICES` names, or all where it is not set."""
    named = os.environ.get(VISIBLE)
    if named is None:
        return [str(number) for number in range(torch.cuda.device_count())]
    found = []
    for name in (name.strip() for name in named.split(",")):
        if not (name.isdigit() or name.startswith(("GPU-", "MIG-"))):
            break  # as CUDA does, which sees none from the first that is no device, such as -1
        found.append(name)
    return found


def submit(
    jobs: Sequence[Job], queue: submitit.Executor, *, parallel: int, gpus: int = 0
) -> Iterator[submitit.Job[str]]:
    """Submit `jobs`: to SLURM as one array, on this machine `parallel` at a time, each with GPUs of its own.

    Args:
        jobs: what to run.
        queue: from `executor`.
        parallel: how many at a time on this machine; fewer where there are not as many GPUs.
        gpus: of each job.

    Yields:
        The submitted jobs; on this machine when they have ended.
    """
    if not isinstance(queue, submitit.LocalExecutor):
        with queue.batch():
            submitted = [queue.submit(job) for job in jobs]
        yield from submitted
        return
    there = gpus_here() if gpus else []
    if there:
        parallel = max(1, min(parallel, len(there) // gpus))
    for start in range(0, len(jobs), parallel):
        running = []
        for place, job in enumerate(jobs[start : start + parallel]):
            own = tuple(there[place * gpus : (place + 1) * gpus])
            running.append(queue.submit(replace(job, gpus=own)))
        for waiting in running:
            waiting.wait()
            yield waiting
