"""What processes send one another: the gradients of a step under each freezing plan, next to the share that is trained.

Two processes and four share a batch of `benchmarks.step`, on this machine, and every bucket of gradients that one of
them hands over is counted; DDP's own account of its buckets stands next to it. What each then sends on the wire depends
on how the sum is made: around a ring, 2 (n - 1) / n times as much.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.multiprocessing

from benchmarks.freezing import plans
from benchmarks.measure import Line, Settings
from benchmarks.step import SIZES, batches, our_loss
from reservoir.datasets import Batch
from reservoir.models import EncoderDecoder
from reservoir.weights import freeze
from reservoir_lab.runs.distribution import Exchange, current_world, join_world

PROCESSES = (2, 4)
EVERYTHING = "everything moves"


@dataclass(frozen=True)
class Traffic:
    """What one process hands over in a step.

    Args:
        case: size and what is frozen.
        processes: that share the batch.
        trained: share of the parameters that move.
        sent: bytes of gradients.
        logged: what DDP says its buckets hold.
        share: of the bytes that are sent where everything moves.
    """

    case: str
    processes: int
    trained: float
    sent: int
    logged: int
    share: float

    def __str__(self) -> str:
        return (
            f"{self.case}, {self.processes} processes: {self.sent / 1e6:.2f} MB a step, {self.share:.4f} of all,"
            f" where {self.trained:.4f} of the parameters are trained"
        )

    @property
    def line(self) -> Line:
        """A row of the table, whose ratio is the share that is sent; what is asked is the share that is trained."""
        return Line(
            f"{self.case}, {self.processes} processes, {self.trained:.1%} trained",
            EVERYTHING,
            f"{self.sent / 1e6:.2f} MB a step",
            f"{self.sent / self.share / 1e6:.2f} MB a step",
            self.share,
            smaller_is_better=True,
        )


class _Sum:
    """A task that is only its loss."""

    def __init__(self, model: EncoderDecoder):
        self._loss = our_loss(model)

    def loss(self, model: EncoderDecoder, batch: Batch) -> torch.Tensor:
        return self._loss(batch)


def run(settings: Settings) -> Iterator[Traffic]:
    """Each size under each plan, with two processes and with four."""
    for name, size in settings.chosen(SIZES).items():
        for processes in PROCESSES:
            found = measured(name, processes)
            whole = found[EVERYTHING][1]
            for plan in (EVERYTHING, *plans(size.config)):
                trained, sent, logged = found[plan]
                yield Traffic(f"{name}, {plan}", processes, trained, sent, logged, sent / whole)


def measured(size: str, processes: int) -> dict[str, tuple[float, int, int]]:
    """For each plan the share that is trained, the bytes that were handed over, and those that DDP logged."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        out = Path(folder) / "found"
        torch.multiprocessing.spawn(_process, (processes, port, size, out), nprocs=processes)
        return torch.load(out)


def _process(rank: int, processes: int, port: int, name: str, out: Path) -> None:
    named = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "MASTER_PORT": port}
    os.environ.update({key: str(value) for key, value in named.items()}, MASTER_ADDR="127.0.0.1")
    torch.set_num_threads(1)
    size, found = SIZES[name], {}
    with join_world():
        (batch, *_) = batches(size, torch.device("cpu"))
        for plan, freezing in {EVERYTHING: None, **plans(size.config)}.items():
            model = EncoderDecoder(size.config)
            for parameter in model.parameters():  # as many bytes as if they had been drawn
                torch.nn.init.constant_(parameter, 0.01)
            if freezing is not None:
                freeze(model, freezing)
            exchange = Exchange(model.train(), _Sum(model), current_world())
            (exchange.loss(batch.part(0, 16)) / batch.n_tokens).backward()  # the bytes are any batch's
            total, moving = (
                sum(p.numel() for p in model.parameters() if every or p.requires_grad)
                for every in (True, False)
            )
            found[plan] = (moving / total, exchange.sent, exchange.logged())
    if rank == 0:
        torch.save(found, out)
