"""Every recorded run on the same axes, what it scored and the four things it cost, and the Pareto fronts of runs with
several seeds.

A cost is counted so that no method hides one. What a run begins with, such as the embeddings of a trained model, was
paid for before: its operations and seconds are added to the run's, and its tensors to the file that must stand alone.
Where nobody has recorded what that took, both are unknown (nan). Trainable parameters include the scores of masks.

A front of single figures is a list. With seeds there are many: choose one seed of each method, and these figures have a
front; choose others, and it may be another. So a method has a *share*, that of all such draws in whose front it
stands. A share of one says that whatever seeds had been drawn, it would have been there; zero, that it never would.
Draws of different methods are independent, so the share is a product and needs no sampling.

What a share does not know is what a further seed would show, and a method with one seed looks as if it had no spread.
It can be lent some, as the ledger of claims does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from torch import nn

from reservoir.weights import Pretrained, moves, owned, recorded_origin
from reservoir.weights.accounting import kind_of
from reservoir_lab import recipes
from reservoir_lab.recipes.universal import BODIES, in_table, sweep_of
from reservoir_lab.runs.building import outline
from reservoir_lab.runs.records import Record, find_record, find_records
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.released import OURS
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRelease, InitFromRun
from reservoir_lab.runs.sweep import choose
from reservoir_lab.runs.tasks.masked_language_modelling import MaskedLanguageModelling
from reservoir_lab.runs.tasks.translation import Translation


@dataclass(frozen=True)
class Axis:
    """A cost.

    Args:
        words: what is counted, for an axis.
        short: the same in two or three words.
    """

    words: str
    short: str


AXES = {
    "trained": Axis("trainable parameters", "trainable parameters"),
    "bytes": Axis("bytes in a file that stands alone", "bytes on disk"),
    "flops": Axis("operations of training", "training operations"),
    "seconds": Axis("processor seconds", "seconds"),
}
"""Column of the tables below -> what it is."""


def borrowed_bytes(run: Run) -> int:
    """Bytes of the frozen tensors that a run has from elsewhere, which a file of its own would have to hold."""
    return _borrowed_bytes(outline(run))


def _borrowed_bytes(model: nn.Module) -> int:
    frozen = (item for item in owned(model) if not moves(item))
    return sum(item.parameter.nbytes for item in frozen if isinstance(recorded_origin(item), Pretrained))


def begun_with(run: Run) -> Record | None:
    """The record of what a run takes tensors from; None where it takes none, or nobody has recorded that.

    Which run that is may depend on the seed of `run` (`same_seed`).
    """
    if isinstance(run.start, InitFromRun) and run.start.streams:
        donor = run.start.source(run.scale, run.seed)
        return find_record(donor.recipe, scale=donor.scale, seed=donor.seed)
    if isinstance(run.start, InitFromRelease) and run.start.name == OURS:
        return find_record(OURS, scale=run.scale, seed=run.start.source(run.seed))
    return None


def lines(records: Iterable[Record], score: Callable[[Record], float]) -> list[dict[str, Any]]:
    """One line a record of one recipe: its score as "quality", its costs, and what it is."""
    records = list(records)
    if not records:
        return []
    first = min(records, key=lambda record: record.seed)
    run = recipes.get(first.recipe, scale=cast(Scale, first.scale))
    model = outline(run)
    what, more = kind_of(model), _borrowed_bytes(model)
    sources = {record.seed: begun_with(run.evolve(seed=record.seed)) for record in records}
    unknown = math.nan if run.start and run.start.streams else 0.0
    begun = {seed: source.cpu_seconds if source else unknown for seed, source in sources.items()}
    flops = _flops({record.seed: record for record in records}, first.seed, unknown)
    before = _flops(sources, first.seed, unknown)
    words = (recipes.RECIPES[first.recipe].__doc__ or "").strip().partition("\n")[0]
    return [
        {
            "recipe": record.recipe,
            "family": record.recipe.partition("/")[0],
            "words": words,
            "kind": what,
            "seed": record.seed,
            "quality": score(record),
            "trained": record.parameters["trainable"],
            "total": record.parameters["total"],
            "bytes": record.parameters["stored_bytes"] + more,
            "flops": flops[record.seed] + before[record.seed],
            "own flops": flops[record.seed],
            "seconds": record.cpu_seconds + begun[record.seed],
            "own seconds": record.cpu_seconds,
            "steps": record.points[-1]["step"],
            "beam": (record.run["task"].get("decoding") or {}).get("beam"),
            "cpu": record.machine["cpu"],
        }
        for record in records
    ]


def _flops(records: dict[int, Record | None], first: int, unknown: float) -> dict[int, float]:
    """The operations of each seed; what was counted on the first batch alone is one seed's, to compare rows by."""
    said = {
        seed: records[first] if record is None or record.extrapolated else record
        for seed, record in records.items()
    }
    return {seed: record.flops if record else unknown for seed, record in said.items()}


