"""A recipe on data of your own: the same model and training, with a name, a data set and a budget of its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from reservoir.datasets import DataError
from reservoir_lab.corpora.own import (
    FILES,
    LABEL_NAMES,
    LANGUAGE,
    READ,
    are_pictures,
    conversion,
    files_below,
    is_picture,
    is_table,
    mostly,
    part_in,
    path_of,
    picture_name,
    read_table,
    stem_of,
    telling_files,
)
from reservoir_lab.corpora.own_texts import by_language, languages, sides
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import data_of, folder_of, task_of
from reservoir_lab.runs.computation import Computation, Pictures, Sequences
from reservoir_lab.runs.records import read_record
from reservoir_lab.runs.registry import Scale, record_path, results
from reservoir_lab.runs.run import NAME, Run, other_data, other_fields, run_from_json
from reservoir_lab.runs.start import InitFromRun
from reservoir_lab.runs.tasks import LanguageModelling, MaskedLanguageModelling, Translation

Kind = Literal["pairs", "text", "labels", "pictures", "numbers"]
KINDS = {
    "pairs": "parallel text: train.de and train.en in a folder, or a table with the columns de and en",
    "text": "running text: a .txt file, or train.txt in a folder",
    "labels": "labelled texts: a table, .csv, .tsv, .jsonl or .parquet, with a column of texts and one of labels",
    "pictures": "pictures: a folder with one subfolder per class, or with a table of their names and classes",
    "numbers": "sequences of numbers: a table with a column of labels, and numbers in the others",
}
DEFAULTS = {
    "pairs": "own/translator",
    "text": "own/language-model",
    "labels": "own/classifier",
    "pictures": "own/pictures",
    "numbers": "own/sequences",
}
"""The recipe that each kind of data gets where none is named."""
WHOLE = {"tests": (), "characters": 0, "texts": 0, "n": 0, "tested": 0}
"""Fields that choose among a recipe's own data, and what takes all."""
PASSES, FEWEST, MOST = {LanguageModelling: 10, MaskedLanguageModelling: 10}, 100, 1000
"""How often the data are read by default (30 times where nothing is said), and bounds of the steps that follow."""


def on_files(run: Run, path: str | Path, *, name: str = "", **changes: Any) -> Run:
    """The run of a recipe on data of your own, with a budget that fits their size.

    `on_files(recipes.get("own/translator"), "it-en", task={"src": "it"})`

    Args:
        run: what a recipe makes.
        path: the file or folder.
        name: of the new run; by default the file's or folder's, and the recipe's where that is none of `own/…`.
        changes: as of `Run.evolve`: what is said here is not fitted.

    Raises:
        DataError: the data are not there, are of another kind than the recipe takes, or something is wrong with them.
    """
    said = {
        f"{part}.{field}" for part, fields in changes.items() if isinstance(fields, dict) for field in fields
    }
    return fitted(retargeted(run, path, name=name).evolve(**changes), keep=said | changes.keys())


def retargeted(run: Run, path: str | Path, *, name: str = "") -> Run:
    """The run with its name and its data replaced, before anything is read but the names of files.

    Raises:
        DataError, ValueError: as `on_files`.
    """
    data, task = f"{FILES}{path}", task_of(run)
    path_of(data)
    if isinstance(task, Computation) and not isinstance(task, Pictures):
        task = Sequences(batch=task.batch)
    start = run.start
    if isinstance(start, InitFromRun) and not start.streams:
        start = None  # only its vocabulary was taken, which is of other texts
    base = run.base or run.recipe
    changes = {
        task.corpus_field: data,
        **{part: whole for part, whole in WHOLE.items() if hasattr(task, part)},
    }
    return run.evolve(
        recipe=name or _name(Path(path), base), base=base, start=start, task=replace(task, **changes)
    )


