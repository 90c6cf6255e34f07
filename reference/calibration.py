"""How often the judge of the bench is wrong: simulated claims whose truth is known, judged by the code that judges.

    python reference/calibration.py [--worlds 2000]

A claim compares two rows of twenty runs. The runs are drawn: from normal distributions that scatter alike or unequally;
with one run in twenty that fails; as runs that learn or do not; or as residuals of the bench's own rows. The truth sits
where a verdict is hardest not to get wrong: the rows do not differ, or differ by just the margin. Any verdict is false
then. Next to it stands what the same test sees of an effect, since a judge that never decides is never wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from reservoir_lab.evidence.cells import JUDGED, Ask, Ran, answer, as_good, better, cheaper, judged
from reservoir_lab.recipes import bench

N, WORLDS = 20, 2000
ALLOWED = 0.05
"""Share of false verdicts that we accept; each test is made at 1 %."""
MARGIN = 5.0
Draw = Callable[[np.random.Generator, float], np.ndarray]
"""(generator, mean) -> the scores of a row."""


def normal(sd: float, failing: float = 0.0) -> Draw:
    """Scores that scatter by `sd`; a share of runs fails, which is to score nothing."""

    def draw(rng: np.random.Generator, mean: float) -> np.ndarray:
        return np.where(rng.random(N) < failing, 0.0, mean + sd * rng.standard_normal(N))

    return draw


def learning(share: float) -> Draw:
    """Runs that learn, and reach the mean or more, with a chance; the others stay near 10 %."""

    def draw(rng: np.random.Generator, mean: float) -> np.ndarray:
        return np.where(rng.random(N) < share, mean, 10.0) + rng.random(N)

    return draw


@cache
def residuals() -> dict[str, np.ndarray]:
    """Of each row of the bench that is judged by means: what its runs differ from its mean by."""
    found = {}
    for task, row in bench.table():
        scores = np.array([run.scores["score"] for run in judged(f"{task}/{row}")])
        fails = JUDGED[task.partition("-")[0]].fails
        if len(scores) >= N and fails is not None and np.ptp(scores) > 0:
            found[f"{task}/{row}"] = (scores - scores.mean()) * math.sqrt(len(scores) / (len(scores) - 1))
    return found


def real(rng: np.random.Generator, mean: float) -> np.ndarray:
    """Runs that scatter as those of a row of the bench do, one drawn at random for each row."""
    rows = list(residuals().values())
    return mean + rng.choice(rows[rng.integers(len(rows))], N)


BETTER, AS_GOOD, CHEAPER = better("a", "b"), as_good("a", "b", MARGIN), cheaper("a", "b")
CASES: dict[str, tuple[str, tuple[Ask, ...], Draw, Draw, float]] = {
    "equal scatter": ("grammar", BETTER, normal(2), normal(2), 0.0),
    "five times the scatter": ("grammar", BETTER, normal(10), normal(2), 0.0),
    "one run in twenty fails": ("grammar", BETTER, normal(2, 0.05), normal(2, 0.05), 0.0),
    "real rows": ("grammar", BETTER, real, real, 0.0),
    "one in twenty learns": ("circle", BETTER, learning(0.05), learning(0.05), 0.0),
    "half of the runs learn": ("circle", BETTER, learning(0.5), learning(0.5), 0.0),
    "nine in ten learn": ("circle", BETTER, learning(0.9), learning(0.9), 0.0),
    "as good, at the margin": ("grammar", AS_GOOD, normal(2), normal(2), -MARGIN),
    "as good, at the margin, five times the scatter": ("grammar", AS_GOOD, normal(10), normal(2), -MARGIN),
    "as good, at the margin, real rows": ("grammar", AS_GOOD, real, real, -MARGIN),
    "costs of rows that are alike": ("grammar", CHEAPER, normal(2), normal(2), 0.0),
}
"""What is simulated: the task by whose rule it is judged, the question, how both rows are drawn, and the difference of
their means that makes any verdict false."""
EFFECT = {"grammar": 12.0, "circle": 0.0}
"""Points added to the first row to see whether the test sees; on the circle the share that learns decides instead."""


def run(score: float) -> Ran:
    """A run that ends at a score, which it approaches evenly."""
    curve = tuple((float(at), at, score * at / 20) for at in range(1, 21))
    return Ran({"score": float(score)}, curve, 20.0, 1000.0, 500.0)


def verdicts(name: str, worlds: int, *, effect: float = 0.0, seed: int = 0) -> Iterator[str]:
    """What the judge says in so many worlds.

    Args:
        name: of a case, a key of `CASES`.
        worlds: how many.
        effect: points by which the first row is above the difference at which the truth sits.
        seed: of the draws.
    """
    task, (ask,), first, second, gap = CASES[name]
    rng = np.random.default_rng([seed, *name.encode()])
    level = 95.0 if task == "circle" else 70.0
    for _ in range(worlds):
        a, b = first(rng, level + gap + effect), second(rng, level)
        rows = {"a": [run(score) for score in a], "b": [run(score) for score in b]}
        yield answer(ask, task, lambda name, rows=rows: rows[name.partition("/")[2]]).outcome()  # type: ignore[misc]


def share(name: str, worlds: int, *, effect: float = 0.0, seed: int = 0) -> float:
    """How often anything is decided."""
    return sum(said != "undecided" for said in verdicts(name, worlds, effect=effect, seed=seed)) / worlds


def most(worlds: int) -> float:
    """The share of false verdicts that `ALLOWED` permits in so many worlds: two standard errors more."""
    return ALLOWED + 2 * math.sqrt(ALLOWED * (1 - ALLOWED) / worlds)


def main() -> int:
    """Print the share of false verdicts of each case; status 1 if one has too many."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=WORLDS, help="simulated claims for each line")
    worlds = parser.parse_args().worlds
    wrong = {name: share(name, worlds) for name in CASES}
    for name, found in wrong.items():
        effect = EFFECT[CASES[name][0]]
        seen = f", sees {effect:g} points in {share(name, worlds // 10, effect=effect):.0%}" if effect else ""
        print(f"{name:48s} {found:6.2%} false{seen}", flush=True)
    print(f"at most {most(worlds):.2%} are allowed, in {worlds:,} worlds each")
    return int(max(wrong.values()) > most(worlds))


if __name__ == "__main__":
    sys.exit(main())