def _table(
    wanted: Callable[[Run], bool],
    score: Callable[[Record], float],
    *,
    fit: Callable[[Record], bool] = lambda record: True,
) -> pd.DataFrame:
    """The recorded runs at the laptop scale of all recipes that are wanted, of those records that fit."""
    found = (name for name in recipes.names() if wanted(recipes.get(name)))
    tables = (lines(filter(fit, find_records(name)), score) for name in found)
    return pd.DataFrame([line for table in tables for line in table])


def translators(*, corpus: str = "multi30k", test: str = "test2016") -> pd.DataFrame:
    """All recorded translators of a corpus: chapters 3 to 5, 8 and 10, and appendix A7.

    Returns:
        one line a run: "recipe", its "family", its "words" and "kind", "seed", "quality" (BLEU), the four costs of
        `AXES`, "total" parameters, "own flops" and "own seconds" without what it begins with, "steps", "beam", "cpu".
    """
    return _table(
        lambda run: isinstance(run.task, Translation) and run.task.corpus == corpus,
        lambda record: float(record.tests[test]["bleu"]),
        fit=lambda record: test in record.tests,
    )


def encoders() -> pd.DataFrame:
    """All recorded masked language models of appendix A8 and chapter 6, as `translators`; quality is a perplexity.

    A perplexity is one per piece, so models with other pieces, as those of `ladder`, are not in the table.
    """
    return _table(
        lambda run: (
            isinstance(run.task, MaskedLanguageModelling)
            and (run.task.text, run.task.vocabulary) == ("wikitext-2", 6_000)
        ),
        lambda record: float(record.tests[next(iter(record.tests))]["perplexity"]),
    )


def bodies(task: str) -> pd.DataFrame:
    """The bodies that a task of chapter 7 was learned with, each at the rate that validation chose, as `translators`.

    Quality is an accuracy in per cent; "body" is the body's name, and "complete" whether the rates next to
    the chosen one have been run.
    """
    found = []
    for body in (body for body in BODIES if in_table(task, body)):
        if choice := choose(sweep_of(task, body)):
            scored = lines(choice.records, lambda record: float(record.tests["test"]["accuracy"]))
            found += [line | {"body": body, "complete": choice.complete} for line in scored]
    return pd.DataFrame(found)


Word = Literal["always", "sometimes", "never"]


@dataclass(frozen=True)
class Method:
    """What one method scored and cost, seed by seed.

    Args:
        name: of the method.
        quality: larger is better; one figure a seed.
        cost: smaller is better; one figure a seed, in the same order.
    """

    name: str
    quality: tuple[float, ...]
    cost: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.quality or len(self.quality) != len(self.cost):
            needed = "one quality and one cost for each of its seeds, at least one"
            raise ValueError(f"{self.name} needs {needed}; got {len(self.quality)} and {len(self.cost)}")

    @property
    def mean(self) -> float:
        """The mean quality."""
        return sum(self.quality) / len(self.quality)

    @property
    def price(self) -> float:
        """The mean cost; of equal ones exactly that, which a sum over three need not be."""
        return min(max(sum(self.cost) / len(self.cost), min(self.cost)), max(self.cost))

    def lent(self, half_width: float) -> Method:
        """One seed says nothing of its spread: this lends it one, `half_width` to either side of its quality."""
        if len(self.quality) > 1 or not half_width:
            return self
        (quality,), (cost,) = self.quality, self.cost
        return Method(self.name, (quality - half_width, quality, quality + half_width), (cost,) * 3)


def methods(
    runs: pd.DataFrame, *, quality: str, cost: str, by: str = "recipe", sign: int = 1
) -> list[Method]:
    """The methods of a table with one line a run.

    Args:
        runs: with the columns `by`, `quality` and `cost`.
        quality, cost, by: names of columns.
        sign: -1 where a smaller quality is better, as of a perplexity.
    """
    return [
        Method(str(name), tuple(sign * group[quality].astype(float)), tuple(group[cost].astype(float)))
        for name, group in runs.groupby(by, sort=False)
    ]


