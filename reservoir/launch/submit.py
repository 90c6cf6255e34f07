"""Runs as jobs of a cluster: submitit hands them to SLURM, or to processes of this machine.

A job is a run. When its time is nearly up (or another job needs its place), the scheduler's signal ends the run after
the step under way, with a checkpoint, and the job puts itself back into the queue; its next life goes on from there.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

import reservoir.recipes  # noqa: F401 (a job is unpickled where nothing else has entered them)
from reservoir.runs.execution import execute
from reservoir.runs.records import path_of
from reservoir.runs.run import Run
from reservoir.training import Preempted, StopSignal
from reservoir.training.distribution import PATIENCE, join_world
from reservoir.training.listeners import PlainLines
from reservoir.training.preemption import SIGNALS, restarted

if TYPE_CHECKING:
    import submitit

TIMEOUTS = 1000  # times that a job may put itself back into the queue
Cluster = Literal["auto", "slurm", "local"]


@dataclass(frozen=True)
class Resources:
    """What a job asks for.

    Args:
        hours: of wall-clock, after which the job goes back into the queue.
        nodes, gpus: machines, and GPUs of each; a process for each GPU, or one where there is none.
        cpus: processors for each process.
        lead: seconds before the end at which the run is asked to stop: more than a step and a validation take.
        partition, account: as the cluster's users call them; empty for its own choice.
        parallel: jobs that run at once.
    """

    hours: float = 24.0
    nodes: int = 1
    gpus: int = 1
    cpus: int = 8
    lead: int = 300
    partition: str = ""
    account: str = ""
    parallel: int = 8

    def __post_init__(self) -> None:
        for name, least in (("nodes", 1), ("gpus", 0), ("cpus", 1), ("lead", 1), ("parallel", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"--{name} must be at least {least}, got {getattr(self, name)}")
        if not self.lead < self.hours * 3600:
            raise ValueError(
                f"--lead must be shorter than --hours, {self.hours * 3600:.0f} s, got {self.lead} s: a job that is"
                " asked to stop when it begins never ends"
            )


@dataclass(frozen=True)
class Job:
    """One run, as submitit calls it: with `checkpoint`, which says what the job's next life is.

    Args:
        run: what to run.
        fresh: from the start, in its first life.
    """

    run: Run
    fresh: bool = False

    def __call__(self) -> str:
        """Run, and return the path of the record."""
        import submitit

        environment = submitit.JobEnvironment()
        nearly_over = (
            environment._usr_sig()
        )  # the one signal after which submitit puts a job back into the queue
        if environment.num_tasks > 1:
            submitit.helpers.TorchDistributedEnvironment().export(
                set_cuda_visible_devices=False, overwrite=True
            )
        try:
            with StopSignal((*SIGNALS, nearly_over)) as watch, join_world() as world:
                fresh = self.fresh and not restarted()
                execute(self.run, fresh=fresh, listeners=self.listeners() if world.main else (), stop=watch)
        except Preempted:
            if watch.came != nearly_over.name:  # cancelled: what is done is kept, and nobody asked for more
                raise
            signal.raise_signal(
                nearly_over
            )  # submitit's own handler stands again: the first process requeues
            time.sleep(PATIENCE.total_seconds())  # and the others are ended by that
        return str(path_of(self.run))

    def listeners(self) -> list[Any]:
        """Who is told what happens."""
        return [PlainLines()]

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """What the job goes on with."""
        import submitit

        return submitit.helpers.DelayedSubmission(replace(self, fresh=False))


def executor(cluster: Cluster, resources: Resources, folder: Path, *, name: str) -> submitit.AutoExecutor:
    """What takes jobs.

    Args:
        cluster: "slurm", "local" (processes of this machine), or "auto": SLURM where there is one.
        resources: of each job.
        folder: for the jobs' logs and what they were called with.
        name: of the jobs.

    Raises:
        ValueError: submitit is not installed, or there is no SLURM here.
    """
    try:
        import submitit
    except ImportError as error:
        raise ValueError("submit needs its package: pip install 'submitit>=1.5'") from error
    chosen = None if cluster == "auto" else cluster
    try:
        found = submitit.AutoExecutor(
            folder, cluster=chosen, slurm_max_num_timeout=TIMEOUTS, local_max_num_timeout=TIMEOUTS
        )
    except RuntimeError as error:
        raise ValueError(
            f"--cluster {cluster}: {error}; --cluster local runs the jobs on this machine"
        ) from error
    r = resources
    found.update_parameters(
        name=name,
        timeout_min=max(1, round(r.hours * 60)),
        nodes=r.nodes,
        gpus_per_node=r.gpus,
        tasks_per_node=max(1, r.gpus),
        cpus_per_task=r.cpus,
        slurm_signal_delay_s=r.lead,
        slurm_array_parallelism=r.parallel,
        slurm_srun_args=[
            "--kill-on-bad-exit=1"
        ],  # where one process dies, the others would wait for it for hours
        **({"slurm_partition": r.partition} if r.partition else {}),
        **({"slurm_account": r.account} if r.account else {}),
        slurm_additional_parameters={"requeue": True},
    )
    if found.cluster == "local":
        found._executor.parameters["signal_delay_s"] = r.lead
    return found


def gpus_here() -> list[int]:
    """The numbers of this machine's GPUs, of those that `CUDA_VISIBLE_DEVICES` names where it names some."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return list(range(torch.cuda.device_count()))
    return [int(number) for number in named.split(",") if number.strip().isdigit()]


def submit(
    jobs: Sequence[Job], queue: submitit.AutoExecutor, *, parallel: int, gpus: int = 0
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
    if queue.cluster == "slurm":
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
            if there:  # submitit would give all of them the first ones
                queue._executor.parameters["visible_gpus"] = there[place * gpus : (place + 1) * gpus]
            running.append(queue.submit(job))
        for job in running:
            job.wait()
            yield job
