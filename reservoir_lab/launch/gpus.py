"""GPUs by name: the peak figures of their data sheets and a price an hour; and what a job of a cluster asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reservoir_lab.typed import hint

MACHINE = 8  # GPUs that share a link; more are several machines


@dataclass(frozen=True)
class GPU:
    """A GPU's peak figures, from its data sheet, without sparsity.

    Args:
        words: its name, written out.
        bf16, fp32: operations a second of matrix products, in bf16 and in fp32 (without TF32); bf16 is 0 where the
            hardware does not multiply it.
        bandwidth: bytes a second, to and from its memory.
        memory: bytes.
        link: bytes a second to the other GPUs of its machine, one way.
        network: the same to GPUs of other machines, by the network cards that such machines usually have.
        price: an assumption, in US dollars an hour: about what clouds asked when this was written. `--price` says what
            yours asks.
    """

    words: str
    bf16: float
    fp32: float
    bandwidth: float
    memory: float
    link: float
    network: float
    price: float

    def ring(self, gpus: int) -> float:
        """Bytes a second around a ring of so many: its slowest link decides."""
        return self.link if gpus <= MACHINE else min(self.link, self.network)


GPUS = {
    "h200": GPU("NVIDIA H200 SXM", 989e12, 67e12, 4.8e12, 141e9, 450e9, 50e9, 3.50),
    "h100": GPU("NVIDIA H100 SXM", 989e12, 67e12, 3.35e12, 80e9, 450e9, 50e9, 2.50),
    "a100": GPU("NVIDIA A100 SXM 80 GB", 312e12, 19.5e12, 2.04e12, 80e9, 300e9, 25e9, 1.60),
    "l4": GPU("NVIDIA L4", 121e12, 30.3e12, 0.30e12, 24e9, 32e9, 6.25e9, 0.70),
    "rtx4090": GPU("NVIDIA GeForce RTX 4090", 165e12, 82.6e12, 1.01e12, 24e9, 32e9, 1.25e9, 0.45),
    "t4": GPU("NVIDIA T4", 0.0, 8.1e12, 0.32e12, 16e9, 16e9, 1.25e9, 0.35),
}


def gpu_called(name: str) -> GPU:
    """The GPU of that name.

    Raises:
        ValueError: the table has none; the nearest name is suggested.
    """
    if name.lower() not in GPUS:
        raise ValueError(f"--gpu knows no {name!r}; {hint(name.lower(), GPUS)}")
    return GPUS[name.lower()]


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
