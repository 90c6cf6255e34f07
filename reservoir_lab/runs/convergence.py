"""What records come to: a table of runs, their curves, when one had converged and what it cost to get there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Literal, get_args

import pandas as pd

from reservoir.datasets import shipped
from reservoir.layers.arguments import check_choice
from reservoir_lab.runs import registry
from reservoir_lab.runs.records import Record, find_records
from reservoir_lab.runs.registry import results

Axis = Literal["steps", "flops"]

WITHIN = 0.02
"""Near the best is 98 % of its score, or 1 / 0.98 of it where less is better."""


def all_records(family: str = "") -> Iterator[Record]:
    """Every record of a run without overrides; one in the results folder hides the shipped one.

    Args:
        family: a family of recipes such as "transformer", or one recipe; all if empty.
    """
    sys.audit("reservoir.read", str(shipped() / "results" / family))
    own = (path.parent for path in (results() / family).glob("**/seed-*.json"))
    rows = {folder.relative_to(results()).as_posix() for folder in own}
    rows |= {
        row
        for row in registry.shipped_rows(family.partition("/")[0])
        if f"{row}/".startswith(f"{family}/" if family else "")
    }
    for row in sorted(rows):
        recipe, _, scale = row.rpartition("/")
        yield from find_records(recipe, scale=scale)


def frame(recipe: str | None = None, *, scale: str | None = None) -> pd.DataFrame:
    """Records as a table: one line a run and test set.

    The columns: recipe, scale, seed, precision and test set; the metric that counts, and every metric of the test set
    under its own name; the counts of `parameters`; steps, tokens and operations of training; its wall-clock seconds,
    processor seconds of the whole run, and bytes of memory at its peak; the area under its curve; on which processor
    or GPU, with how many threads and which torch; and of which version and commit, and whether the checkout differed
    from that (None where there was no checkout).

    Args:
        recipe: a recipe or a family such as "transformer"; everything if None.
        scale: one scale; all if None.

    Returns:
        The table; without lines and columns where nothing is recorded.
    """
    lines = []
    for record in all_records(recipe or ""):
        if scale is not None and record.scale != scale:
            continue
        for test, metrics in record.tests.items():
            lines.append(
                {
                    "recipe": record.recipe,
                    "scale": record.scale,
                    "seed": record.seed,
                    "precision": record.run["precision"],
                    "test": test,
                    "metric": record.scored_by,
                    **{name: value for name, value in metrics.items() if isinstance(value, int | float)},
                    **record.parameters,
                    "steps": record.points[-1]["step"],
                    "tokens": record.tokens,
                    "flops": record.flops,
                    "seconds": record.seconds,
                    "cpu_seconds": record.cpu_seconds,
                    "peak_memory": record.peak_memory,
                    "aucc": record.aucc["value"],
                    **{name: record.machine[name] for name in ("cpu", "gpu", "threads", "torch")},
                    **{name: record.code.get(name) for name in ("version", "commit", "dirty")},
                }
            )
    return pd.DataFrame(lines)


def epochs_to_converge(record: Record) -> float:
    """Passes over the training data to the first validation point that is within a share (`WITHIN`) of the best one.

    A run of a fixed length whose learning rate falls to zero improves to the end, if only by a little; its very best
    point says how long it was, this one how soon it came near.

    Args:
        record: of a finished run that says how long an epoch was.
    """
    scores = [point["metrics"][record.metric] for point in record.points]
    if record.larger_is_better:
        near = [score >= (1 - WITHIN) * max(scores) for score in scores]
    else:
        near = [score * (1 - WITHIN) <= min(scores) for score in scores]
    return record.points[near.index(True)]["step"] / record.epoch_steps


def curve(record: Record, *, axis: Axis = "steps") -> tuple[list[float], list[float]]:
    """What each validation point had cost, and its metric.

    Args:
        record: of a finished run.
        axis: "steps", or "flops", floating-point operations, which hold on any machine.
    """
    check_choice("axis", axis, get_args(Axis))
    key = {"steps": "step", "flops": "flops"}[axis]
    points: list[Any] = list(record.points)
    return [point[key] for point in points], [point["metrics"][record.metric] for point in record.points]


def cost_to_reach(record: Record, target: float, *, axis: Axis = "steps") -> float | None:
    """What a run had cost when its validation score first was `target`; None if it never was.

    Between validation points the score is taken to change linearly. A score that the first point has already cost what
    that point did.
    """
    costs, scores = curve(record, axis=axis)
    sign = 1 if record.larger_is_better else -1
    scores, target = [sign * score for score in scores], sign * target
    for i, score in enumerate(scores):
        if score < target:
            continue
        if i == 0:
            return float(costs[i])
        share = (target - scores[i - 1]) / (score - scores[i - 1])
        return costs[i - 1] + share * (costs[i] - costs[i - 1])
    return None


def cost_ratio(record: Record, against: Record, *, axis: Axis = "steps") -> float | None:
    """What `record` had cost when it came within `WITHIN` of the best score of `against`, by what that one had cost.

    Below 1, `record` was there sooner; None if it never was. Both must be scored by one metric on one validation set.

    Args:
        record, against: finished runs.
        axis: as in `curve`.
    """
    if record.metric != against.metric:
        raise ValueError(f"one is scored by {record.metric}, the other by {against.metric}")
    scores = curve(against)[1]
    target = max(scores) * (1 - WITHIN) if against.larger_is_better else min(scores) / (1 - WITHIN)
    ours, theirs = (cost_to_reach(one, target, axis=axis) for one in (record, against))
    return None if ours is None or theirs is None else ours / theirs
