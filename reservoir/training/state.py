"""A training under way: its budget and optimiser, its state, and the interface of what accompanies its steps."""

from __future__ import annotations

import ctypes
import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_choice, check_number
from reservoir.training import events
from reservoir.training.events import ALWAYS, Event, History, Listener, Point
from reservoir.training.task import Task, device_of
from reservoir.weights import mark_trained, owned, recorded_origin, report
from reservoir.weights.naming import explicit


class TrainingError(RuntimeError):
    """Training cannot go on; the message says why and what would help."""


@dataclass(frozen=True)
class Budget:
    """How long to train, and how often to look.

    Args:
        steps: optimiser steps in all.
        accumulate: batches whose gradients make one step. The loss is divided by the predictions of all of them
            together, so a step means the same however it is cut into batches.
        validate_every: steps between validation points; the last step always has one.
        checkpoint_every: steps between checkpoints; 0 writes none.
    """

    steps: int
    accumulate: int = 1
    validate_every: int = 200
    checkpoint_every: int = 200

    def __post_init__(self) -> None:
        for name in ("steps", "accumulate", "validate_every"):
            check_number(name, getattr(self, name), least=1, whole=True)
        check_number("checkpoint_every", self.checkpoint_every, least=0, whole=True, why="0 writes none")

    def due(self, step: int, every: int) -> bool:
        """Whether what is done every so many steps, and after the last, is done after this one."""
        return bool(every) and (step == self.steps or step % every == 0)


OptimiserName = Literal["adamw", "adam", "sgd"]
Schedule = Literal["inverse_sqrt", "linear", "constant", "trapezoid"]
FALL = 0.3  # the share of steps in which a trapezoid comes down


@dataclass(frozen=True)
class Optimiser:
    """An optimiser with its schedule.

    Args:
        name: "adamw" (Loshchilov & Hutter 2019), "adam" (decay added to the gradient) or "sgd" (momentum 0.9).
        lr: the highest learning rate, reached at the end of the warm-up.
        betas, eps: of Adam.
        weight_decay: as the optimiser defines it, on every tensor that moves.
        schedule: after the warm-up "inverse_sqrt" falls as 1/√step (Vaswani et al. 2017), "linear" to zero at the
            last step, "constant" stays, "trapezoid" stays and then falls linearly in the last 30 % of the steps (Zhai
            et al. 2022).
        warmup: steps in which the rate rises linearly from zero.
        clip: largest norm of all gradients together; 0 does not clip.
    """

    name: OptimiserName = "adamw"
    lr: float = 5e-4
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-8
    weight_decay: float = 1e-4
    schedule: Schedule = "inverse_sqrt"
    warmup: int = 4000
    clip: float = 1.0

    def __post_init__(self) -> None:
        check_choice("optimiser.name", self.name, get_args(OptimiserName))
        check_choice("schedule", self.schedule, get_args(Schedule))
        check_number("lr", self.lr, above=0)
        if len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, such as (0.9, 0.98), got {self.betas!r}")
        for beta in self.betas:
            check_number("betas", beta, least=0, below=1)
        check_number("eps", self.eps, least=0)
        check_number("weight_decay", self.weight_decay, least=0)
        check_number("warmup", self.warmup, least=0, whole=True)
        check_number("clip", self.clip, least=0, why="0 does not clip")

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of step `step`, counted from 1, in a run of `steps`."""
        warmup = max(1, self.warmup)
        if step < warmup:
            return self.lr * step / warmup
        if self.schedule == "inverse_sqrt":
            return self.lr * (warmup / step) ** 0.5
        if self.schedule == "linear":
            return self.lr * max(0.0, (steps + 1 - step) / max(1, steps + 1 - warmup))
        if self.schedule == "trapezoid":
            fall = max(1, round(FALL * steps))
            return self.lr * min(1.0, (steps + 1 - step) / (fall + 1))
        return self.lr

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The torch optimiser over the parameters of `model` that move.

        Raises:
            ValueError: no parameter moves.
        """
        moving = [p for p in model.parameters() if p.requires_grad]
        if not moving:
            raise ValueError("nothing to train: every parameter of the model is frozen")
        if self.name == "sgd":
            return torch.optim.SGD(moving, lr=self.lr, momentum=0.9, weight_decay=self.weight_decay)
        kind = torch.optim.AdamW if self.name == "adamw" else torch.optim.Adam
        fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in moving)
        return kind(
            moving, lr=self.lr, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay, fused=fused
        )