def _name(path: Path, base: str) -> str:
    stem = re.sub(r"[^\w.+-]+", "-", path.resolve().name.partition(".")[0]).strip("-.+") or "mine"
    name = stem if base.startswith("own/") else f"{stem}-{base.replace('/', '-')}"
    taken = {recipe.partition("/")[0] for recipe in registry.names()}
    name = f"my-{name}" if stem in taken else name
    if not NAME.fullmatch(name):
        raise ValueError(f"give the run a name, of letters, digits and ._+-: {path} makes {name!r}")
    return name


def fitted(run: Run, *, keep: Collection[str] = ()) -> Run:
    """The run with languages, windows and budget that fit its data, which are read for it.

    Training data are read 30 times, running text 10 times: in at least 100 steps and at most 1,000, or as many as the
    recipe has. Smoke-scale runs keep their few steps.

    Args:
        run: with data of your own.
        keep: fields, by dotted name, that are not touched.

    Raises:
        DataError: something is wrong with the data.
    """
    if isinstance(run.task, Translation):
        run = _translating(run, keep)
    corpus, vocabulary = data_of(run)
    task: Any = task_of(run)
    if isinstance(task, LanguageModelling | MaskedLanguageModelling) and "task.length" not in keep:
        tokens = len(vocabulary.encode_text(cast(Any, corpus).train))
        if tokens < 8 * task.length:
            run = run.evolve(task={"length": max(tokens // 8, 2)})
    if run.scale == "smoke":
        return run
    epoch = len(task_of(run).task(corpus, vocabulary, seed=run.seed).epoch(0)) / run.budget.accumulate
    wanted = round(PASSES.get(type(task), 30) * epoch)
    steps = (
        run.budget.steps if "budget.steps" in keep else min(max(wanted, FEWEST), max(MOST, run.budget.steps))
    )
    every = max(1, -(-steps // 10))
    budget = {"steps": steps, "validate_every": every, "checkpoint_every": every}
    fits: dict[str, Any] = {name: value for name, value in budget.items() if f"budget.{name}" not in keep}
    rates = {} if "optimiser.warmup" in keep else {"warmup": min(run.optimiser.warmup, steps // 4)}
    return run.evolve(budget=fits, optimiser=rates)


def _translating(run: Run, keep: Collection[str]) -> Run:
    """The run with the languages of its data, where nobody has said them and there is no doubt."""
    task = run.task
    assert isinstance(task, Translation)
    found = languages(task.corpus)
    if len(found) < 2:
        return run  # reading them says what is lacking
    said = {side for side in ("src", "tgt") if f"task.{side}" in keep}
    src, tgt = task.src, task.tgt
    if not said:
        src, tgt = sides(found) or (src, tgt)
    if len(found) == 2 and src not in found and "src" not in said and tgt in found:
        src = next(language for language in found if language != tgt)
    elif len(found) == 2 and tgt not in found and "tgt" not in said and src in found and said:
        tgt = next(language for language in found if language != src)
    if {src, tgt} <= set(found):
        return run.evolve(task={"src": src, "tgt": tgt})
    one, other = (*found, "de", "en")[:2]
    raise DataError(
        f"{task.corpus.removeprefix(FILES)} has the languages {', '.join(found) or 'none'}, and"
        f" {task.src} to {task.tgt} is asked for: say which, such as --task.src {one} --task.tgt {other}"
    )


def kind_of(name: str) -> Kind:
    """What "files:PATH" holds, by the names of its files and a table's first lines.

    Raises:
        DataError: it is not there, or is none of the kinds.
    """
    path = path_of(name)
    if path.is_dir() and are_pictures(path):
        return "pictures"
    files = telling_files(path)
    tables = sorted(filter(is_table, files), key=lambda file: file != path and part_in(file, path) != "train")
    if tables:
        return _of_table(tables[0], path)
    if path.is_dir() and by_language(path).get("train"):
        return "pairs"
    if any(stem_of(file.name, READ) for file in files):
        return "text"
    below = [path] if path.is_file() else files_below(path)
    raise DataError(
        f"{path} holds none of what can be trained on: {'; '.join(KINDS.values())}{conversion(below)}"
    )


def _of_table(path: Path, given: Path) -> Kind:
    table = read_table(path)
    rest = [i for i, name in enumerate(table.header) if name.lower() not in LABEL_NAMES]
    for column in range(len(table.header)):
        if not mostly(table, column, lambda name: is_picture(Path(name))):
            continue
        if given == path:
            raise DataError(f"{path} names pictures: give the folder that it lies in, {path.parent}")
        names = {file.name for file in files_below(given)}
        cells = [row[column] for row in table.cells]
        lacks = [Path(picture_name(cell)).name not in names for cell in cells]
        row = lacks.index(True) if any(lacks) else 0
        raise DataError(
            f"{path}, line {table.lines[row]}: there is no one picture called {cells[row]!r}: add those that the column"
            f" {table.header[column]!r} names, or write their paths below {given}"
        )
    words = [word for row in table.cells for i in rest for word in row[i].split()]
    if words and all(map(_is_number, words)):
        return "numbers"
    codes = all(map(LANGUAGE.fullmatch, table.header))
    return "pairs" if sides(table.header) or (codes and len(rest) == len(table.header) == 2) else "labels"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def find_run(name: str, *, scale: Scale = "laptop", seed: int = 0) -> Run:
    """The run that a recipe stands for, or a run of your own as it is recorded, with this seed or with another.

    Raises:
        ValueError: there is no such recipe and no such run, or none of that scale.
    """
    paths = sorted((results() / name / scale).glob("seed-*.json"))
    if name in registry.RECIPES or not (paths or registry.elsewhere(name)):
        return registry.get(name, scale=scale, seed=seed)
    if not paths:
        raise ValueError(f"there is no run {name} at the {scale} scale{registry.elsewhere(name)}")
    path = record_path(results(), name, scale, seed)
    record = read_record(path if path in paths else paths[0])
    return run_from_json(record.run).evolve(seed=seed)


def check_name(run: Run, *, fresh: bool = False) -> None:
    """Refuse the name of a run that is no recipe's if another run has it, of this seed or another.

    One that was made with an earlier content of the same files may be replaced. Changed recipes are filed apart. Nor
    may a name begin another one, go on from it, or lead into the folders of a run: one would hide the other.

    Args:
        fresh: the run of this very name is to be replaced.

    Raises:
        ValueError: another one has it; the message says in which fields they differ.
    """
    name = run.recipe
    if name in registry.RECIPES and not run.base:
        return
    advice = "give this run a name of its own with --name (in Python, run.evolve(recipe=…))"
    if inside := set(registry.SCALES) & set(name.lower().split("/")):
        raise ValueError(f"the name {name} has {min(inside)} in it, which is the name of a scale; {advice}")
    families = {recipe.partition("/")[0] for recipe in registry.RECIPES}
    for other in (*families, *registry.RECIPES, *registry.own_names(registry.RECIPES)):
        if other != name and (f"{other}/".startswith(f"{name}/") or f"{name}/".startswith(f"{other}/")):
            raise ValueError(
                f"the names {name} and {other} begin alike, so that one hides the other; {advice}"
            )
        if other == name and (other in families or other in registry.RECIPES):
            raise ValueError(f"{name} is the name of a recipe or of a family of them; {advice}")
    for path in () if fresh else sorted(folder_of(run).parent.glob("seed-*.json")):
        record = read_record(path)
        edited = run.task.data in record.run["task"].values() and other_data(record, run)
        if not edited and (found := other_fields(record, run.evolve(seed=record.seed))):
            raise ValueError(
                f"the name {name} is taken: {path} was made with {found}; {advice}, or replace that one with"
                " --fresh (fresh=True)"
            )
