"""Distributed training: each process takes its share of every batch, and all take the same step.

A batch is what it would be for one process, and so is the step: its rows are shared out, gradients are summed, and the
loss is divided by the predictions of the whole batch. So the number of processes changes nothing but rounding and what
dropout drops. Frozen tensors are not sent, at the start either: every process draws them from the seed.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from reservoir.models.stack import dropping
from reservoir.training.backskipping import Backskipping
from reservoir.training.state import Handler, OneProcess
from reservoir.training.task import Task

PATIENCE = timedelta(hours=2)
"""How long processes wait for one another: the first one validates, tests and prepares data while the others wait."""
JOINING = timedelta(minutes=15)
"""How long they wait for all to have started."""
MOVING = "RESERVOIR_PATIENCE"
"""The variable that says for how many minutes, 10 by default, a process may do nothing while the others need it."""


@dataclass(frozen=True)
class World(OneProcess):
    """The processes of a run, and which of them this is.

    Args:
        rank: from 0.
        size: how many there are.
    """

    rank: int = 0
    size: int = 1

    @property
    def main(self) -> bool:  # type: ignore[override]
        """Whether this is the process that validates, tests, writes and reports."""
        return self.rank == 0

    def sum(self, number: float) -> float:
        """The sum over all processes of a number that each has."""
        if self.size == 1:
            return number
        total = torch.tensor(number, dtype=torch.float64)
        with Watch.waiting():
            dist.all_reduce(total)
        return total.item()

    def wait(self) -> None:
        """Go on when all processes have come this far."""
        self.sum(0.0)

    def part(self, batch: Any) -> Any:
        """The rows of a batch that are this process's."""
        return shard_batch(batch, self)[0]

    @contextmanager
    def first(self) -> Iterator[None]:
        """Let the first process do it before the others, which then find what it left in the cache."""
        if not self.main:
            self.wait()
        yield
        if self.main:
            self.wait()

    def same(self, thing: Any) -> bool:
        """Whether all processes have the same thing."""
        if self.size == 1:
            return True
        found: list[Any] = [None] * self.size
        with Watch.waiting():
            dist.all_gather_object(found, thing)
        return all(one == thing for one in found)


