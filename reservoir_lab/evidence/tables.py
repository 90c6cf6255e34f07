"""Tables of recorded runs: one line a recipe, means over seeds with their spread."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from reservoir_lab.evidence.comparison import spread
from reservoir_lab.runs.records import METRICS, frame
from reservoir_lab.runs.registry import Scale, family_or_own


def table(name: str, *, scale: Scale = "laptop") -> pd.DataFrame:
    """The recorded runs of a family of recipes, one line a recipe.

    Args:
        name: a family such as "transformer", or one recipe or run of your own.
        scale: "smoke", "laptop" or "full".

    Returns:
        A DataFrame of text: the score on each test set as mean ± standard deviation over seeds (of the sample, where
        there are two or more), number of seeds, parameters, steps, minutes and processor. A recipe that nobody has run
        says so.
    """
    recipes = family_or_own(name)  # before any record is read: a name that nothing has is said at once
    records = frame(name, scale=scale)
    lines = []
    for recipe in recipes:
        runs = records[records["recipe"] == recipe] if len(records) else records
        if not len(runs):
            lines.append({"recipe": recipe, "seeds": "not run"})
            continue
        one = runs.drop_duplicates("seed")
        scores = {
            f"{METRICS.get(str(metric), metric)} {test}": spread(group[metric])
            for (metric, test), group in runs.groupby(["metric", "test"], sort=False)
        }
        sizes = {"trained": "trainable", "of": "total", "steps": "steps"}
        lines.append(
            {"recipe": recipe, "seeds": str(len(one)), **scores}
            | {shown: f"{one[column].iloc[0]:,}" for shown, column in sizes.items()}
            | {
                "minutes": spread(one["cpu_seconds"] / 60, digits=1),
                "on": ", ".join(sorted(set(one["gpu"].fillna(one["cpu"])))),
            }
        )
    return pd.DataFrame(lines).fillna("")


def over_seeds(values: Iterable[float], *, digits: int = 1, none: str = "not run yet") -> str:
    """Figures of several seeds as a page shows them: "31.5 (30.9 to 32.0)", the mean and the smallest and largest.

    Args:
        values: one a seed; of a single one there is no range.
        digits: after the point.
        none: what is said of no values.
    """
    values = list(values)
    if not values:
        return none
    mean = f"{sum(values) / len(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"
