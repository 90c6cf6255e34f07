"""What a run takes, before anybody runs it: data, operations, memory of each GPU, hours and money.

Nothing is trained. The model takes one step on the meta device, which knows shapes and no numbers; what that step
reads, multiplies and keeps is added up, operation by operation, and a named GPU's peak figures turn it into time. An
operation takes as long as the slowest of three things: its arithmetic, its traffic with the memory, and being started
at all. What part of a peak is reached in practice is an assumption (`REACHED`), and how long an operation takes to
start is set by one timed step on one GPU (`START`). A short measured step on the machine at hand (`measure`) says how
far such a sum is from the truth.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry, shape_wrapper

from reservoir.models.stack import dropping
from reservoir.training import Stepped, Task
from reservoir.weights import report
from reservoir_lab.corpora import status
from reservoir_lab.corpora.content import FETCHED
from reservoir_lab.corpora.own import path_of as path_of_files
from reservoir_lab.runs.building import build, device_of, outline, tokens_found
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.flops import FORMULAS
from reservoir_lab.runs.provenance import has_bf16, peaks
from reservoir_lab.runs.run import Run
from reservoir_lab.typed import hint

FLOAT = 4  # bytes of a number in fp32: weights, gradients and moments are kept in it
MOMENTS = {"adamw": 2, "adam": 2, "sgd": 1}
LOW = 0.7  # of what autograd keeps in fp32, what it keeps where products are in bf16: norms and sums stay in fp32
UPDATE = 5  # times that an optimiser step reads or writes each number that moves, moments apart
STEPS, WARM = 8, 2  # steps that are measured, and those before them that are not
REACHED = 0.6  # of the peak of arithmetic and of bandwidth, where an operation is large
START = 5e-5
"""Seconds that starting one operation takes a program on a GPU, gradients and PyTorch's own work included.

With it the sum meets our encoder-decoder's step at IWSLT's size, 736 operations by this count: eager and in bf16 it
took 36 to 38 ms on an H200 (`python -m benchmarks step-iwslt-gpu`). The processor that drives the GPU decides, not
the GPU.
"""
LAUNCH = 8e-6
"""Seconds that a bare operation takes to start, which is all that `peaks` measures; an assumption."""
COUNTED = flop_registry | {operation: shape_wrapper(formula) for operation, formula in FORMULAS.items()}


MACHINE = 8  # GPUs that share a link; more are several machines


@dataclass(frozen=True)
class GPU:
    """A GPU's peak figures, from its data sheet, without sparsity.

    Args:
        name: as its maker writes it.
        bf16, fp32: operations a second of matrix products, in bf16 and in fp32 (without TF32); bf16 is 0 where the
            hardware does not multiply it.
        bandwidth: bytes a second, to and from its memory.
        memory: bytes.
        link: bytes a second to the other GPUs of its machine, one way.
        network: the same to GPUs of other machines, by the network cards that such machines usually have.
        price: an assumption, in US dollars an hour: about what clouds asked when this was written. `--price` says what
            yours asks.
    """

    name: str
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
class Work:
    """What one forward and backward pass does.

    Args:
        operations: for each its floating-point operations (of matrix products) and the bytes that it reads and writes.
        kept: bytes that autograd keeps between the two passes, in fp32.
    """

    operations: tuple[tuple[float, float], ...]
    kept: float

    @property
    def flops(self) -> float:
        """Operations of matrix products, two for each multiply-add."""
        return sum(flops for flops, _ in self.operations)

    def seconds(
        self, *, flops: float, bandwidth: float, start: float = START, reached: float = REACHED
    ) -> float:
        """How long a device takes.

        Args:
            flops: operations a second at most.
            bandwidth: bytes a second at most.
            start: seconds that it takes to start an operation.
            reached: share of both peaks that is reached.
        """
        return sum(max(start, f / flops / reached, b / bandwidth / reached) for f, b in self.operations)


def work(loss: Callable[[], Tensor]) -> Work:
    """The work of `loss` and of its backward pass, on the meta device.

    Args:
        loss: computes the loss of a model on meta.
    """
    kept: dict[int, torch.UntypedStorage] = {}  # held, so that no number is given twice

    def keep(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, torch.nn.Parameter):
            storage = tensor.untyped_storage()
            kept.setdefault(storage._cdata, storage)
        return tensor

    with _Count() as count, _Fused():
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            value = loss()
        bytes_kept = float(sum(storage.nbytes() for storage in kept.values()))
        if value.requires_grad:
            value.backward()
    return Work(tuple(count.found), bytes_kept)


class _Count(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[float, float]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if not func.is_view:
            formula = COUNTED.get(func._overloadpacket)
            flops = float(formula(*args, **kwargs, out_val=out)) if formula else 0.0
            tensors = {id(t): t for t in tree_leaves((args, kwargs, out)) if isinstance(t, Tensor)}
            self.found.append((flops, float(sum(t.numel() * t.element_size() for t in tensors.values()))))
        return out


class _Fused(TorchFunctionMode):
    """Attention as a GPU's fused kernel makes it, which keeps no table of weights; on meta PyTorch takes it apart."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is not F.scaled_dot_product_attention:
            return func(*args, **kwargs)
        q, k, v = args
        bias = kwargs.get("attn_mask")
        if bias is not None:
            bias = q.new_empty(()).expand(*q.shape[:-1], k.shape[-2])
        fused = torch.ops.aten._scaled_dot_product_efficient_attention
        p, causal = kwargs.get("dropout_p", 0.0), kwargs.get("is_causal", False)
        return fused(q, k, v, bias, True, p, causal)[0]


