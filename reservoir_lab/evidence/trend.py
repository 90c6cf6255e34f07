"""How a comparison changes with the size of the models: a line through the ladder of sizes, and what it predicts.

A size's difference is that of two rows' means. A line is fitted to the differences over the logarithm of the trained
layers' weights. What they scatter about their lines, seeds included, is pooled over the comparisons of one task, since
three sizes leave a line one degree of freedom. Neither says anything about a bend beyond the sizes that were run.

`python -m reservoir_lab.evidence.trend` writes what the three smaller sizes predict of the largest, and of the sources'
models, to `data/claims/predictions.json`, and refuses once the largest has been run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_write
from reservoir_lab.evidence.claims import NotRunError, ledger
from reservoir_lab.evidence.judge import FEWEST, Estimate
from reservoir_lab.recipes import ladder
from reservoir_lab.runs.records import find_records

PREDICTIONS = "predictions.json"


@dataclass(frozen=True)
class Compared:
    """A comparison of the ladder.

    Args:
        row, rival: of `ladder.ROWS`; the difference is the row's figure minus the rival's, so more is worse.
        measure: of the ledger.
        control: the row that mixes nothing.
        source: whose models the last prediction is for, and the weights of their layers.
    """

    row: str
    rival: str
    measure: str
    control: str
    source: tuple[str, int]


BITS = ("trained", "ladder-bits", "no-attention")
HOLES = ("holes-attention", "ladder-holes", "holes-no-mixing")
IWSLT, POSTER = (
    ("fairseq's IWSLT transformer", 31_457_280),
    ("the poster's language model, by our sizes", 18_874_368),
)
COMPARED = {
    "reservoir layers": Compared("reservoirs", *BITS, IWSLT),
    "frozen attention": Compared("attention-frozen", *BITS, POSTER),
    "masks of one layer": Compared("masks", *BITS, IWSLT),
    "Fourier mixing": Compared("holes-fourier", *HOLES, ("BERT-base", 84_934_656)),
}
"""Comparison -> its rows. A layer has 12 d² weights where its feed-forward part is four times as wide as the model; in
fairseq's IWSLT transformer, whose is twice as wide, an encoder layer has 8 d² and a decoder layer 12 d²."""


def figure(name: str, width: int, row: str) -> Estimate:
    """The figure of a row at a width, in the comparison's measure.

    Raises:
        NotRunError: fewer than three runs of it are recorded.
    """
    recipe = f"ladder/{width}/{row}"
    found = ledger().measures[COMPARED[name].measure].figure(recipe)
    if found.runs < FEWEST:
        raise NotRunError(f"{recipe} has {found.runs:.0f} runs, and {FEWEST} are needed")
    return found


def differences(name: str, widths: Sequence[int] = ladder.WIDTHS) -> dict[int, Estimate]:
    """Width -> the difference of a comparison, for the widths at which both sides have been run three times."""
    one, found = COMPARED[name], {}
    for width in widths:
        try:
            found[width] = figure(name, width, one.row) - figure(name, width, one.rival)
        except NotRunError:
            continue
    return found


@dataclass(frozen=True)
class Line:
    """A straight line over the logarithm of the weights.

    Args:
        n: differences that it goes through.
        centre: mean of the logarithms.
        height: its value there.
        slope: for a factor of ten.
        spread: sum of squares of the logarithms about their mean.
        s, df: standard deviation about the lines of a task, and its degrees of freedom.
    """

    n: int
    centre: float
    height: float
    slope: float
    spread: float
    s: float
    df: int

    def at(self, weights: float) -> tuple[float, float, float]:
        """What it predicts of models with so many weights in their layers: mean, and the ends of the 95 % interval."""
        away = math.log10(weights) - self.centre
        mean = self.height + self.slope * away
        reach = self._t * self.s * math.sqrt(1 + 1 / self.n + away**2 / self.spread)
        return mean, mean - reach, mean + reach

    @property
    def steepness(self) -> tuple[float, float, float]:
        """The slope for a factor of ten in weights, and the ends of its 95 % interval."""
        reach = self._t * self.s / math.sqrt(self.spread)
        return self.slope, self.slope - reach, self.slope + reach

    @property
    def _t(self) -> float:
        return -float(special.stdtrit(self.df, 0.025))


def lines(points: Mapping[str, Mapping[int, float]]) -> dict[str, Line]:
    """A line through each comparison's differences, by weights; their scatter is pooled.

    Args:
        points: comparison -> weights of the layers -> difference; of at least three sizes each.

    Raises:
        ValueError: a comparison has fewer than three sizes, so that nothing says how far it strays from a line.
    """
    fitted, squares, df = {}, 0.0, 0
    for name, found in points.items():
        if len(found) < 3:
            raise ValueError(f"{name}: a line with an interval needs three sizes, got {len(found)}")
        x, y = np.log10(list(found)), np.array(list(found.values()))
        spread = float(((x - x.mean()) ** 2).sum())
        slope = float(((x - x.mean()) * y).sum()) / spread
        squares += float(((y - y.mean() - slope * (x - x.mean())) ** 2).sum())
        df += len(found) - 2
        fitted[name] = (len(found), float(x.mean()), float(y.mean()), slope, spread)
    return {name: Line(*line, math.sqrt(squares / df), df) for name, line in fitted.items()}


def trends(widths: Sequence[int] = ladder.WIDTHS) -> dict[str, Line]:
    """A line for each comparison of which three of the widths have been run."""
    found: dict[str, Line] = {}
    for measure in dict.fromkeys(one.measure for one in COMPARED.values()):
        points = {
            name: {ladder.weights(width): gap.mean for width, gap in differences(name, widths).items()}
            for name, one in COMPARED.items()
            if one.measure == measure
        }
        found |= lines({name: there for name, there in points.items() if len(there) > 2})
    return found


def predict() -> dict[str, dict[str, list[float]]]:
    """What all widths but the largest predict: comparison -> "largest", "sources" and "slope", with intervals.

    Raises:
        ValueError: the largest has been run, so that nothing would be predicted.
    """
    *smaller, largest = ladder.WIDTHS
    if run := [row for row in ladder.ROWS if find_records(f"ladder/{largest}/{row}", scale="laptop")]:
        raise ValueError(f"the largest size has been run ({', '.join(run)}): it can no longer be predicted")
    return {
        name: {
            "largest": list(line.at(ladder.weights(largest))),
            "sources": list(line.at(COMPARED[name].source[1])),
            "slope": list(line.steepness),
        }
        for name, line in trends(smaller).items()
    }


if __name__ == "__main__":
    said: dict[str, Any] = {"widths": ladder.WIDTHS[:-1], "of": ladder.WIDTHS[-1], "predicted": predict()}
    path = shipped() / "claims" / PREDICTIONS
    atomic_write(path, json.dumps(said, indent=1).encode() + b"\n")
    print(f"{path}: {', '.join(said['predicted'])}")
