"""Chapter 6: reservoirs whose backward pass is left out, after Shen et al. 2021 and the BAIR report's plan.

All are `reservoirs/transformer-8`, four reservoirs between four layers that learn, with the same budget. A fifth of the
steps warms the estimates up; over the next two fifths the chance of skipping rises to nine in ten, and stays there.
"""

from __future__ import annotations

from reservoir.recipes import reservoirs
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run
from reservoir.training import Skip

DEPTH, MOST = 8, 0.9


def plain(name: str, scale: Scale) -> Run:
    """What the rows share: the model, and which of its layers can be skipped."""
    run = reservoirs.with_reservoirs(name, "transformer", DEPTH, scale)
    fifth = max(1, run.budget.steps // 5)
    width = 16 if scale == "smoke" else run.model.d_model // 2
    return run.evolve(skip=Skip(layers=run.freeze.layers, warmup=fifth, anneal=2 * fifth, width=width))


@recipe("backskipping/none")
def none(scale: Scale = "laptop") -> Run:
    """Nothing is skipped: to the bit `reservoirs/transformer-8`, but all estimates watch, learn and are measured."""
    return plain("backskipping/none", scale).evolve(skip={"watch": ("identity", "synthetic")})


@recipe("backskipping/estimated")
def estimated(scale: Scale = "laptop") -> Run:
    """A value network says what the gradient below a reservoir would be, from its input and the gradient above."""
    skip = {"most": MOST, "estimate": "value", "watch": ("identity",)}
    return plain("backskipping/estimated", scale).evolve(skip=skip)


@recipe("backskipping/identity")
def identity(scale: Scale = "laptop") -> Run:
    """The gradient above a reservoir is passed on as it is, straight past what the reservoir adds."""
    return plain("backskipping/identity", scale).evolve(skip={"most": MOST, "estimate": "identity"})


@recipe("backskipping/synthetic")
def synthetic(scale: Scale = "laptop") -> Run:
    """A synthetic gradient: predicted from the reservoir's input alone, as Jaderberg et al. 2017 do."""
    return plain("backskipping/synthetic", scale).evolve(skip={"most": MOST, "estimate": "synthetic"})


@recipe("backskipping/zero")
def zero(scale: Scale = "laptop") -> Run:
    """No gradient at all below a reservoir that is skipped: what lies there rests for the step."""
    return plain("backskipping/zero", scale).evolve(skip={"most": MOST, "estimate": "zero"})
