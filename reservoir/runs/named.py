"""A run and its stored model by a name: a recipe's, or that of a run of your own in the results folder."""

from __future__ import annotations

from pathlib import Path

from reservoir.runs import registry
from reservoir.runs.export import RUN, export, folder_of, is_export
from reservoir.runs.reading import run_from_json
from reservoir.runs.records import read_record
from reservoir.runs.registry import SCALES, Scale, is_recorded, own_names, record_path, results
from reservoir.runs.run import Run
from reservoir.runs.trained_model import TrainedModel
from reservoir.training import CheckpointError


def family(name: str) -> list[str]:
    """The recipes of a family, or the one recipe or run of your own of that name.

    Raises:
        ValueError: there is none; the nearest name is suggested.
    """
    recipes = registry.names()
    return registry.family(name, [*recipes, *own_names(recipes)])


def find_run(name: str, *, scale: Scale = "laptop", seed: int = 0) -> Run:
    """The run that a recipe stands for, or a run of your own as it is recorded, with this seed or with another.

    Raises:
        ValueError: there is no such recipe and no such run, or none of that scale.
    """
    paths = sorted((results() / name / scale).glob("seed-*.json"))
    if name in registry.RECIPES or not (paths or _elsewhere(name)):
        return registry.get(name, scale=scale, seed=seed)
    if not paths:
        raise ValueError(f"there is no run {name} at the {scale} scale{_elsewhere(name)}")
    path = record_path(results(), name, scale, seed)
    return run_from_json(read_record(path if path in paths else paths[0]).run).evolve(seed=seed)


def _elsewhere(name: str) -> str:
    """At which scales a run of that name is recorded, in words; empty if at none."""
    scales = [scale for scale in SCALES if is_recorded(name, scale)]
    return (
        f"; it is recorded at the {' and the '.join(scales)} scale: add --scale {scales[0]}" if scales else ""
    )


def open_model(name: str | Path, *, scale: Scale = "laptop", seed: int = 0) -> TrainedModel:
    """The stored model of a folder, or of a run in the results folder by its name.

    `open_model("it-en").translate("tre case")`

    Args:
        name: a folder that `export` wrote; the name of a run of your own; or a recipe that was run here.
        scale, seed: of the run.

    Raises:
        CheckpointError: there is no such model.
    """
    return TrainedModel(stored_folder(name, scale=scale, seed=seed))


def stored_folder(name: str | Path, *, scale: Scale = "laptop", seed: int = 0) -> Path:
    """Where the model of a run lies, or the folder of that name.

    Raises:
        CheckpointError: there is none.
    """
    path = Path(name).expanduser()
    if is_export(path) and (path / RUN).is_file():
        return path
    if is_export(path):
        raise CheckpointError(
            f"{path} was exported by an earlier version, which stored no {RUN}: export it again"
        )
    record = record_path(results(), str(name), scale, seed)
    if record.is_file():
        run = run_from_json(read_record(record).run)
        folder = folder_of(run)
        return folder if is_export(folder) else export(run, folder)
    raise CheckpointError(
        f"there is no stored model {str(name)!r}: give a folder that export wrote, or the name of a run in"
        f" {results()} ({scale}, seed {seed}){_elsewhere(str(name))}"
    )