class Handler:
    """Something that training does besides its steps. A hook that is None does nothing.

    Handlers lie around one another like contexts. The first one is the first to begin, and the last in all hooks that
    follow the gradients.

    Attributes:
        training: what it accompanies, known before `begin`.
    """

    training: Training
    begin: Callable[[], object] | None = None
    """Before the first step of this process."""
    before: Callable[[int], None] | None = None
    """Before the batches of a step, which are counted from 1."""
    gradients: Callable[[Tensor], None] | None = None
    """Once the gradients of a step are there, before a weight moves. Its loss can be changed in place."""
    stepped: Callable[[int], None] | None = None
    """After a step, of which listeners have heard."""
    after: Callable[[int], None] | None = None
    """After a step and its validation, if it has one."""
    metrics: Callable[[], dict[str, float]] | None = None
    """For a validation point: what it says in addition to the task's metrics."""
    end: Callable[[], None] | None = None
    """When training ends, with or without an error."""


class OneProcess:
    """The processes that share a training: this one alone. The laboratory has a handler that puts others in its place.

    Attributes:
        main: whether this is the process that validates and writes.
    """

    main = True

    def sum(self, number: float) -> float:
        """The sum over all processes of a number that each has."""
        return number

    def wait(self) -> None:
        """Go on when all processes have come this far."""

    def part(self, batch: Any) -> Any:
        """The rows of a batch that are this process's."""
        return batch


