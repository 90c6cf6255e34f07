"""How often the judge is wrong: simulated worlds in which nothing differs, judged by the code that judges the ledger.

A world is a table of rows with three seeds each. Their scores are residuals of recorded runs, drawn again at random, so
they scatter as real runs do; rows scatter unequally, as the recorded ones do or more so; some runs fail.
`python reference/calibration.py` repeats what appendix A1 shows.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from scipy import stats

from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_write
from reservoir_lab import recipes
from reservoir_lab.evidence.judge import AnyOf, Clause, Comparison, Estimate, Every, Outcome, Spread, judge
from reservoir_lab.runs.machine import machine
from reservoir_lab.runs.records import find_records
from reservoir_lab.runs.registry import Scale

Rows = np.ndarray  # (rows, seeds)
Shape = Callable[[Rows, np.ndarray, Spread], Clause]
"""A claim in a world, from the rows' scores, their true standard deviations and their spread."""


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


def _row(rows: Rows, i: int, spread: Spread, *, plus: float = 0.0) -> Estimate:
    return Estimate.of(rows[i % len(rows)] + plus, spread=spread)


def above(k: int = 1, *, effect: float = 0.0, any_of: bool = False) -> Shape:
    """`k` rows, or one of them, are above one baseline, by an effect in standard deviations."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        base, places = _row(rows, 0, spread), [i % (len(rows) - 1) + 1 for i in range(k)]
        parts = tuple(
            Comparison(_row(rows, i, spread, plus=effect * deviations[i]) - base, low=0.0) for i in places
        )
        return AnyOf(parts) if any_of else Every(parts)

    return shape


def order(k: int) -> Shape:
    """`k` rows stand in an order: every two of them."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        one = [_row(rows, i, spread) for i in range(k)]
        return Every(tuple(Comparison(a - b, low=0.0) for a, b in combinations(one, 2)))

    return shape


def within(*, margin: float = 4.0, apart: float = 1.0) -> Shape:
    """Two rows are equivalent within a margin in standard deviations, when they are `apart` times that far apart."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        size = margin * float(np.sqrt(np.mean(deviations[:2] ** 2)))
        gap = _row(rows, 0, spread, plus=size * apart) - _row(rows, 1, spread)
        return Comparison(gap, -size, size)

    return shape


def share(*, level: float = 30.0) -> Shape:
    """A row keeps 90 % of a baseline of 30 standard deviations above nothing, when that is just what it keeps."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        whole = level * float(np.max(deviations))
        kept = _row(rows, 1, spread, plus=0.9 * whole) / _row(rows, 0, spread, plus=whole)
        return Comparison(kept, low=0.9)

    return shape


def difference_of_differences() -> Shape:
    """One difference is larger than another."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        a, b, c, d = (_row(rows, i, spread) for i in range(4))
        return Comparison((a - b) - (c - d), low=0.0)

    return shape


def each_of_some(k: int = 2) -> Shape:
    """On each of `k` tasks, one of two rows is above a baseline."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        one = [_row(rows, i, spread) for i in range(3 * k)]
        tasks = (one[3 * i : 3 * i + 3] for i in range(k))
        return Every(
            tuple(AnyOf((Comparison(b - a, low=0.0), Comparison(c - a, low=0.0))) for a, b, c in tasks)
        )

    return shape


def mean_of_differences(k: int = 3) -> Shape:
    """On average, `k` rows are above one baseline."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        base = _row(rows, 0, spread)
        gaps = [_row(rows, i, spread) - base for i in range(1, k + 1)]
        return Comparison(functools.reduce(Estimate.__add__, gaps) * (1 / k), low=0.0)

    return shape


def apart_by(factor: float = 1.5, *, level: float = 30.0) -> Shape:
    """Two rows, one of 30 standard deviations above nothing, are a factor apart, when they are just that."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        whole = level * float(np.max(deviations))
        ratio = _row(rows, 0, spread, plus=factor * whole) / _row(rows, 1, spread, plus=whole)
        return AnyOf((Comparison(ratio, low=factor), Comparison(ratio, high=1 / factor)))

    return shape


def against_a_number() -> Shape:
    """A row is above a number that a source prints, when it is just that."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        return Comparison(_row(rows, 0, spread), low=0.0)

    return shape


def each_within(k: int = 3) -> Shape:
    """`k` rows are each equivalent to one baseline, when one of them is just a margin away."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        size = 4.0 * float(np.sqrt(np.mean(deviations[: k + 1] ** 2)))
        base, apart = _row(rows, 0, spread), [size] + (k - 1) * [0.0]
        gaps = [_row(rows, i + 1, spread, plus=plus) - base for i, plus in enumerate(apart)]
        return Every(tuple(Comparison(gap, -size, size) for gap in gaps))

    return shape


