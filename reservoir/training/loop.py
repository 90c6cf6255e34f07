"""The training loop: batches in, steps and validation points out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import torch
from torch import nn

from reservoir.layers.arguments import check_choice
from reservoir.training.backskipping import Backskipping, Skip
from reservoir.training.events import History, Listener
from reservoir.training.state import Budget, Handler, Optimiser, Training, TrainingError
from reservoir.training.task import Precision, Task

__all__ = ["Budget", "TrainingError", "train"]


def step_seed(seed: int, step: int) -> int:
    """What PyTorch's generator is seeded with for a step, from the seed of the run."""
    return (seed * 1_000_003 + step) % 2**63


def train(
    model: nn.Module,
    task: Task,
    *,
    optimiser: Optimiser,
    budget: Budget,
    seed: int,
    name: str = "training",
    listeners: Sequence[Listener] = (),
    precision: Precision = "fp32",
    skip: Skip | None = None,
    handlers: Sequence[Handler] = (),
) -> History:
    """Train an initialised `model` on `task`, in place, and return what was measured; it is then in eval mode.

    The task decides the order of the data. Dropout draws from PyTorch's generator, which is seeded for every step, so
    a resumed run needs no state of it.

    Args:
        optimiser, budget: what to do and for how long.
        seed: of dropout.
        name: what listeners call the run.
        listeners: called with each event.
        precision: of products: "fp32", or "bf16" on any machine, also where that is slow.
        skip: which backward passes to leave out, and how often. Validation points then say how good the estimates were.
        handlers: what else training does besides its steps, such as to write checkpoints.

    Raises:
        TrainingError: the loss, a weight or what is validated is not finite. Neither a checkpoint nor a point holds it.
        ValueError: the model was never initialised, nothing in it moves, an epoch has no batches, or there is no such
            precision.
    """
    check_choice("precision", precision, ("fp32", "bf16"))
    training = Training(model, task, optimiser, budget, name, listeners, autocast=precision == "bf16")
    skipping = Backskipping(model, skip, seed=seed) if skip is not None and skip.layers else None
    training.handlers = [skipping, *handlers] if skipping else handlers
    with training.running():
        for step in training.steps():
            started = time.perf_counter()
            torch.manual_seed(step_seed(seed, step))
            training.each("before", step)
            total = torch.zeros((), device=training.device)
            for batch in training.batches:
                with training.precision():
                    loss = training.loss(batch) / training.predictions
                loss.backward()
                total += loss.detach()
            training.each("gradients", total)
            norm = nn.utils.clip_grad_norm_(training.moving, optimiser.clip or math.inf)
            # Both at once, so that a GPU is waited for once.
            measured = torch.stack([total, norm.to(training.device)]).tolist()
            for value, what in zip(measured, ("loss", "norm of the gradients"), strict=True):
                if not math.isfinite(value):
                    raise FloatingPointError(f"the {what} is {value}")
            rate = optimiser.rate(step, budget.steps)
            training.move(rate)
            training.stepped(measured[0], rate, time.perf_counter() - started)
            training.each("stepped", step)
            if budget.due(step, budget.validate_every):
                training.validate(step)
            training.each("after", step)
    return training.history