def front(found: Sequence[Method], *, lent: float = 0.0) -> pd.DataFrame:
    """Which methods stand on the front.

    Args:
        found: the methods.
        lent: half the width of the spread that a method with one seed is taken to have.

    Returns:
        a line a method, the cheapest first: its "cost" (the mean); "low", "mean" and "high" quality over its seeds,
        nothing lent; how many "seeds"; the "share" of all draws, one seed of each method, in whose front it stands; and
        that share as a "word": "always", "sometimes" or "never".
    """
    spread = [method.lent(lent) for method in found]
    lines = {}
    for i, (method, mine) in enumerate(zip(found, spread, strict=True)):
        free = np.ones(len(mine.quality))  # the chance that nobody dominates it, for each of its seeds
        for other in (*spread[:i], *spread[i + 1 :]):
            free *= 1 - _dominated(mine, other).mean(1)
        share = float(free.mean())
        lines[method.name] = {
            "cost": method.price,
            "low": min(method.quality),
            "mean": method.mean,
            "high": max(method.quality),
            "seeds": len(method.quality),
            "share": share,
            "word": "always" if (free == 1).all() else "sometimes" if share > 0 else "never",
        }
    table = pd.DataFrame.from_dict(lines, orient="index")
    return table.sort_values(["cost", "mean"], ascending=[True, False])


def _dominated(mine: Method, other: Method) -> np.ndarray:
    """(my seeds, its seeds): whether it is as good and as cheap, and better in one of the two."""
    q, p = (np.asarray(m.quality, dtype=float) for m in (mine, other))
    c, d = (np.asarray(m.cost, dtype=float) for m in (mine, other))
    good, cheap = p[None] >= q[:, None], d[None] <= c[:, None]
    return good & cheap & ((p[None] > q[:, None]) | (d[None] < c[:, None]))


@dataclass(frozen=True)
class Winner:
    """The best that a budget buys.

    Args:
        name: the method whose mean quality is the highest.
        rivals: the others that some draw of seeds puts before it, the likeliest first.
        low, mean, high: its quality over seeds.
    """

    name: str
    rivals: tuple[str, ...]
    low: float
    mean: float
    high: float


def best_within(found: Sequence[Method], limit: float, *, lent: float = 0.0) -> Winner | None:
    """Who wins if nothing may cost more than `limit`; None if everything does.

    Args:
        found: the methods; a method is within its budget by its mean cost.
        limit: on the cost.
        lent: as in `front`.
    """
    within = [method for method in found if method.price <= limit]
    if not within:
        return None
    best = max(within, key=lambda method: method.mean)
    worst = min(best.lent(lent).quality)
    rivals = [m for m in within if m is not best and max(m.lent(lent).quality) > worst]
    rivals.sort(key=lambda method: -method.mean)
    return Winner(best.name, tuple(m.name for m in rivals), min(best.quality), best.mean, max(best.quality))


def stairs(found: Sequence[Method]) -> pd.DataFrame:
    """The best quality that each budget buys, as steps from the cheapest method on.

    Returns:
        a line for each cost at which one of them rises: "cost", and the best quality at that cost: of the worst seeds
        ("low"), of the means ("mean"), of the best seeds ("high"). Whatever seeds are drawn, the best of the draw lies
        between the first and the last.
    """
    lines: list[dict[str, float]] = []
    for method in sorted(found, key=lambda method: method.price):
        figures = {"low": min(method.quality), "mean": method.mean, "high": max(method.quality)}
        best = {key: max(value, lines[-1][key]) if lines else value for key, value in figures.items()}
        if lines and all(best[key] == lines[-1][key] for key in best):
            continue
        if lines and lines[-1]["cost"] == method.price:
            lines.pop()
        lines.append({"cost": method.price, **best})
    return pd.DataFrame(lines, columns=["cost", "low", "mean", "high"])


def typical_spread(found: Sequence[Method]) -> float:
    """Half the spread of quality over seeds: the median of the methods with two seeds or more; 0 if there is none."""
    widths = sorted((max(m.quality) - min(m.quality)) / 2 for m in found if len(m.quality) > 1)
    return float(np.median(widths)) if widths else 0.0
