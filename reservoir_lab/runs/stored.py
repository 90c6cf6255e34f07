"""The trained model of a run as it is stored: next to its record, or exported to a folder that stands alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reservoir.files import atomic_write, atomic_writes
from reservoir.models import LanguageModelConfig, pretrained
from reservoir.weights.storage import model_bytes, round_stored
from reservoir_lab.runs import building
from reservoir_lab.runs.building import Corpus, folder_of
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.records import METRICS, RESULTS_ADVICE, Record, path_of, read_record
from reservoir_lab.runs.registry import SCALES, Scale, elsewhere, record_path, results
from reservoir_lab.runs.run import Run, run_from_json

LICENCES = {"gpt/wikipedia": "CC BY-SA 3.0, as the articles that it has read"}


def store(
    run: Run,
    model: nn.Module,
    task: Any,
    corpus: Corpus,
    record: Record,
    *,
    identity: str,
    advice: str = RESULTS_ADVICE,
) -> None:
    """Write the record of a finished run, and next to it its weights, or where its data are one's own a folder for use.

    A record is never next to the model of another run: the older one goes first.

    Args:
        run, model, task, corpus, record: what was trained, and what came of it.
        identity: what the weights must belong to when they are read.
        advice: what to do where they cannot be written.

    Raises:
        WriteError: they cannot be; the older record may be gone, and no newer one is there.
        ValueError: as in `check_folder`.
    """
    check_folder(run)
    path, folder = path_of(run), folder_of(run)
    if run.base:
        files: dict[Path, Any] = {folder: _folder_files(run, model, task, corpus, record)}
    else:
        files = {building.weights_path(run): model_bytes(model, {"identity": identity}, whole=False)}
    files[path] = record.to_bytes(path)

    def outdate() -> None:
        path.unlink(missing_ok=True)
        if not run.base and pretrained.is_stored(folder):
            shutil.rmtree(folder)

    atomic_writes(files, before=outdate, advice=advice)


def check_folder(run: Run) -> None:
    """Check that a run's model can be stored next to its record, and that nothing but an earlier one would be lost.

    Raises:
        ValueError: something else is there, or a folder above it is a stored model's; or the run's data are one's own,
            and it cuts its texts by two vocabularies.
    """
    if run.base:
        _check_one_vocabulary(run)
    folder = folder_of(run)
    pretrained.check_replaceable(folder, own=True)
    for above in folder.parents:
        if above == results():
            break
        if pretrained.is_stored(above):
            raise ValueError(f"{above} holds a stored model: give the run {run.recipe} another name")


def _check_one_vocabulary(run: Run) -> None:
    if getattr(run.task, "dictionaries", None):
        raise ValueError(
            f"{run.recipe} cuts its texts by two vocabularies, and a stored model holds one, for both languages:"
            " give the run one with --task.dictionaries None"
        )


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
    target = Path(folder).expanduser().resolve()
    if not str(folder).strip() or str(folder) == "." or target.is_file():
        raise ValueError(f"--to must name a folder of its own, such as my-model, got {str(folder)!r}")
    for kept, called in ((Path.cwd(), "the current folder"), (Path.home(), "your home folder")):
        if kept.resolve().is_relative_to(target):
            raise ValueError(
                f"--to must name a folder of its own, got {str(folder)!r}, which is {called} or above it"
            )
    if target.is_relative_to(results().resolve()) and target.parent.name in SCALES:
        raise ValueError(
            f"{target} is where the results folder keeps the model of a run: name another folder"
        )
    pretrained.check_replaceable(target)
    return target


def export(run: Run, folder: Path | str) -> Path:
    """Write the trained model of `run` to `folder`, as `reservoir.models.save_pretrained` does, with its vocabulary.

    A recipe's language model is rounded to half precision, and the card says what the rounded model scores; all others
    come back bit for bit: a run on data of your own is copied. The folder is replaced as a whole, or stays as it was.

    Args:
        run: finished, its weights in the results folder.
        folder: missing, empty, or an earlier export.

    Raises:
        CheckpointError: the weights of the run are not there, or are damaged.
        ValueError: the folder holds something else, or the run cuts its texts by two vocabularies.
    """
    _check_one_vocabulary(run)
    target = folder_of(run)
    if Path(folder).expanduser().resolve() == target.resolve():
        check_folder(run)
    else:
        target = destination(folder)
    model, task, corpus = building.load_trained(run)
    if run.base:  # which is stored whole, with its vocabulary
        return target if target == folder_of(run) else export_stored(folder_of(run), target)
    record, dtype, more = read_record(path_of(run)), None, ""
    if isinstance(run.model, LanguageModelConfig):
        round_stored(model, dtype := torch.float16)
        with building.precision_of(run):
            scores = building.task_of(run).test(model, task, corpus)
        more = f" Rounded to half precision, as it is here: {_scores(scores)}."
    atomic_write(target, _folder_files(run, model, task, corpus, record, dtype=dtype, more=more))
    return target


def export_stored(folder: Path, to: Path | str) -> Path:
    """Copy a stored model to a folder of its own.

    Args:
        folder: what was written when the run was trained.
        to: as in `export`.
    """
    target = destination(to)
    atomic_write(
        target, {path.name: path.read_bytes() for path in folder.iterdir() if path.name in pretrained.PARTS}
    )
    return target


def _folder_files(
    run: Run,
    model: nn.Module,
    task: Any,
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
    """
    about = _about(run, record) + more
    if run.recipe in LICENCES:
        about += f"\n\nLicence: {LICENCES[run.recipe]}."
    said = {"run": run.to_json(), "inputs": dict(getattr(corpus, "inputs", {})), "tests": record.tests}
    vocabulary: Any = getattr(task, "src_vocabulary", None) or getattr(task, "vocabulary", None)
    return pretrained.model_files(
        model,
        about=about,
        tokenizer=vocabulary.to_json() if hasattr(vocabulary, "to_json") else None,
        labels=record.labels,
        data=record.data or None,
        dtype=dtype,
        run=json.dumps(said, indent=1, ensure_ascii=False) + "\n",
        identity=building.stamp(run, model),
    )


