"""The area under the convergence curve: how good a model was, on average, while it was being trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reservoir.layers.arguments import check_number


@dataclass(frozen=True)
class Aucc:
    """An area with what it takes to read it.

    Args:
        value: mean height of the curve between 0 and `horizon`, in the metric's units, larger is better.
        horizon: T̂, where the curve is cut, in units of `axis`.
        axis: what time is measured in.
        orientation: "larger is better", or "negated" for a metric that falls.
    """

    value: float
    horizon: float
    axis: str
    orientation: Literal["larger is better", "negated"]


def aucc(
    time: Sequence[float],
    metric: Sequence[float],
    *,
    horizon: float,
    axis: str = "seconds",
    larger_is_better: bool = True,
    floor: float | None = None,
) -> Aucc:
    """Area under a validation curve from 0 to T̂, divided by T̂ (after Shen et al. 2021).

    The curve is linear between validation points, flat after the last, and cut at T̂. Before the first point it
    rises from `floor`. A falling metric is negated, so that larger is better always. Divided by T̂ the area reads as a
    mean height; the paper does not print how it normalises, and comparisons at one T̂ do not depend on it.

    Args:
        time: of each validation point, rising.
        metric: at each point.
        horizon: T̂ > 0.
        axis: "seconds", "steps", "flops" or whatever `time` counts.
        larger_is_better: false for a loss or a perplexity.
        floor: the metric at time 0; the first point's value if None.
    """
    if len(time) != len(metric) or not len(time):
        raise ValueError(
            f"time and metric must have the same number of points, at least one, got {len(time)} and {len(metric)}"
        )
    check_number("horizon", horizon, above=0)
    for name, values in (("time", time), ("metric", metric)):
        for value in values:
            check_number(name, value)
    t, m = np.asarray(time, dtype=float), np.asarray(metric, dtype=float)
    if (np.diff(t) < 0).any() or t[0] < 0:
        raise ValueError("time must rise and start at 0 or later")
    if t[0] > 0:
        t, m = np.r_[0.0, t], np.r_[m[0] if floor is None else floor, m]
    if not larger_is_better:
        m = -m
    inside = t < horizon
    cut_t, cut_m = np.r_[t[inside], horizon], np.r_[m[inside], np.interp(horizon, t, m)]
    return Aucc(
        float(np.trapezoid(cut_m, cut_t) / horizon),
        float(horizon),
        axis,
        "larger is better" if larger_is_better else "negated",
    )
