"""How often the judge is wrong: simulated worlds in which nothing differs, judged by the code that judges the ledger.

A world is a table of rows with three seeds each. Their scores are residuals of recorded runs, drawn again at random, so
they scatter as real runs do; rows scatter unequally, as the recorded ones do or more so; some runs fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from reservoir.evidence.judge import Comparison, Outcome, Spread, judge

Rows = np.ndarray  # (rows, seeds)
Shape = Callable[[Rows, np.ndarray, Spread], list[Comparison]]
"""A claim in a world: from the rows' scores, their true standard deviations and their spread to its comparisons."""


def residuals(tables: Iterable[Sequence[Sequence[float]]]) -> np.ndarray:
    """Residuals of recorded runs, in standard deviations of their rows: what worlds are made of.

    Args:
        tables: for each task and scale its rows, and for each row its scores over seeds.

    Raises:
        ValueError: there are fewer than 20 of them.
    """
    found: list[float] = []
    for table in tables:
        rows = [row for row in table if len(row) > 2]
        spread = Spread.of(rows)
        for row in rows:
            variance, _ = spread.moderated(row)
            if variance > 0:  # the mean takes one degree of freedom
                scale = (len(row) / (len(row) - 1) / variance) ** 0.5
                found += ((np.array(row) - np.mean(row)) * scale).tolist()
    if len(found) < 20:
        raise ValueError(f"worlds need at least 20 residuals of rows with three seeds, got {len(found)}")
    return np.array(found) / np.std(found)


@dataclass(frozen=True)
class World:
    """What varies between worlds.

    Args:
        rows, seeds: size of the table.
        uneven: degrees of freedom of a chi-squared that divides the rows' variances: infinite for equal ones; with 3,
            the rows at the ninth decile scatter three times as much as those at the first.
        apart: every second row scatters so many times as much as the others.
        failing: share of runs that fail, 30 standard deviations below the others.
    """

    rows: int = 12
    seeds: int = 3
    uneven: float = np.inf
    apart: float = 1.0
    failing: float = 0.0

    def draw(self, found: np.ndarray, rng: np.random.Generator) -> tuple[Rows, np.ndarray]:
        """Scores in which no row differs from another in truth, and the rows' standard deviations."""
        deviations = np.where(np.arange(self.rows) % 2, 1.0, self.apart)
        if np.isfinite(self.uneven):
            deviations = deviations * np.sqrt(self.uneven / rng.chisquare(self.uneven, self.rows))
        scores = rng.choice(found, (self.rows, self.seeds)) * deviations[:, None]
        return scores - 30.0 * (rng.random(scores.shape) < self.failing), deviations


WORLDS = {
    "equal variances": World(),
    "unequal variances": World(uneven=3.0),
    "every second row scatters three times as much": World(apart=3.0),
    "one run in twenty fails": World(uneven=3.0, failing=0.05),
    "few rows": World(rows=6, uneven=3.0),
}


def above(k: int, *, effect: float = 0.0) -> Shape:
    """`k` rows are each above one baseline, by an effect in standard deviations."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> list[Comparison]:
        lifted = rows + effect * deviations[:, None]
        return [
            Comparison(tuple(lifted[i % (len(rows) - 1) + 1]), tuple(rows[0]), "above", 0.0, spread)
            for i in range(k)
        ]

    return shape


def order(k: int) -> Shape:
    """`k` rows stand in an order, each above the next."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> list[Comparison]:
        pairs = [(i % len(rows), (i + 1) % len(rows)) for i in range(k - 1)]
        return [Comparison(tuple(rows[a]), tuple(rows[b]), "above", 0.0, spread) for a, b in pairs]

    return shape


def within(*, margin: float = 4.0, apart: bool = True) -> Shape:
    """Two rows are equivalent within a margin in standard deviations, when in truth they are just that far apart."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> list[Comparison]:
        size = margin * float(np.sqrt(np.mean(deviations[:2] ** 2)))
        return [Comparison(tuple(rows[0] + size * apart), tuple(rows[1]), "within", size, spread)]

    return shape


def rates(
    shape: Shape, world: World, found: np.ndarray, *, worlds: int = 10_000, seed: int = 0
) -> Mapping[Outcome, float]:
    """How often a claim of this shape comes out as each outcome.

    Args:
        shape: of the claim.
        world: what scores look like.
        found: `residuals` of recorded runs.
        worlds: how many are drawn.
        seed: of the worlds.
    """
    rng = np.random.default_rng(seed)
    count: dict[Outcome, int] = {"holds here": 0, "does not hold here": 0, "cannot tell": 0}
    for _ in range(worlds):
        rows, deviations = world.draw(found, rng)
        spread = Spread.of([tuple(row) for row in rows])
        count[judge(shape(rows, deviations, spread)).outcome] += 1
    return {outcome: number / worlds for outcome, number in count.items()}


def table(
    shapes: Mapping[str, Shape], found: np.ndarray, *, worlds: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """Wrong verdicts of claims about nothing, for every shape in every kind of world.

    Returns:
        one line a shape and kind of world: "wrong", the share of verdicts other than *cannot tell*, and "at most", the
        upper end of its 95 % Monte Carlo interval (Clopper and Pearson).
    """
    lines = []
    for name, shape in shapes.items():
        for kind, world in WORLDS.items():
            wrong = 1 - rates(shape, world, found, worlds=worlds, seed=seed)["cannot tell"]
            k = round(wrong * worlds)
            upper = 1.0 if k == worlds else float(stats.beta.ppf(0.975, k + 1, worlds - k))
            lines.append({"claim": name, "world": kind, "wrong": wrong, "at most": upper})
    return pd.DataFrame(lines)