def current_world() -> World:
    """The processes that this one has joined; itself alone where it joined none."""
    return World(dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else World()


@contextmanager
def join_world() -> Iterator[World]:
    """Join the other processes that `torchrun` has started: over NCCL between GPUs, over Gloo between CPUs.

    Without other processes this does nothing. After an error, NCCL's process group is not destroyed, which would wait
    for processes that are in the middle of an exchange: this process ends at once instead (`leave_world`).

    Raises:
        ValueError: there are more processes on this machine than GPUs, or the environment numbers them wrongly.
        ConnectionError: another process has ended, or has not come.
    """
    if dist.is_initialized() or _numbered().size == 1:
        yield current_world()
        return
    if torch.cuda.is_available():
        local, gpus = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
        if local >= gpus:
            raise ValueError(
                f"--nproc-per-node must be at most {gpus}, the GPUs of this machine; got {local + 1} or more"
            )
        torch.cuda.set_device(local)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        store, rank, size = next(dist.rendezvous("env://", timeout=JOINING))
        store = _private_part(store, rank, size)
        store.set_timeout(PATIENCE)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
        with Watch(store, current_world()):
            yield current_world()
    except BaseException as error:
        if dist.is_initialized():
            if not torch.cuda.is_available():  # Gloo's can end while others are in an exchange; NCCL's waits
                dist.destroy_process_group()
            else:
                atexit.register(leave_world, 1)
        lost = isinstance(error, dist.DistError) or "gloo" in str(error).lower()
        if isinstance(error, RuntimeError) and lost:
            raise ConnectionError(
                "another process of this run has ended, and its own message says why; torchrun --max-restarts 3"
                " starts all of them again, from the last checkpoint"
            ) from error
        raise
    dist.destroy_process_group()


class Watch:
    """Ends this process when another one hangs, and says which: one that neither computes nor waits for the others.

    A thread of each process counts in the store that all share while its process does either. Whoever is stopped, is
    stuck in a lock or sleeps does not count. Between GPUs, waiting computes: there a hang is noticed after `PATIENCE`.

    Args:
        store: what the processes share.
        world: the processes.

    Raises:
        ValueError: `MOVING` is no number of minutes.
    """

    waits = 0  # for others, at the moment

    def __init__(self, store: dist.Store, world: World):
        minutes = os.environ.get(MOVING, "10")
        if not minutes.replace(".", "", 1).isdecimal() or not float(minutes):
            raise ValueError(f"{MOVING} must be a number of minutes above 0, got {minutes!r}")
        self.patience = 60 * float(minutes)
        self.store, self.world, self.over = store, world, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    @classmethod
    @contextmanager
    def waiting(cls) -> Iterator[None]:
        """While this process waits for the others."""
        cls.waits += 1
        try:
            yield
        finally:
            cls.waits -= 1

    def __enter__(self) -> None:
        Watch.waits = 0
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.thread.join()

    def _look(self) -> None:
        every = min(2.0, self.patience / 4)
        seen = {rank: (0, time.monotonic()) for rank in range(self.world.size) if rank != self.world.rank}
        before = time.process_time()
        while not self.over.wait(every):
            now = time.process_time()
            moves = Watch.waits or now - before > 0.02 * every
            before = now
            try:
                self.store.add(f"moves/{self.world.rank}", int(bool(moves)))
                for rank, (count, since) in seen.items():
                    if (found := self.store.add(f"moves/{rank}", 0)) != count:
                        seen[rank] = found, time.monotonic()
                    elif time.monotonic() - since > self.patience:
                        self._give_up(rank)
            except RuntimeError:  # the store has ended with its process, and the next exchange will say so
                return

    def _give_up(self, rank: int) -> None:
        print(
            f"error: process {rank} of {self.world.size} has done nothing for {self.patience / 60:g} minutes"
            f" ({MOVING}); the run ends, and the same command goes on from the last checkpoint, if there is one",
            file=sys.stderr,
            flush=True,
        )
        os._exit(1)


def _numbered() -> World:
    """The number of this process and how many there are, by the variables that torchrun sets.

    Raises:
        ValueError: one of them is missing or makes no sense, so that the processes would wait for one another for ever.
    """
    hint = "start the processes with torchrun, which sets it, or unset WORLD_SIZE"
    size = os.environ.get("WORLD_SIZE", "1")
    if not size.isdecimal() or int(size) < 1:
        raise ValueError(f"WORLD_SIZE must be a number of processes, got {size!r}; {hint}")
    if int(size) == 1:
        return World()
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        if not os.environ.get(name):
            raise ValueError(f"WORLD_SIZE is {size}, but {name} is not set; {hint}")
    rank = os.environ["RANK"]
    if not rank.isdecimal() or int(rank) >= int(size):
        raise ValueError(
            f"RANK must be from 0 to {int(size) - 1}, as WORLD_SIZE is {size}, got {rank!r}; {hint}"
        )
    return World(int(rank), int(size))


def leave_world(status: int) -> None:
    """End this process at once if its group was left as it is after an error; the others notice, and end as well."""
    if dist.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _private_part(store: dist.Store, rank: int, size: int) -> dist.Store:
    """A part of `store` that only the living processes of this run use.

    torchrun's store outlives its workers (seen in torch 2.13): restarted workers would find the addresses of dead ones
    and wait for them in vain. So the first process tells each of the others the name of a new part of the store.

    Raises:
        ConnectionError: some have not come within `JOINING`.
    """
    if rank:
        me = secrets.token_hex(8)
        store.set(f"waiting/{rank}", me)
        part = store.get(f"answer/{me}").decode()  # waits
        store.set(f"heard/{part}/{rank}", "")
        return dist.PrefixStore(part, store)
    part, left = secrets.token_hex(8), set(range(1, size))
    deadline = time.monotonic() + JOINING.total_seconds()
    while left:
        if time.monotonic() > deadline:
            raise ConnectionError(
                f"{len(left)} of the {size} processes of this run have not come within"
                f" {JOINING.total_seconds() / 60:g} minutes; what they printed says why"
            )
        for other in list(left):
            if store.check([f"waiting/{other}"]):  # a dead process's, perhaps: a living one replaces it soon
                store.set(f"answer/{store.get(f'waiting/{other}').decode()}", part)
            if store.check([f"heard/{part}/{other}"]):
                left.remove(other)
        time.sleep(0.05)
    return dist.PrefixStore(part, store)


def shard_batch(batch: Any, world: World) -> tuple[Any, float]:
    """This process's rows of a batch, and what they count: 1, or 0 where there are fewer rows than processes.

    Every `world.size`-th row is taken, so that long sentences are shared as evenly as short ones. All keep the padding
    of the whole batch, since some mixings (a Fourier transform) read it.

    Raises:
        TypeError: there is no way to share out a batch of this kind.
    """
    if world.size == 1:
        return batch, 1.0
    if isinstance(batch, Tensor):
        rows, part = len(batch), lambda index, of: batch[index::of]
    elif hasattr(batch, "part"):
        rows, part = batch.rows, batch.part
    else:
        raise TypeError(
            f"a batch of type {type(batch).__name__} cannot be shared among {world.size} processes;"
            " give it `rows` and `part(index, of)`, or run it in one process"
        )
    if world.rank < rows:
        return part(world.rank, world.size), 1.0
    return part(0, rows), 0.0  # one row, so that this process takes part in the exchange


class Exchange:
    """Losses of batches whose rows are shared among processes, and gradients summed over them.

    Args:
        model, task: what is trained on what.
        world: the processes.
        accumulate: batches of a step; gradients are exchanged in the last of them.

    Attributes:
        sent: bytes of gradients that this process has handed over to be summed.
    """

    def __init__(self, model: nn.Module, task: Task, world: World, *, accumulate: int = 1):
        self.model, self.task, self.world, self.accumulate = model, task, world, accumulate
        self.sent, self.batches, self.moving = 0, 0, -1
        self._loss: _Loss | DistributedDataParallel | None = None

    def loss(self, batch: Any) -> Tensor:
        """The loss of this process's rows, summed over what they predict."""
        moving = sum(parameter.requires_grad for parameter in self.model.parameters())
        if self._loss is None or moving != self.moving:
            self.moving, self._loss = moving, self._wrapped()
        self.batches += 1
        more, shared = self.batches % self.accumulate, self._loss
        part, counts = shard_batch(batch, self.world)
        with shared.no_sync() if more and isinstance(shared, DistributedDataParallel) else nullcontext():
            loss = shared(part)
        return loss if counts else loss * counts

    def _wrapped(self) -> _Loss | DistributedDataParallel:
        """The loss, with an exchange of the gradients of what moves now."""
        loss = _Loss(self.model, self.task)
        if self.world.size == 1:
            return loss
        with warnings.catch_warnings():
            # The option that replaces broadcast_buffers is newer than torch 2.5.
            warnings.filterwarnings("ignore", message=".*broadcast_buffers")
            shared = DistributedDataParallel(
                loss,
                broadcast_buffers=False,
                gradient_as_bucket_view=True,
                find_unused_parameters=bool(dropping(self.model)),
            )
        shared.register_comm_hook(self, _sum)
        return shared

    def total(self, loss: Tensor, stop: bool) -> tuple[Tensor, bool]:
        """The loss summed over processes, and whether any of them was asked to stop."""
        if self.world.size == 1:
            return loss, stop
        both = torch.stack([loss, loss.new_tensor(float(stop))])
        with Watch.waiting():
            dist.all_reduce(both)
            asked = bool(both[1] > 0)
        Watch.waits = 0
        return both[0], asked


class Processes(Handler):
    """Shares the rows of each batch with the other processes that this one has joined, and sums what they find.

    The first process validates, writes, and has the points of the history.

    Raises:
        ValueError: several processes are to skip backward passes.
    """

    def begin(self) -> None:
        """Have losses computed from this process's rows."""
        training = self.training
        training.world = world = current_world()
        for handler in training.handlers:
            if isinstance(handler, Backskipping) and world.size > 1:
                raise ValueError(
                    f"skip.layers names {', '.join(handler.plan.layers)}, and estimates learn in one process alone, got"
                    f" {world.size}; start the run without torchrun"
                )
        self.exchange = Exchange(training.model, training.task, world, accumulate=training.budget.accumulate)
        training.loss = self.exchange.loss

    def before(self, step: int) -> None:
        """Let dropout drop something else in each process."""
        torch.manual_seed((torch.initial_seed() + (current_world().rank << 40)) % 2**63)

    def gradients(self, total: Tensor) -> None:
        """Sum the loss; the gradients have been summed as they came."""
        summed, self.training.asked = self.exchange.total(total, self.training.asked)
        total.copy_(summed)


class _Loss(nn.Module):
    """A task's loss as a module's forward pass, which DDP can wrap."""

    def __init__(self, model: nn.Module, task: Task):
        super().__init__()
        self.model, self.task = model, task

    def forward(self, batch: Any) -> Tensor:
        return self.task.loss(self.model, batch)


def _sum(exchange, bucket):  # type: ignore[no-untyped-def]  # DDP refuses annotations that are text, as here
    """Sum a bucket of gradients over all processes (DDP of itself would take the mean), and count its bytes."""
    Watch.waits = 1  # from the first bucket on: the step's last exchange ends it
    buffer = bucket.buffer()
    exchange.sent += buffer.numel() * buffer.element_size()
    return dist.all_reduce(buffer, async_op=True).get_future().then(lambda done: done.value()[0])
