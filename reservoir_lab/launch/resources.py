"""What a job of a cluster asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Cluster = Literal["auto", "slurm", "local"]


@dataclass(frozen=True)
class Resources:
    """What each job asks for.

    Args:
        hours: Wall-clock time of a job, after which it goes back into the queue.
        nodes: Machines per job.
        gpus: GPUs per machine, with one process each; 0 for one process without a GPU.
        cpus: Processors per process.
        lead: Seconds before the end at which the run is asked to stop: more than a step and a validation take.
        partition: As your cluster calls it; empty for the cluster's own choice.
        account: As your cluster calls it; empty for the cluster's own choice.
        parallel: Jobs that run at once.
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
        if not (math.isfinite(self.hours) and self.hours > 0):
            raise ValueError(f"--hours must be a positive number of hours, got {self.hours}")
        if not self.lead < self.hours * 3600:
            raise ValueError(
                f"--lead must be shorter than --hours, {self.hours * 3600:.0f} s, got {self.lead} s: a job that is"
                " asked to stop when it begins never ends"
            )