@dataclass(frozen=True)
class Plan:
    """A run's size.

    Args:
        data: name of what it trains on, and `state`: "embedded", "cached", "mirror", "absent", "by hand" or "files".
        steps, tokens: optimiser steps, and tokens that they see, padding left out.
        flops: of the whole training.
        total, trained: numbers in all, the scores of masks among them, and those that an optimiser can change, as
            `reservoir.weights.report` counts both.
        moving: numbers in tensors that move, which all have a gradient in memory.
        work: what one process does for one batch.
        batches: in a step.
        weights, gradients, optimiser, activations: bytes in each process's memory.
        low: whether products are in bf16.
        moments: numbers that the optimiser keeps for each that moves.
        processes: that share each batch.
        bounds: what is counted as more than it is.
    """

    data: str
    state: str
    steps: int
    tokens: float
    flops: float
    total: int
    trained: int
    moving: int
    work: Work
    batches: int
    weights: float
    gradients: float
    optimiser: float
    activations: float
    low: bool
    moments: int
    processes: int
    bounds: tuple[str, ...]

    @property
    def memory(self) -> float:
        """Bytes in each process's memory, all told."""
        return self.weights + self.gradients + self.optimiser + self.activations

    def step_seconds(self, gpu: GPU, *, reached: float = REACHED, start: float = START) -> float:
        """How long a step takes each of `processes` GPUs: its batches, the exchange of gradients, the update.

        Args:
            gpu: which.
            reached, start: as in `Work.seconds`.
        """
        peak = gpu.bf16 if self.low and gpu.bf16 else gpu.fp32
        batch = self.work.seconds(flops=peak, bandwidth=gpu.bandwidth, start=start, reached=reached)
        update = (UPDATE + 2 * self.moments) * FLOAT * self.moving / gpu.bandwidth
        return self.batches * batch + update + self.traffic / gpu.ring(self.processes)

    @property
    def traffic(self) -> float:
        """Bytes that each of the processes sends in a step: a sum of gradients goes around a ring of them."""
        return 2 * (self.processes - 1) / self.processes * self.gradients

    def hours(self, gpu: GPU, *, measured: Measured | None = None) -> float:
        """How long training takes, validation and tests left out; on a GPU that falls as far behind its peaks as the
        machine that was measured, where one was."""
        if measured is None:
            return self.steps * self.step_seconds(gpu) / 3600
        at_best = self.step_seconds(
            gpu, reached=1.0, start=LAUNCH
        )  # `measured.slower` has the rest of starting
        return self.steps * at_best * measured.slower / 3600