def one_that_beats_all(k: int = 3) -> Shape:
    """One of two rows is above each of `k` - 1 others."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        one = [_row(rows, i, spread) for i in range(k + 1)]
        return AnyOf(tuple(Every(tuple(Comparison(a - b, low=0.0) for b in one[2:])) for a in one[:2]))

    return shape


def alone() -> Shape:
    """One row is above another in a measure for which nothing is borrowed, as speeds and areas."""

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        return Comparison(_row(rows, 1, Spread()) - _row(rows, 0, Spread()), low=0.0)

    return shape


def chosen(rates: int = 3) -> Shape:
    """One row is above another, each at the best of some learning rates, when all rates are equally good.

    The worst case: what chooses is the score that is compared, and not one on other data.
    """

    def shape(rows: Rows, deviations: np.ndarray, spread: Spread) -> Clause:
        arms = [range(start, start + rates) for start in (0, rates)]
        a, b = (_row(rows, max(arm, key=lambda i: float(np.mean(rows[i]))), spread) for arm in arms)
        return Comparison(b - a, low=0.0)

    return shape


SHAPES: dict[str, Shape] = {
    "one row above another": above(1),
    "five rows above a baseline": above(5),
    "one of four rows above a baseline": above(4, any_of=True),
    "on each of two tasks, one of two rows above": each_of_some(),
    "ten rows in an order, 45 pairs": order(10),
    "two rows as good as each other": within(),
    "a share of a baseline": share(),
    "a difference of differences": difference_of_differences(),
    "a mean of three differences": mean_of_differences(),
    "a mean of five differences": mean_of_differences(5),
    "one row above a number": against_a_number(),
    "three rows, each as good as a baseline": each_within(),
    "one of two rows above each of two others": one_that_beats_all(),
    "two rows a factor apart": apart_by(),
    "one row above another, nothing borrowed": alone(),
    "one row above another, at the best of three rates": chosen(),
}
"""The shapes of the ledger's claims, where nothing differs, or by just the margin; ratios far from nothing."""


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
    count: Counter[Outcome] = Counter()
    for _ in range(worlds):
        rows, deviations = world.draw(found, rng)
        count[judge(shape(rows, deviations, Spread.of(rows.tolist()))).outcome] += 1
    return {
        outcome: count[outcome] / worlds for outcome in ("holds here", "does not hold here", "cannot tell")
    }


def upper(share: float, worlds: int) -> float:
    """The upper end of the 95 % Monte Carlo interval of a share of worlds (Clopper and Pearson)."""
    k = round(share * worlds)
    return 1.0 if k == worlds else float(stats.beta.ppf(0.975, k + 1, worlds - k))


def recorded(scale: Scale = "laptop") -> dict[str, list[list[float]]]:
    """Scores over seeds of the rows of every family of records, logarithms of perplexities: what worlds are made of."""
    found: dict[str, list[list[float]]] = {}
    for name in recipes.names():
        records = find_records(name, scale=scale)
        if len(records) > 2:
            first = records[0]
            scores = [
                math.log(one.score) if first.scored_by == "perplexity" else one.score for one in records
            ]
            found.setdefault(f"{name.partition('/')[0]}, {first.scored_by}", []).append(scores)
    return found


def main() -> int:
    """Write the shares of wrong verdicts, and of effects that are seen, to `data/claims/calibration.json`."""
    tables, worlds, seed = recorded(), int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, 0
    found, lines = residuals(tables.values()), []
    for name, shape in SHAPES.items():
        for kind, world in WORLDS.items():
            share = 1 - rates(shape, world, found, worlds=worlds, seed=seed)["cannot tell"]
            lines.append({"claim": name, "world": kind, "wrong": share, "at most": upper(share, worlds)})
            print(f"{share:.1%}  {name}, {kind}", flush=True)
    power = [
        {
            "runs": runs,
            "effect": effect,
            "seen": rates(above(effect=effect), world, found, worlds=2000)["holds here"],
        }
        for runs in (3, 5, 10)
        for effect in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
        for world in (World(seeds=runs, uneven=3.0),)
    ]
    usual = {
        name: math.sqrt(spread.variance) for name, rows in tables.items() if (spread := Spread.of(rows)).df
    }
    data = {
        "worlds": worlds,
        "seed": seed,
        "residuals": len(found),
        "machine": machine(torch.device("cpu")),
        "wrong": lines,
        "power": power,
        "usual": usual,
    }
    atomic_write(shipped() / "claims" / "calibration.json", json.dumps(data, indent=1).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
