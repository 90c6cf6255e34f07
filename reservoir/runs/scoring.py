"""Scoring a stored model on files: BLEU, accuracy or perplexity of each part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reservoir.datasets import DataError, Stored, Windows, own
from reservoir.runs.building import precision_of, task_of
from reservoir.runs.tasks.classification import Classification
from reservoir.runs.tasks.computation import Pictures
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.runs.tasks.translation import Translation
from reservoir.training import ComputationTask, LanguageModellingTask, accuracy, bleu
from reservoir.training.task import perplexity

if TYPE_CHECKING:
    from reservoir.runs.trained_model import TrainedModel

Scores = dict[str, float | str]
"""Metric -> value, with the number of examples."""


def scored(model: TrainedModel, path: Path | str) -> dict[str, Scores]:
    """The scores of a stored model on each part of some files: see `TrainedModel.score`."""
    task: Any = task_of(model.run)
    name, files = f"{own.FILES}{path}", task.files
    if isinstance(task, Translation):
        pairs = own.own_pairs(name, task.src, task.tgt, files, whole=True)[0]
        return {part: _bleu(model, *zip(*rows.rows, strict=True)) for part, rows in pairs.items()}
    if isinstance(task, LanguageModelling):
        return {
            part: _perplexity(model, text) for part, text in own.own_text(name, files, whole=True)[0].items()
        }
    if isinstance(task, Classification):
        found = own.own_labelled(name, files, model.labels)[0]
        return {part: _accuracy(model, rows.rows) for part, rows in found.items()}
    if isinstance(task, Pictures):
        size, channels, unit = tuple(model.inputs["size"]), model.inputs["channels"], task.patch * task.shrink
        pictures = own.own_pictures(
            name, files, patch=unit, size=size, channels=channels, known=model.labels
        )[0]
        stored = {part: Stored(x, y, prepare=task.sequences) for part, (x, y) in pictures.items()}
    else:
        numbers = own.own_sequences(name, files, model.labels, features=task.features)[0]
        stored = {part: model.stored(*rows) for part, rows in numbers.items()}
    with precision_of(model.run):
        return {
            part: {**ComputationTask.score(model.module, one), "examples": len(one)}
            for part, one in stored.items()
        }


def _bleu(model: TrainedModel, sources: Sequence[str], references: Sequence[str]) -> Scores:
    found = bleu(model.translate(sources), references)
    return {"bleu": found.bleu, "signature": found.signature, "examples": len(sources)}


def _accuracy(model: TrainedModel, rows: Sequence[tuple[str, ...]]) -> Scores:
    numbers = {label: number for number, label in enumerate(model.labels)}
    said = [numbers[label] for label in model.classify([row[:-1] for row in rows])]
    return {"accuracy": accuracy(said, [numbers[row[-1]] for row in rows]), "examples": len(rows)}


def _perplexity(model: TrainedModel, text: str) -> Scores:
    ids, task = model.vocabulary.encode_text(text), task_of(model.run)
    length = min(task.length, len(ids) - 1)
    if length < 1:
        raise DataError("the text has fewer than two tokens: write more")
    with precision_of(model.run):
        windows = Windows(ids, length=length, batch=task.batch, seed=0)
        nats, tokens = LanguageModellingTask.score(model.module, windows)
    size = len(text.encode("utf-8", "surrogateescape"))
    return {
        "perplexity": perplexity(nats, tokens),
        "bits_per_byte": nats / math.log(2) / size,
        "examples": tokens,
    }
