"""Every recorded run on the same axes: what it scored, and the four things it cost.

A cost is counted so that no method hides one. What a run begins with, such as the embeddings of a trained model, was
paid for before: its operations and seconds are added to the run's, and its tensors to the file that must stand alone.
Where nobody has recorded what that took, both are unknown (nan). Trainable parameters include the scores of masks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

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
    source = sources[first.seed]
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
            # Counted on the first batch, which the seed draws: for a comparison of rows, one seed's.
            "flops": first.flops + (source.flops if source else unknown),
            "own flops": first.flops,
            "seconds": record.cpu_seconds + begun[record.seed],
            "own seconds": record.cpu_seconds,
            "steps": record.points[-1]["step"],
            "beam": (record.run["task"].get("decoding") or {}).get("beam"),
            "cpu": record.machine["cpu"],
        }
        for record in records
    ]


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
    """All recorded translators of a corpus: chapters 3 to 6, 10 and 12.

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
    """All recorded masked language models of WikiText-2, chapters 7 and 8, as `translators`; quality is a perplexity.

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
    """The bodies that a task of chapter 9 was learned with, each at the rate that validation chose, as `translators`.

    Quality is an accuracy in per cent; "body" is the body's name, and "complete" whether the rates next to
    the chosen one have been run.
    """
    found = []
    for body in (body for body in BODIES if in_table(task, body)):
        if choice := choose(sweep_of(task, body)):
            scored = lines(choice.records, lambda record: float(record.tests["test"]["accuracy"]))
            found += [line | {"body": body, "complete": choice.complete} for line in scored]
    return pd.DataFrame(found)
