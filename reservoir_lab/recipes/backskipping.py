"""Appendix A7: reservoirs whose backward pass is left out, after Shen et al. 2021 and the BAIR report's plan.

All are `reservoirs/transformer-8`, four reservoirs between four trained layers, with the same budget. A fifth of the
steps warms the estimates up; over the next two fifths the chance of skipping rises to 90 %, and stays there.
"""

from typing import Any

from reservoir.training import Skip
from reservoir_lab.recipes import reservoirs
from reservoir_lab.recipes.scaled import sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

DEPTH, MOST = 8, 0.9
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "none": (
        "Nothing is skipped: to the bit `reservoirs/transformer-8`, but all estimators are trained and measured.",
        {"watch": ("identity", "synthetic")},
    ),
    "estimated": (
        "A value network predicts the gradient below a reservoir, from its input and the gradient above.",
        {"most": MOST, "estimate": "value", "watch": ("identity",)},
    ),
    "identity": (
        "The gradient above a reservoir is passed on as it is, past what the reservoir adds.",
        {"most": MOST, "estimate": "identity"},
    ),
    "synthetic": (
        "A synthetic gradient: predicted from the reservoir's input alone, as Jaderberg et al. 2017 do.",
        {"most": MOST, "estimate": "synthetic"},
    ),
    "zero": (
        "No gradient at all below a reservoir that is skipped: what lies there is not updated in the step.",
        {"most": MOST, "estimate": "zero"},
    ),
}
"""Row -> what it is, and how it skips."""


def skipping(row: str, scale: Scale) -> Run:
    """The model with reservoirs, whose backward passes are skipped as the row says."""
    run = reservoirs.with_reservoirs("transformer", DEPTH, scale)
    fifth = max(1, run.budget.steps // 5)
    width = 16 if scale == "smoke" else sizes_of(run).d_model // 2
    skip = Skip(layers=run.freeze.layers, warmup=fifth, anneal=2 * fifth, width=width, **ROWS[row][1])
    return run.evolve(skip=skip)


for _row, (_about, _) in ROWS.items():
    enter(f"backskipping/{_row}", _about, skipping, _row)
