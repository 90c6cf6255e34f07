"""Tables of recorded runs: one line a recipe, means over seeds with their spread."""

from __future__ import annotations

import pandas as pd

from reservoir.experiments.beside import spread
from reservoir.experiments.recipes import family
from reservoir.experiments.records import frame
from reservoir.experiments.run import Scale

METRICS = {"bleu": "BLEU", "accuracy": "accuracy (%)", "perplexity": "perplexity"}
"""How tables call the metrics."""


def table(name: str, *, scale: Scale = "laptop") -> pd.DataFrame:
    """The recorded runs of a family of recipes, one line a recipe.

    Args:
        name: a family such as "transformer", or one recipe.
        scale: "smoke", "laptop" or "full".

    Returns:
        A DataFrame of text: the score on each test set as mean ± standard deviation over seeds (of the sample, where
        there are two or more), number of seeds, parameters, steps, minutes and processor. A recipe that nobody has run
        says so.
    """
    records = frame(scale=scale)
    lines = []
    for recipe in family(name):
        runs = records[records["recipe"] == recipe] if len(records) else records
        if not len(runs):
            lines.append({"recipe": recipe, "seeds": "not run"})
            continue
        one = runs.drop_duplicates("seed")
        lines.append(
            {
                "recipe": recipe,
                "seeds": str(len(one)),
                **{
                    f"{METRICS.get(metric, metric)} {test}": spread(group[metric])
                    for (metric, test), group in runs.groupby(["metric", "test"], sort=False)
                },
                "trained": f"{one['trainable'].iloc[0]:,}",
                "of": f"{one['total'].iloc[0]:,}",
                "steps": f"{one['steps'].iloc[0]:,}",
                "minutes": spread(one["cpu_seconds"] / 60, digits=1),
                "on": ", ".join(
                    sorted({gpu or cpu for gpu, cpu in zip(one["gpu"], one["cpu"], strict=True)})
                ),
            }
        )
    return pd.DataFrame(lines).fillna("")
