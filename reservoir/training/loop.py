"""The training loop: batches in, steps and validation points out, resumable at any moment to the same bits."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reservoir.layers import DecoderLayer, EncoderLayer
from reservoir.layers.arguments import check_number
from reservoir.training import checkpoint as checkpoints
from reservoir.training import events
from reservoir.training.backskipping import Backskipping, Skip
from reservoir.training.distribution import Exchange, current_world, shard_batch
from reservoir.training.events import ALWAYS, Event, History, Listener, Point
from reservoir.training.flops import flops_per_token
from reservoir.training.optimisers import Optimiser
from reservoir.training.preemption import Preempted
from reservoir.training.task import Precision, Task, device_of, release
from reservoir.weights import Freeze, freeze, mark_trained, owned, recorded_origin, report
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


def train(
    model: nn.Module,
    task: Task,
    *,
    optimiser: Optimiser,
    budget: Budget,
    seed: int,
    name: str = "training",
    identity: str = "",
    checkpoint: Path | None = None,
    fresh: bool = False,
    listeners: Sequence[Listener] = (),
    precision: Precision = "fp32",
    compiled: bool = False,
    late: Freeze | None = None,
    skip: Skip | None = None,
    stop: Callable[[], bool] | None = None,
) -> History:
    """Train `model` on `task` within `budget`.

    The task decides the order of the data. Dropout draws from PyTorch's generator, which is seeded for every step from
    (seed, step) and restored at the end, so a resumed run needs no state of it.

    Where several processes have joined (`reservoir.training.distribution`), they share every batch; all read the
    checkpoint, and only the first validates, writes and has the points of the history.

    Args:
        model: initialised; training runs on its device.
        task: batches, loss, validation.
        optimiser, budget: what to do and for how long.
        seed: of dropout.
        name: what listeners call the run.
        identity: digest of everything that defines the run; a checkpoint with another one is refused.
        checkpoint: file to resume from if it exists, and to write to.
        fresh: begin at the start where the checkpoint cannot be used.
        listeners: called with each event.
        precision: of products: "fp32", or "bf16" on any machine, also where that is slow.
        compiled: `torch.compile` the layers first: worth it on a GPU; slower than eager on a CPU, where runs refuse it.
        late: a plan with `after`: what it names learns for so many steps and then stops, at no cost from there on.
        skip: which backward passes to leave out, and how often. Validation points then say how good the estimates were.
        stop: asked after every step; once it is true, a checkpoint is written and training ends.

    Returns:
        The history; `model` is trained in place and left in eval mode.

    Raises:
        TrainingError: the loss, a weight or what is validated is not finite. Neither a checkpoint nor a point holds it.
        CheckpointError: the checkpoint cannot be used.
        Preempted: `stop` was true before the last step.
        ValueError: the model was never initialised, `late` would stop nothing before the last step, or several
            processes were to skip backward passes.
    """
    if late is not None and not 0 < late.after < budget.steps:
        raise ValueError(f"after must be from 1 to {budget.steps - 1}, below budget.steps, got {late.after}")
    world = current_world()
    if world.size > 1 and skip is not None and skip.layers:
        raise ValueError(
            f"skip.layers names {', '.join(skip.layers)}, and estimates learn in one process alone, got {world.size};"
            " start the run without torchrun"
        )
    device = device_of(model)
    autocast = precision == "bf16"
    torch_optimiser = optimiser.build(model)
    for item in owned(model):
        if explicit(item.module) is not None and recorded_origin(item) is None:
            raise ValueError(
                f"{item.path} was never initialised: call initialise(model, seed=…) before training"
            )
    history = History()
    skipping = Backskipping(model, skip, seed=seed) if skip is not None and skip.layers else None
    beside = (skipping.estimates, skipping.optimiser) if skipping and skipping.optimiser else None
    if checkpoint is not None and checkpoint.exists():
        try:
            progress = checkpoints.read(checkpoint, model, torch_optimiser, identity=identity, beside=beside)
        except checkpoints.CheckpointError:
            if not fresh:
                raise
            progress = {}
        if (numbers := progress.pop("skipping", None)) and skipping:
            skipping.restore(numbers)
        history = History.restored(progress) if progress else history
    if not world.same((identity, history.step, budget, checkpoint is None)):
        raise TrainingError(
            f"{name}: {world.size} processes begin with different runs, budgets or checkpoints; give all of them one"
            " RESERVOIR_RESULTS, on a file system that they share"
        )
    cpu_before = (history.cpu_seconds if world.main else 0.0) - time.process_time()
    durations: dict[str, list[float]] = {"full": [], "skipped": []}
    mark_trained(model)
    if late is not None and history.step >= late.after:
        _stop(model, torch_optimiser, late)
    made_of = report(model)
    trained = [p for p in torch_optimiser.param_groups[0]["params"] if p.requires_grad]

    def tell(event: Event) -> None:
        for listener in (*listeners, *ALWAYS):
            listener(event)

    def read_clocks() -> None:
        # A process that made no step, because only the test was left, keeps its predecessor's median.
        if any(durations.values()):
            history.step_seconds = statistics.median([*durations["full"], *durations["skipped"]])
        if skipping:
            history.kind_seconds |= {
                kind: statistics.median(taken) for kind, taken in durations.items() if taken
            }
        history.cpu_seconds = world.sum(cpu_before + time.process_time())

    def diverged(error: object) -> TrainingError:
        kept = " The last checkpoint is kept." if checkpoint is not None and checkpoint.exists() else ""
        step = history.step + 1 if isinstance(error, FloatingPointError) else history.step
        return TrainingError(
            f"{name}: {error} at step {step} (learning rate {optimiser.rate(step, budget.steps):.2g});"
            f" a lower lr, a longer warm-up or clipping may help.{kept}"
        )

    def check() -> None:
        if not all(bool(tensor.isfinite().all()) for tensor in trained):
            raise diverged("the weights are not all finite")

    def save() -> None:
        check()
        read_clocks()
        if checkpoint is not None and world.main:
            progress = history.progress() | ({"skipping": skipping.numbers()} if skipping else {})
            checkpoints.write(
                checkpoint, model, torch_optimiser, identity=identity, progress=progress, beside=beside
            )
            tell(events.Saved(history.step, str(checkpoint)))

    def validate() -> None:
        check()
        if not world.main:
            return
        model.eval()
        release()
        with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=autocast):
            try:
                metrics = task.validate(model) | (skipping.report() if skipping else {})
            except FloatingPointError as error:
                raise diverged(str(error)) from None
        if bad := [key for key, value in metrics.items() if not math.isfinite(value)]:
            raise diverged(f"{bad[0]} is {metrics[bad[0]]} when validated")
        model.train()
        point = Point(history.step, history.seconds, history.tokens, history.flops, metrics)
        history.points.append(point)
        tell(events.Validated(point))

    tell(events.Started(name, history.step, budget.steps, made_of.trainable, made_of.total))
    if compiled:  # each layer alone: layers of one kind share their code, and decoding still works
        for layer in model.modules():
            if isinstance(layer, EncoderLayer | DecoderLayer):
                layer.compile(dynamic=True)
    model.train()
    exchange = Exchange(model, task, world)
    batches = _batches(task, history.step, budget)
    try:
        with (
            torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
            skipping or nullcontext(),
        ):
            while history.step < budget.steps:
                micro = next(batches)
                started = time.perf_counter()
                step = history.step + 1
                rate = optimiser.rate(step, budget.steps)
                torch.manual_seed((seed * 1_000_003 + step + (world.rank << 40)) % 2**63)
                kind = "skipped" if skipping and skipping.begin(step) else "full"
                try:
                    asked = stop is not None and stop()
                    loss, asked = _step(exchange, micro, torch_optimiser, optimiser, rate, autocast, asked)
                except FloatingPointError as error:
                    raise diverged(error) from None
                if skipping:
                    skipping.learn(autocast=autocast)
                durations[kind].append(time.perf_counter() - started)
                if not history.flops_per_token:  # later batches have other shapes, but cost as much per token
                    example = shard_batch(micro[0], world)[0]
                    if skipping and skipping.plan.most:
                        skipping.set(skipping=True)
                        cost = flops_per_token(model, task, example, autocast=autocast, skipping=skipping)
                        history.flops_per_skipped_token = cost
                    if skipping:
                        skipping.set(skipping=False)
                    history.flops_per_token = flops_per_token(
                        model, task, example, autocast=autocast, skipping=skipping
                    )
                tokens = sum(task.size(batch)[1] for batch in micro)
                history.step = step
                history.seconds += durations[kind][-1]
                history.tokens += tokens
                if kind == "skipped":
                    history.skipped += 1
                    history.flops += history.flops_per_skipped_token * tokens
                else:
                    history.flops += history.flops_per_token * tokens
                history.losses.append(loss)
                tell(events.Stepped(step, loss, rate, history.tokens, history.seconds))
                if late is not None and step == late.after:
                    example = shard_batch(micro[0], world)[0]
                    before = flops_per_token(model, task, example, autocast=autocast)
                    stopped = _stop(model, torch_optimiser, late)
                    exchange.wrap()
                    after = flops_per_token(model, task, example, autocast=autocast)
                    history.flops_per_token *= after / before
                    tell(events.Message(f"step {step}: {stopped:,} parameters stop learning"))
                last = step == budget.steps
                if last or step % budget.validate_every == 0:
                    validate()
                    world.wait()  # over Gloo, which notices at once when a process has died
                if world.size == 1:  # several have to agree, and do so in the next step
                    asked = asked or (stop is not None and stop())
                every = budget.checkpoint_every
                if asked or (every and (last or step % every == 0)):
                    save()
                if asked and not last:
                    world.wait()  # until the checkpoint is written: the first that ends may end the others
                    raise Preempted(f"{name}: stopped after step {step} of {budget.steps}")
    except BaseException:
        tell(events.Stopped(history.step))
        raise
    read_clocks()
    model.eval()
    tell(events.Finished(history.step, history.seconds))
    return history


def _step(
    exchange: Exchange,
    micro: list[Any],
    torch_optimiser: torch.optim.Optimizer,
    optimiser: Optimiser,
    rate: float,
    autocast: bool,
    stop: bool,
) -> tuple[float, bool]:
    """One optimiser step over the batches of `micro`.

    Returns:
        The loss per prediction in nats, and whether this or another process was asked to stop.

    Raises:
        FloatingPointError: the loss or a gradient is not finite; no weight was changed.
    """
    device = next(exchange.model.parameters()).device
    predictions = sum(exchange.task.size(batch)[0] for batch in micro)
    total = torch.zeros((), device=device)
    for number, batch in enumerate(micro, start=1):
        with exchange.summing(last=number == len(micro)):
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=autocast):
                loss = exchange.loss(batch) / predictions
            loss.backward()
        total += loss.detach()
    total, stop = exchange.total(total, stop)
    moving = torch_optimiser.param_groups[0]["params"]
    norm = torch.nn.utils.clip_grad_norm_(moving, optimiser.clip or math.inf)
    found, size = torch.stack(
        [total, norm.to(device)]
    ).tolist()  # both at once, so that a GPU is waited for once
    if not math.isfinite(found):
        raise FloatingPointError(f"the loss is {found}")
    if not math.isfinite(size):
        raise FloatingPointError(f"the norm of the gradients is {size}")
    torch_optimiser.param_groups[0]["lr"] = rate
    torch_optimiser.step()
    torch_optimiser.zero_grad(set_to_none=True)
    return found, stop


def _stop(model: nn.Module, torch_optimiser: torch.optim.Optimizer, plan: Freeze) -> int:
    """Freeze what `plan` names and drop its optimiser state; returns the number of parameters that this stops."""
    before = torch_optimiser.param_groups[0]["params"]
    freeze(model, plan)
    torch_optimiser.param_groups[0]["params"] = [p for p in before if p.requires_grad]
    stopped = [p for p in before if not p.requires_grad]
    for parameter in stopped:
        parameter.grad = None
        torch_optimiser.state.pop(parameter, None)
    return sum(p.numel() for p in stopped)


def _batches(task: Task, done: int, budget: Budget) -> Iterator[list[Any]]:
    """Groups of `accumulate` batches, beginning after the first `done` groups; epochs follow one another."""
    skip = done * budget.accumulate
    group: list[Any] = []
    for epoch in itertools.count():
        batches = task.epoch(epoch)
        for index in range(skip, len(batches)):
            group.append(batches[index])
            if len(group) == budget.accumulate:
                yield group
                group = []
        skip = max(0, skip - len(batches))
