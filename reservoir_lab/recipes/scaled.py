"""A run whose sizes are given for all three scales at once."""

from collections.abc import Mapping
from typing import Any

from reservoir.training import Budget, Optimiser
from reservoir.training.task import Precision
from reservoir_lab.corpora.content import MADE
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.run import Model, Run, TaskConfig

SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": dict(d_model=32, n_heads=4, d_ff=64, dropout=0.0),
    "laptop": dict(d_model=128, n_heads=4, d_ff=512, dropout=0.0),
    "full": dict(d_model=512, n_heads=8, d_ff=2048, dropout=0.1),
}
"""Of the models that read a text: language models, masked ones, classifiers."""


def at(scale: Scale, value: Any) -> Any:
    """What a value is at a scale: itself, or the entry of the scale where it has one for each."""
    return value[scale] if isinstance(value, Mapping) else value


def sizes_of(run: Run) -> Any:
    """The sizes of a run's model, whose fields depend on the kind of model: a recipe knows which it builds on."""
    return run.model


def scaled(
    recipe: str,
    scale: Scale,
    task: Mapping[Any, TaskConfig] | TaskConfig,
    model: Mapping[Any, Model] | Model,
    *,
    steps: Mapping[Any, int] | int,
    lr: Mapping[Any, float] | float,
    every: int = 0,
    warmup: int = 200,
    weight_decay: float = 0.01,
    **optimiser: Any,
) -> Run:
    """A run whose learning rate rises, then falls linearly to zero; each size may be one for every scale.

    Runs on data that the library makes itself, which are small, are in fp32; those on fetched data in bf16.

    Args:
        recipe, scale, task, model: of the run.
        steps: optimiser steps.
        lr: the highest learning rate.
        every: steps between validations, and between checkpoints; 0 is a tenth of the steps, rounded up.
        warmup: steps in which the rate rises, at most a quarter of them all.
        weight_decay: of the optimiser.
        optimiser: its other fields.
    """
    n: int = at(scale, steps)
    every = every or -(-n // 10)
    rates = Optimiser(
        lr=at(scale, lr),
        schedule="linear",
        warmup=min(warmup, n // 4),
        weight_decay=weight_decay,
        **optimiser,
    )
    budget = Budget(n, validate_every=every, checkpoint_every=every)
    chosen: TaskConfig = at(scale, task)
    sizes: Model = at(scale, model)
    precision: Precision = "fp32" if chosen.data in MADE else "bf16"
    return Run(recipe, scale, chosen, sizes, budget, optimiser=rates, precision=precision)
