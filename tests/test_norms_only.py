"""Norms only: the gain and the bias of each norm move, and everything else can be drawn again from the seed."""

import pytest
from torch import nn

from reservoir.weights import owned, report
from reservoir_lab import recipes
from reservoir_lab.recipes import universal
from reservoir_lab.runs import outline

EVERY = [(name, scale) for name in recipes.family("norms-only") for scale in ("smoke", "laptop", "full")]


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_every_norm_moves_and_nothing_else(name, scale):
    items = list(owned(outline(recipes.get(name, scale=scale))))
    moving = {item.stream for item in items if item.parameter.requires_grad}
    norms = {item.stream for item in items if isinstance(item.module, nn.LayerNorm)}
    assert moving == norms and norms


@pytest.mark.parametrize("task", universal.NORM_TASKS)
def test_the_norms_are_all_that_is_stored(task):
    made_of = report(outline(recipes.get(f"norms-only/{task}/lr-1e-2")))
    assert made_of.stored_bytes == 4 * made_of.trainable < 4 * made_of.total / 100


@pytest.mark.parametrize("scale", ("smoke", "laptop", "full"))
@pytest.mark.parametrize(
    ("task", "base"),
    [("multi30k", "components/baseline"), ("digits", "universal/digits/random/lr-1e-2")],
)
def test_rows_differ_from_those_they_are_compared_with_in_what_is_frozen_and_in_the_rate(task, base, scale):
    if (task, scale) == ("multi30k", "full"):
        base = "transformer/multi30k"  # chapter 4 has another text at full scale
    whole = recipes.get(base, scale=scale)
    for name in (f"norms-only/{task}/{rate}" for rate in universal.NORM_RATES):
        run = recipes.get(name, scale=scale)
        assert run.evolve(recipe=base, freeze=whole.freeze, optimiser=whole.optimiser) == whole
        assert run.optimiser == whole.evolve(optimiser={"lr": run.optimiser.lr}).optimiser
