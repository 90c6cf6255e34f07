"""From a finished run to a folder that stands alone: model, vocabulary, and a card that says what was recorded."""

from __future__ import annotations

from pathlib import Path

from reservoir.datasets import Vocabulary
from reservoir.models import save_pretrained
from reservoir.runs.records import METRICS, Record, read_record
from reservoir.runs.run import Run


def export(run: Run, folder: Path | str) -> Path:
    """Write the trained model of `run` to `folder`, as `reservoir.models.save_pretrained` does, with its vocabulary.

    Args:
        run: finished, its weights in the results folder.
        folder: made if it is not there.

    Raises:
        CheckpointError: the weights of the run are not there, or are damaged.
        ValueError: its texts are not cut by one vocabulary of pieces.
    """
    model, task, _ = run.load()
    _, vocabulary = run.data()
    sides = [getattr(task, f"{side}_vocabulary", vocabulary) for side in ("src", "tgt")]
    if not isinstance(vocabulary, Vocabulary) or any(len(side) != len(vocabulary) for side in sides):
        raise ValueError(
            f"{run.recipe} does not cut its texts by one vocabulary of pieces, which a folder holds"
        )
    return save_pretrained(
        model, folder, about=_about(read_record(run.path())), tokenizer=vocabulary.to_json()
    )


def _about(record: Record) -> str:
    """What a record says of a model, in three sentences."""
    scores = ", ".join(f"{metrics[record.scored_by]:.2f} on {name}" for name, metrics in record.tests.items())
    steps = record.points[-1]["step"]
    name, scale, seed = record.recipe, record.scale, record.seed
    metric = METRICS.get(record.scored_by, record.scored_by)
    return (
        f"Trained by the recipe `{name}` at the {scale} scale, seed {seed}: {steps:,} steps, {record.tokens:,} tokens."
        f" {metric}: {scores}. Trained by `python -m reservoir run {name} --scale {scale} --seeds {seed}`,"
        f" written by `python -m reservoir export {name} --to FOLDER --scale {scale} --seed {seed}`."
    )