def plan(run: Run, *, processes: int = 1, bf16: bool = True) -> Plan:
    """The size of a run whose batches are shared among `processes`.

    Args:
        run: the run.
        processes: how many.
        bf16: whether the machine multiplies in bf16; where it does not, the run is in fp32.

    Raises:
        DataError: data of one's own, whose size and vocabulary count, cannot be had.
        ValueError: `processes` is less than 1, or more than a batch has rows.
    """
    if processes < 1:
        raise ValueError(f"--gpus must be at least 1, got {processes}")
    model = outline(run, tokens_found(run)).train()
    bounds = []
    if drops := dropping(model):
        for part in drops:
            vars(part)["layer_drop"] = 0.0  # of an outline that nobody else has
        bounds.append("layers that are left out by chance are counted")
    if run.skip.layers and run.skip.most:
        bounds.append("backward passes that are skipped are counted")
    if run.freeze.after:
        bounds.append(f"what stops after {run.freeze.after:,} steps is counted to the end")
    whole, mine = run.task.batch_spec(), run.task.batch_spec(processes=processes)
    if processes > whole.rows:
        raise ValueError(f"--gpus must be at most {whole.rows}, the rows of a batch; got {processes}")
    done = work(lambda: mine.loss(model))
    made_of = report(model, file=False)
    moving = made_of.trainable_all_rows  # rows without a gradient of their own take memory all the same
    low, batches = run.precision == "bf16" and bf16, run.budget.accumulate
    moments = MOMENTS[run.optimiser.name]
    tokens = whole.tokens * batches * run.budget.steps
    return Plan(
        *data(run),
        steps=run.budget.steps,
        tokens=tokens,
        flops=done.flops / mine.tokens * tokens,
        total=made_of.total,
        trained=made_of.trainable,
        moving=moving,
        work=_rounded(done) if low else done,
        batches=batches,
        weights=made_of.total * (FLOAT + 2 * low),  # in bf16, a step's products have copies of their own
        gradients=moving * FLOAT,
        optimiser=moving * FLOAT * moments,
        activations=done.kept * (LOW if low else 1.0),
        low=low,
        moments=moments,
        processes=processes,
        bounds=tuple(bounds),
    )


def _rounded(done: Work) -> Work:
    """The same with products that read and write numbers of two bytes."""
    return replace(
        done, operations=tuple((flops, size / 2 if flops else size) for flops, size in done.operations)
    )


def data(run: Run) -> tuple[str, str]:
    """What a run trains on, as the manifest calls it, and whether it is here."""
    name = FETCHED.get(run.task.data, run.task.data)
    if name.startswith("files:"):
        path_of_files(name)
        return name, "files"
    states = {row.name: row.state for row in status()}
    return name, states.get(name, "embedded")


@dataclass(frozen=True)
class Measured:
    """A few steps on the machine at hand.

    Args:
        scale: whose; the run's own, or the laptop's where the run is meant for GPUs and there is none.
        step_seconds: of a step, the median: wall-clock on a GPU, processor time on a CPU, which other programs on a
            shared machine do not lengthen.
        predicted: what the sum says for this machine, by what it multiplies and moves at its best.
        device: where.
    """

    scale: str
    step_seconds: float
    predicted: float
    device: str

    @property
    def slower(self) -> float:
        """How many times longer a step takes than the sum says."""
        return self.step_seconds / self.predicted


def measure(run: Run) -> Measured:
    """Take a few real steps of `run`, and compare them with what they should take here.

    Raises:
        DataError: its data cannot be had.
    """
    device = device_of(run)
    model, task, _ = build(run)
    few = run.evolve(budget={"steps": WARM + STEPS, "validate_every": 10**9, "checkpoint_every": 0})
    timed: Any = _Timed(task, time.process_time if device.type == "cpu" else time.perf_counter)
    train_run(few, model, timed, listeners=[timed.listen])
    sized = plan(run, bf16=has_bf16(device))
    machine = peaks(device, torch.bfloat16 if sized.low else torch.float32)
    predicted = sized.work.seconds(
        flops=machine.flops, bandwidth=machine.bandwidth, start=machine.start, reached=1.0
    )
    return Measured(
        run.scale,
        statistics.median(timed.taken[WARM:]),
        predicted * run.budget.accumulate,
        "GPU" if device.type == "cuda" else "CPU",
    )


class _Timed:
    """A task that is trained on and not validated, and the time of each step from when its batches are there."""

    def __init__(self, task: Task, clock: Callable[[], float]):
        self._task, self._clock, self._began = task, clock, 0.0
        self.taken: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def size(self, batch: Any) -> tuple[int, int]:
        self._began = self._clock()  # what was counted of the batch before this is no part of a step
        return self._task.size(batch)

    def listen(self, event: object) -> None:
        if isinstance(event, Stepped):
            self.taken.append(self._clock() - self._began)

    def validate(self, model: object) -> dict[str, float]:
        return {}