@dataclass
class Training:
    """A training under way, as its handlers see and change it.

    Args:
        model, task, optimiser, budget, name, listeners: as in `train`.
        autocast: whether products are in bf16.
        handlers: what accompanies the steps.

    Attributes:
        torch_optimiser: what `optimiser` builds.
        loss: the loss of a batch, summed over its predictions.
        world: the processes that share each batch; one, unless a handler knows of more.
        history: what was measured so far.
        batches: those of the step under way, with so many predictions and tokens.
        skipping: whether that step leaves out backward passes.
        asked: whether training is to end after it.

    Raises:
        ValueError: nothing moves, or the model was never initialised.
    """

    model: nn.Module
    task: Task
    optimiser: Optimiser
    budget: Budget
    name: str
    listeners: Sequence[Listener]
    autocast: bool
    handlers: Sequence[Handler] = ()
    world: OneProcess = field(default_factory=OneProcess)
    history: History = field(default_factory=History)
    batches: list[Any] = field(default_factory=list)
    predictions: int = 0
    tokens: int = 0
    skipping: bool = False
    asked: bool = False

    def __post_init__(self) -> None:
        self.torch_optimiser = self.optimiser.build(self.model)
        self.device = device_of(self.model)
        for item in owned(self.model):
            if explicit(item.module) is not None and recorded_origin(item) is None:
                raise ValueError(
                    f"{item.path} was never initialised: call initialise(model, seed=…) before training"
                )
        self.trained = self.moving
        self.loss: Callable[[Any], Tensor] = partial(self.task.loss, self.model)
        self.durations: dict[str, list[float]] = {"full": [], "skipped": []}

    @property
    def moving(self) -> list[nn.Parameter]:
        """The parameters that the next step moves."""
        return self.torch_optimiser.param_groups[0]["params"]

    def precision(self) -> torch.autocast:
        """The context of a forward pass."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.autocast)

    def each(self, hook: str, *values: Any) -> list[Any]:
        """Call a hook of all handlers that have it; returns what they return."""
        order = self.handlers if hook in ("begin", "before") else reversed(self.handlers)
        return [call(*values) for handler in order if (call := getattr(handler, hook)) is not None]

    def tell(self, event: Event) -> None:
        """Call the listeners."""
        for listener in (*self.listeners, *ALWAYS):
            listener(event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Begin, and end whatever happens; PyTorch's generators are then as they were before.

        Raises:
            TrainingError: something was not finite, which steps raise as FloatingPointError.
        """
        forked = [self.device] if self.device.type == "cuda" else []
        mark_trained(self.model)
        try:
            for handler in self.handlers:
                handler.training = self
            self.each("begin")
            self.cpu_before = self.history.cpu_seconds * self.world.main - time.process_time()
            made_of = report(self.model, file=False)
            step = self.history.step
            self.tell(events.Started(self.name, step, self.budget.steps, made_of.trainable, made_of.total))
            self.model.train()
            try:
                with torch.random.fork_rng(devices=forked):
                    yield
            except BaseException as error:
                self.tell(events.Stopped(self.history.step))
                if isinstance(error, FloatingPointError):
                    raise self.diverged(error, self.history.step + 1) from None
                raise
        finally:
            self.each("end")
        self.note_times()
        self.model.eval()
        self.tell(events.Finished(self.history.step, self.history.seconds))

    def steps(self) -> Iterator[int]:
        """The numbers of the steps that are left; `batches` are then those of the step."""
        budget, history = self.budget, self.history
        batches = batches_after(self.task, history.step * budget.accumulate)
        while history.step < budget.steps:
            self.batches = list(itertools.islice(batches, budget.accumulate))
            sizes = zip(*map(self.task.size, self.batches), strict=True)
            self.predictions, self.tokens = map(sum, sizes)
            yield history.step + 1

    def move(self, rate: float) -> None:
        """Take the step that the gradients ask for, at a learning rate, and drop them."""
        self.torch_optimiser.param_groups[0]["lr"] = rate
        self.torch_optimiser.step()
        self.torch_optimiser.zero_grad(set_to_none=True)

    def stepped(self, loss: float, rate: float, seconds: float) -> None:
        """Note what a step has measured, and tell it."""
        history = self.history
        self.durations["skipped" if self.skipping else "full"].append(seconds)
        history.step += 1
        history.seconds += seconds
        history.tokens += self.tokens
        history.losses.append(loss)
        self.tell(events.Stepped(history.step, loss, rate, history.tokens, history.seconds))

    def validate(self, step: int) -> None:
        """Measure the model, in the first process; the others wait.

        Raises:
            TrainingError: something that was trained or measured is not finite.
        """
        self.check_weights()
        if self.world.main:
            self.model.eval()
            _release()
            with torch.inference_mode(), self.precision():
                try:
                    metrics = self.task.validate(self.model)
                except FloatingPointError as error:
                    raise self.diverged(error, step) from None
            for more in self.each("metrics"):
                metrics |= more
            for key, value in metrics.items():
                if not math.isfinite(value):
                    raise self.diverged(f"{key} is {value} when validated", step)
            self.model.train()
            history = self.history
            point = Point(step, history.seconds, history.tokens, history.flops, metrics)
            history.points.append(point)
            self.tell(events.Validated(point))
        self.world.wait()

    def note_times(self) -> None:
        """Note medians of the steps' durations, and the processor time of all processes."""
        # A process that made no step, because only the test was left, keeps its predecessor's median.
        if any(self.durations.values()):
            self.history.step_seconds = statistics.median(itertools.chain(*self.durations.values()))
        taken = {kind: statistics.median(found) for kind, found in self.durations.items() if found}
        self.history.kind_seconds |= taken
        self.history.cpu_seconds = self.world.sum(self.cpu_before + time.process_time())

    def diverged(self, what: object, step: int) -> TrainingError:
        """The error of something that is not finite."""
        rate = self.optimiser.rate(step, self.budget.steps)
        return TrainingError(
            f"{self.name}: {what} at step {step} (learning rate {rate:.2g}); a lower lr, a longer warm-up or clipping"
            " may help"
        )

    def check_weights(self) -> None:
        """Check that all that was trained is finite.

        Raises:
            TrainingError: it is not.
        """
        if not all(bool(tensor.isfinite().all()) for tensor in self.trained):
            raise self.diverged("the weights are not all finite", self.history.step)


def batches_after(task: Task, skip: int) -> Iterator[Any]:
    """The batches of a task after the first so many; epochs follow one another."""
    for epoch in itertools.count():
        batches = task.epoch(epoch)
        if not len(batches):
            raise ValueError(f"epoch {epoch} of the task has no batches, and training would wait for ever")
        yield from (batches[index] for index in range(skip, len(batches)))
        skip = max(0, skip - len(batches))


def _release() -> None:
    """Return free memory to the system, where the C library is glibc; elsewhere nothing is needed."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