def _about(run: Run, record: Record) -> str:
    """What a run and its record say of a model, in some sentences."""
    name, scale, seed = record.recipe, record.scale, record.seed
    digest = f", whose content has the digest {record.data}" if record.data else ""
    words = f"The run `{name}` of the recipe `{run.base}`" if run.base else f"Trained by the recipe `{name}`"
    return (
        f"{words} at the {scale} scale, seed {seed}: {record.points[-1]['step']:,} steps, {record.tokens:,} tokens of"
        f" `{run.task.data}`{digest}. Test scores: {_scores(record.tests)}.\n\nThis repeats it, in Python, where it was"
        " trained; FOLDER is this folder:\n\n    import json\n    import reservoir_lab.recipes\n"
        "    from reservoir_lab.runs import execute, run_from_json\n\n"
        f'    execute(run_from_json(json.load(open("FOLDER/{pretrained.RUN}"))["run"]))\n'
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


def stored_folder(name: str | Path, *, scale: Scale = "laptop", seed: int = 0) -> Path:
    """Where the model of a run lies, or the folder of that name.

    Raises:
        CheckpointError: there is none.
    """
    path = Path(name).expanduser()
    if (path / pretrained.WEIGHTS).is_file():  # what is damaged is named when it is read
        return path
    record = record_path(results(), str(name), scale, seed)
    if record.is_file():
        run = run_from_json(read_record(record).run)
        folder = folder_of(run)
        return folder if (folder / pretrained.WEIGHTS).is_file() else export(run, folder)
    raise CheckpointError(
        f"there is no stored model {str(name)!r}: give a folder that export wrote, or the name of a run in"
        f" {results()} ({scale}, seed {seed}){elsewhere(str(name))}"
    )
