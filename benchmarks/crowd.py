"""Work in several processes, which each train several groups of seeds in turn, as a GPU wants them: while one group's
steps are being computed, the processor draws data and weights for the next. What cannot be trained together is trained
alone, on the processors that are left."""

from __future__ import annotations

import os
import queue
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import multiprocessing

WAIT = 0.2  # seconds between looks at a queue
Work = Generator[None, None, Any]


class Job(NamedTuple):
    """What one worker does: `make(*arguments)` gives a generator, whose value is handed back.

    Args:
        make: importable, since another process calls it.
        arguments: for it.
        alone: whether it is for a processor's worker, which does one thing at a time.
    """

    make: Callable[..., Work]
    arguments: tuple[Any, ...]
    alone: bool = False


class Failed(NamedTuple):
    """A job that ended in an error, in its own words."""

    job: Job
    why: str


def spread(
    jobs: Sequence[Job],
    *,
    device: str,
    processes: int,
    ways: int,
    others: int = 0,
    until: float = float("inf"),
) -> Generator[Any, None, None]:
    """Do jobs in several processes and yield what comes of each as it is done, in any order; or `Failed`.

    Args:
        jobs: the longest first, since what is begun last ends last.
        device: of the groups, "cpu" or "cuda".
        processes: how many work on groups.
        ways: groups that each has under way at once.
        others: processes for jobs that are done alone; if 0, the first ones do them.
        until: a time (`time.time`) from which nothing more is begun, and at which what is under way is left.
    """
    context = multiprocessing.get_context("spawn")
    shared, single, results = context.Queue(), context.Queue(), context.Queue()
    for job in jobs:
        (single if job.alone and others else shared).put(job)
    common = results, until
    workers = [
        context.Process(target=_work, args=(shared, device, ways, *common), daemon=True)
        for _ in range(processes)
    ]
    workers += [
        context.Process(target=_work, args=(single, "cpu", 1, *common), daemon=True) for _ in range(others)
    ]
    for worker in workers:
        worker.start()
    left = len(jobs)
    try:
        while left and time.time() < until:
            try:
                found = results.get(timeout=WAIT)
            except queue.Empty:
                if not any(worker.is_alive() for worker in workers):
                    return
                continue
            left -= 1
            yield found
    finally:
        for worker in workers:
            worker.kill()
        for waiting in (
            shared,
            single,
        ):  # jobs that nobody takes any more, for which Python would wait at its end
            waiting.cancel_join_thread()


def _work(jobs: Any, device: str, ways: int, results: Any, until: float) -> None:
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.backends.cuda.matmul.allow_tf32 = False
    under_way: list[tuple[Job, Work, Any]] = []
    empty = False
    while time.time() < until and (under_way or not empty):
        while not empty and len(under_way) < ways:
            try:
                job = jobs.get(timeout=WAIT)
            except queue.Empty:
                empty = True
                break
            stream = torch.cuda.Stream() if device == "cuda" else None
            under_way.append((job, job.make(*job.arguments, device=device), stream))
        for entry in list(under_way):
            job, work, stream = entry
            try:
                with torch.cuda.stream(stream) if stream is not None else nullcontext():
                    next(work)
            except StopIteration as end:
                results.put(end.value)
                under_way.remove(entry)
            except Exception as error:  # told to the one who asked, who decides
                lines = traceback.format_exc().strip().splitlines()
                results.put(Failed(job, f"{type(error).__name__}: {error}\n" + "\n".join(lines[-6:])))
                under_way.remove(entry)
                if "CUDA" in str(error):  # whose state may be broken for all that this process has under way
                    for other, *_ in under_way:
                        results.put(Failed(other, "its process had an error on the GPU"))
                    under_way.clear()
                    empty = True
    results.close()
    results.join_thread()
