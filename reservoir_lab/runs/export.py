"""Export a finished run: a folder with its model, its vocabulary, and a card that says what was recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reservoir.files import atomic_write
from reservoir.models import LanguageModelConfig
from reservoir.models.pretrained import PARTS, check_replaceable, model_files
from reservoir.models.pretrained import is_stored as is_export
from reservoir.training import Task
from reservoir.weights.storage import round_stored
from reservoir_lab.runs.building import Corpus, load_trained, precision_of, task_of
from reservoir_lab.runs.own import command_of
from reservoir_lab.runs.records import METRICS, Record, path_of, read_record
from reservoir_lab.runs.registry import SCALES, results
from reservoir_lab.runs.run import Run

LICENCES = {"gpt/wikipedia": "CC BY-SA 3.0, as the articles that it has read"}


def destination(folder: Path | str) -> Path:
    """Resolve the folder that an export goes to, and check that nothing but an earlier export would be replaced.

    Args:
        folder: missing, empty, or with an earlier export in it and nothing else.

    Returns:
        its absolute path, `~` and links resolved.

    Raises:
        ValueError: there is something else, or it is the current folder, the home folder or one above them, or that of
            a run in the results folder.
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
    if target.is_relative_to(results().resolve()) and target.parent.name in SCALES:
        raise ValueError(
            f"{target} is where the results folder keeps the model of a run: name another folder"
        )
    check_replaceable(target)
    return target


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
    if folder == folder_of(run):
        target = folder_of(run)
        check_own_folder(run)
    else:
        target = destination(folder)
    model, task, corpus = load_trained(run)
    record, dtype, more = read_record(path_of(run)), None, ""
    vocabulary_of(run, task)
    if isinstance(run.model, LanguageModelConfig):
        round_stored(model, dtype := torch.float16)
        with precision_of(run):
            scores = task_of(run).test(model, task, corpus)[0]
        more = f" Rounded to half precision, as it is here: {_scores(scores)}."
    atomic_write(target, stored_files(run, model, task, corpus, record, dtype=dtype, more=more))
    return target


def export_stored(folder: Path, to: Path | str) -> Path:
    """Copy a stored model to a folder of its own.

    Args:
        folder: what was written when the run was trained.
        to: as in `export`.
    """
    target = destination(to)
    atomic_write(target, {path.name: path.read_bytes() for path in folder.iterdir() if path.name in PARTS})
    return target


def folder_of(run: Run) -> Path:
    """Where the model of a run on data of one's own is stored when it is trained: next to its record."""
    return path_of(run).with_suffix("")


def check_own_folder(run: Run) -> None:
    """Check that nothing but an earlier model would be lost if that of a run were stored next to its record.

    Raises:
        ValueError: something else is there, or a folder above it is a stored model's.
    """
    folder = folder_of(run)
    check_replaceable(folder, own=True)
    for above in folder.parents:
        if above == results():
            break
        if is_export(above):
            raise ValueError(f"{above} holds a stored model: give the run {run.recipe} another name")


def check_exportable(run: Run, task: Task) -> None:
    """Check before a run is trained that its model can be stored with it, where it is to be.

    Raises:
        ValueError: it cuts its texts by two vocabularies.
    """
    if run.base:
        vocabulary_of(run, task)


def exports_of(
    run: Run, model: nn.Module, task: Task, corpus: Corpus, record: Record
) -> dict[Path, dict[str, bytes]]:
    """The folders that are written with a run's record: that of its model where its data are one's own.

    Raises:
        ValueError: as in `check_own_folder`.
    """
    check_own_folder(run)
    return {folder_of(run): stored_files(run, model, task, corpus, record)} if run.base else {}


def remove_export(run: Run) -> None:
    """Delete the stored model of an earlier run of this name whose data were one's own, where these are not."""
    if not run.base and is_export(folder_of(run)):
        shutil.rmtree(folder_of(run))


def stored_files(
    run: Run,
    model: nn.Module,
    task: Task,
    corpus: Corpus,
    record: Record,
    *,
    dtype: torch.dtype | None = None,
    more: str = "",
) -> dict[str, bytes]:
    """The files of a trained model with all that is needed to use it: vocabulary, classes, the run, and a card.

    Args:
        run, model, task, corpus, record: what was trained, and what came of it.
        dtype: as in `save_pretrained`.
        more: a sentence for the card.

    Raises:
        ValueError: the run cuts its texts by two vocabularies.
    """
    vocabulary = vocabulary_of(run, task)
    about = _about(run, record) + more
    if run.recipe in LICENCES:
        about += f"\n\nLicence: {LICENCES[run.recipe]}."
    said = {"run": run.to_json(), "inputs": dict(getattr(corpus, "inputs", {})), "tests": record.tests}
    return model_files(
        model,
        about=about,
        tokenizer=vocabulary.to_json() if hasattr(vocabulary, "to_json") else None,
        labels=record.labels,
        data=record.data or None,
        dtype=dtype,
        run=json.dumps(said, indent=1, ensure_ascii=False) + "\n",
    )


def vocabulary_of(run: Run, task: Any) -> Any:
    """What a run's texts are cut by; None where it has no texts.

    Raises:
        ValueError: there are two vocabularies, and a folder holds one.
    """
    sides = [
        getattr(task, name)
        for name in ("src_vocabulary", "tgt_vocabulary", "vocabulary")
        if hasattr(task, name)
    ]
    if any(side is not sides[0] for side in sides):
        raise ValueError(
            f"{run.recipe} cuts its texts by two vocabularies, and a stored model holds one, for both languages:"
            " give the run one with --task.dictionaries None"
        )
    return sides[0] if sides else None


def _about(run: Run, record: Record) -> str:
    """What a run and its record say of a model, in some sentences."""
    name, scale, seed = record.recipe, record.scale, record.seed
    digest = f", whose content has the digest {record.data}" if record.data else ""
    words = f"The run `{name}` of the recipe `{run.base}`" if run.base else f"Trained by the recipe `{name}`"
    return (
        f"{words} at the {scale} scale, seed {seed}: {record.points[-1]['step']:,} steps, {record.tokens:,} tokens of"
        f" `{run.task.data}`{digest}. Test scores: {_scores(record.tests)}.\n\nThis command repeats it:\n\n"
        f"    {command_of(run)}\n"
        + ("\n" + "\n".join(f"- {note}" for note in record.notes) if record.notes else "")
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
