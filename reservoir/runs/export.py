"""Export a finished run: a folder with its model, its vocabulary, and a card that says what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from reservoir.datasets.store import write_folder
from reservoir.models import LanguageModelConfig, save_pretrained
from reservoir.models.pretrained import CARD, CONFIG, TOKENIZER, WEIGHTS
from reservoir.runs.building import load, load_data, precision_of, task_of
from reservoir.runs.records import METRICS, Record, path_of, read_record
from reservoir.runs.run import Run
from reservoir.weights.storage import round_stored

PARTS = {CONFIG, WEIGHTS, CARD, TOKENIZER, "vocabulary.json", "scores.json"}
"""Files of an export; the last two were written by earlier versions."""
LICENCES = {"gpt/wikipedia": "CC BY-SA 3.0, as the articles that it has read"}


def destination(folder: Path | str) -> Path:
    """Resolve the folder that an export goes to, and check that nothing but an earlier export would be replaced.

    Args:
        folder: missing, empty, or with an earlier export in it and nothing else.

    Returns:
        its absolute path, `~` and links resolved.

    Raises:
        ValueError: there is something else, or it is the current folder, the home folder or one above them.
    """
    if not str(folder).strip() or str(folder) == ".":
        raise ValueError(f"--to must name a folder of its own, such as my-model, got {str(folder)!r}")
    target = Path(folder).expanduser().resolve()
    for kept, called in ((Path.cwd(), "the current folder"), (Path.home(), "your home folder")):
        if kept.resolve().is_relative_to(target):
            raise ValueError(
                f"--to must name a folder of its own, got {str(folder)!r}, which is {called} or above it"
            )
    if target.exists() and not target.is_dir():
        raise ValueError(f"--to must name a folder, got {target}, which is a file")
    if foreign := sorted(_foreign(target)):
        more = f" and {len(foreign) - 1} more" if foreign[1:] else ""
        raise ValueError(
            f"{target} is not empty and no earlier export (it holds {foreign[0]}{more}): name a new folder, or empty it"
        )
    return target


def is_export(folder: Path) -> bool:
    """Whether a folder holds an exported model, by the format that its configuration names."""
    try:
        said = json.loads((folder / CONFIG).read_bytes())
        return str(said["format"]).startswith("reservoir-model-")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _foreign(folder: Path) -> set[str]:
    """Names in a folder that no export has written: all of them, if no export is there."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    return names - PARTS if is_export(folder) else names


def export(run: Run, folder: Path | str) -> Path:
    """Write the trained model of `run` to `folder`, as `reservoir.models.save_pretrained` does, with its vocabulary.

    Language models are rounded to half precision, and the card says what the rounded model scores; all others come
    back bit for bit. The folder is replaced as a whole, or stays as it was.

    Args:
        run: finished, its weights in the results folder.
        folder: missing, empty, or an earlier export.

    Raises:
        CheckpointError: the weights of the run are not there, or are damaged.
        ValueError: the folder holds something else, or the run cuts its texts by two vocabularies.
    """
    target = destination(folder)
    model, task, corpus = load(run)
    _, vocabulary = load_data(run)
    sides = [getattr(task, f"{side}_vocabulary", vocabulary) for side in ("src", "tgt")]
    if any(len(side) != len(vocabulary) for side in sides):
        raise ValueError(
            f"{run.recipe} cuts its texts by two vocabularies, and a folder holds one, for both languages"
        )
    record = read_record(path_of(run))
    about = _about(record)
    dtype = torch.float16 if isinstance(run.model, LanguageModelConfig) else None
    if dtype is not None:
        round_stored(model, dtype)
        with precision_of(run):
            scores = task_of(run).test(model, task, corpus)[0]
        about += f" Rounded to half precision, as it is here: {_scores(scores)}."
    if run.recipe in LICENCES:
        about += f"\n\nLicence: {LICENCES[run.recipe]}."
    tokenizer = vocabulary.to_json() if hasattr(vocabulary, "to_json") else None
    labels = getattr(corpus, "classes", ())

    def fill(made: Path) -> None:
        save_pretrained(
            model,
            made,
            about=about,
            tokenizer=tokenizer,
            labels=labels,
            data=record.data or None,
            dtype=dtype,
        )

    write_folder(target, fill)
    return target


def _about(record: Record) -> str:
    """What a record says of a model, in three sentences."""
    name, scale, seed = record.recipe, record.scale, record.seed
    return (
        f"Trained by the recipe `{name}` at the {scale} scale, seed {seed}: {record.points[-1]['step']:,} steps,"
        f" {record.tokens:,} tokens. Test scores: {_scores(record.tests)}."
        f" Trained by `python -m reservoir run {name} --scale {scale} --seeds {seed}`,"
        f" written by `python -m reservoir export {name} --to FOLDER --scale {scale} --seed {seed}`."
    )


def _scores(tests: dict[str, dict[str, Any]]) -> str:
    """Every metric of every test set, such as "BLEU 37.6 on test2016"."""
    return "; ".join(
        ", ".join(
            f"{METRICS.get(key, key.replace('_', ' '))} {value:.4g}"
            for key, value in metrics.items()
            if isinstance(value, float)
        )
        + f" on {name}"
        for name, metrics in tests.items()
    )
