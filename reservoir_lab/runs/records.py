"""What a run measured, as one JSON file: written whole or not at all, checked when written and when read."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast, get_type_hints

import pandas as pd

from reservoir.datasets import DataError, shipped
from reservoir.files import atomic_write, read_bounded
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.runs import registry, schema
from reservoir_lab.runs.reading import run_from_json, upgraded
from reservoir_lab.runs.registry import Scale, record_path, results
from reservoir_lab.runs.run import ABSENT, Run, differences, flat

FORMAT = 2
LATER = {"date": "", "rules": "", "together": 1, "extrapolated": True}
"""What records lack that were made before these fields came."""
FEW = 4  # fields that a sentence names
METRICS = {"bleu": "BLEU", "accuracy": "accuracy (%)", "perplexity": "perplexity"}
"""What tables call the metrics."""
RANGES = {"bleu": (0, 100 + 1e-6), "accuracy": (0, 100 + 1e-6), "perplexity": (1 - 1e-6, math.inf)}
"""What a metric can be."""
LARGEST = 2**26
"""Bytes of the longest record that is read."""
RESULTS_ADVICE = "free some space, or set RESERVOIR_RESULTS to a folder that you may write to"
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SEED_FILE = re.compile(r"seed-(\d+)\.json")  # not the records of runs with overrides


class RecordError(RuntimeError):
    """A record cannot be used or written; the message names the file, the field and what is wrong with it."""


class RecordWarning(UserWarning):
    """A record is there and is not used; the message says why."""


@dataclass(frozen=True)
class Record:
    """A finished run. `reference/schema.md` describes every field, and those within `points` and the like.

    Args:
        recipe, scale, seed: which run.
        run: all its fields.
        overrides: fields that differ from the recipe, by dotted name; empty for the recipe as it stands.
        data: a digest of the corpus's content; empty where the record is too old to say.
        labels: names of the classes, where there are any.
        points: the validation points.
        metric: the validation metric that counts; larger_is_better: its direction.
        tests: for each test set its metrics, and the sacreBLEU signature where there is one.
        samples: a few test texts.
        parameters: how many numbers the model has and how many are trained.
        origins: for each origin the weights and the stored bytes.
        aucc: the area under the validation curve; time is steps × the median duration of a step.
        seconds: wall-clock of training; cpu_seconds: processor time of the whole process, tests included.
        step_seconds: median duration of a step; test_seconds: wall-clock of testing.
        tokens, flops: totals of training.
        peak_memory: bytes; 0 where the system does not say.
        machine, code: where and with which version.
        left_out: training texts that were too long.
        epoch_steps: steps in which the training data were seen once; 0 where the record is too old to say.
        begun_with: checkpoints that tensors were taken from, by name and digest.
        skipping: where backward passes were skipped: in how many steps; operations per token, and the median seconds,
            of a full step and of a skipped one.
        date: when the run ended, in UTC, such as "2026-11-27T20:43:12Z".
        rules: the digest of the rules under which the run was made; empty where there were none.
        together: how many seeds were trained at once, in one batch of products; 1 where each was trained alone.
        extrapolated: whether `flops` is the first batch's operations per token times all tokens, and not a sum over all
            batches.
        notes: what was said of data of one's own: sizes, splits, what was left out; and of the budget.
        format: version of this schema.
    """

    recipe: str
    scale: str
    seed: schema.Count
    run: Annotated[dict[str, Any], 1]
    overrides: dict[str, Any]
    data: str
    labels: list[str]
    points: Annotated[list[schema.Point], 1]
    metric: str
    larger_is_better: bool
    tests: Annotated[dict[str, dict[str, float | str]], 1]
    samples: list[schema.Sample]
    parameters: schema.Parameters
    origins: dict[str, schema.Held]
    aucc: schema.Area
    seconds: schema.Amount
    cpu_seconds: schema.Amount
    step_seconds: schema.Amount
    test_seconds: schema.Amount
    tokens: schema.Count
    flops: schema.Amount
    peak_memory: schema.Count
    machine: schema.Machine
    code: schema.Code
    left_out: schema.Count
    epoch_steps: schema.Amount
    begun_with: list[str]
    skipping: dict[str, Any]
    date: str
    rules: str
    together: schema.Positive
    extrapolated: bool
    notes: list[str] = field(default_factory=list)
    format: int = FORMAT

    def to_bytes(self, path: Path) -> bytes:
        """The file of the record, which is to lie at `path`, once it is checked.

        Raises:
            RecordError: a field has a value that no record may have, such as NaN.
        """
        data = asdict(self)
        if wrong := _wrong(data, path):
            raise RecordError(f"the record {path} is not written: {wrong[:300]}")
        return (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def write(self, path: Path) -> None:
        """Check the record and write it to `path`, atomically.

        Raises:
            RecordError: as in `to_bytes`.
            WriteError: the disk is full or the folder cannot be written to.
        """
        atomic_write(path, self.to_bytes(path), advice=RESULTS_ADVICE)

    @property
    def scored_by(self) -> str:
        """The metric of the test sets, such as "bleu"; validation may have watched another."""
        metrics = next(iter(self.tests.values()))
        return next(name for name, value in metrics.items() if isinstance(value, float))

    @property
    def score(self) -> float:
        """That metric on the first test set."""
        return float(next(iter(self.tests.values()))[self.scored_by])


def read_record(path: Path) -> Record:
    """Read and validate one record; of a file that has not changed since, the same object again: change nothing in it.

    Raises:
        RecordError: the file is not JSON, or a field is missing, is not what the schema says, or contradicts another
            one or the place where the file lies; or the record was made by a newer version.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise RecordError(f"record {path} cannot be read ({error}); delete it and run again") from error
    return _read(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@cache  # the ledger alone asks for twenty thousand
def _read(path: Path, stamp: tuple[int, ...]) -> Record:
    try:
        return parse_record(read_bounded(path, LARGEST), path)
    except OSError as error:
        raise RecordError(f"record {path} cannot be read ({error}); delete it and run again") from error


def parse_record(content: bytes, path: Path) -> Record:
    """The record that the bytes of a file at `path` hold.

    Raises:
        RecordError: as in `read_record`.
    """
    try:
        data = json.loads(content.decode(), parse_constant=_refused, object_pairs_hook=_once)
    except ValueError as error:
        raise RecordError(f"record {path} cannot be read ({error}); delete it and run again") from error
    except RecursionError:
        raise RecordError(f"record {path} is nested too deeply; delete it and run again") from None
    version = data.get("format") if isinstance(data, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RecordError(f"record {path} has no format from 1 to {FORMAT}; delete it and run again")
    if version > FORMAT:
        raise RecordError(
            f"record {path} was made by a newer version of the library (its format is {version}, and {FORMAT} is the"
            " newest known here): update the library"
        )
    try:
        data = {"notes": []} | LATER | (upgraded(data) if version == 1 else data)
        wrong = _wrong(data, path)
    except RecursionError:
        wrong = "it is nested too deeply"
    if wrong:
        raise RecordError(f"record {path}: {wrong[:300]}; delete it and run again")
    return Record(**data)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which no name may occur twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return found


def _wrong(data: dict[str, Any], path: Path) -> str:
    """The first thing that is wrong with the content of a record at `path`, in words; empty if nothing is."""
    hints = _hints()
    if missing := [name for name in hints if name not in data]:
        return f"it lacks {missing[0]!r}"
    if unknown := sorted(data.keys() - hints.keys()):
        return f"it has a field that no version knows, {unknown[0]!r}"
    for name, hint in hints.items():
        for fault in schema.faults(data[name], hint, name):
            return fault
    return _disagreement(data, path)


def _disagreement(data: dict[str, Any], path: Path) -> str:
    """Where fields of a record contradict each other or the place where it lies, in words; empty if nowhere."""
    run, parameters = data["run"], data["parameters"]
    for name in ("recipe", "scale", "seed"):
        if run.get(name) != data[name]:
            return f"run.{name} is {run.get(name)!r}, but {name} is {data[name]!r}"
    fields_of_run = dict(flat(run))
    for name, value in data["overrides"].items():
        has_parts = any(key.startswith(f"{name}.") for key in fields_of_run)
        if not has_parts and fields_of_run.get(name, ABSENT) != value:
            return f"overrides[{name!r}] is {value!r}, which the run does not have"
    if data["date"] and not DATE.fullmatch(data["date"]):
        return f"date must be in UTC, such as 2026-11-27T20:43:12Z, got {data['date'][:40]!r}"
    if parameters["trainable"] > parameters["total"]:
        return f"parameters.trainable is {parameters['trainable']}, more than parameters.total, {parameters['total']}"
    budget = run.get("budget")
    last, most = {"step": -1}, budget.get("steps") if isinstance(budget, dict) else None
    for number, point in enumerate(data["points"]):
        if data["metric"] not in point["metrics"]:
            return f"points[{number}].metrics lacks {data['metric']!r}"
        if any(point[name] < last.get(name, 0) for name in ("seconds", "tokens", "flops")) or not (
            last["step"] < point["step"] <= (most if isinstance(most, int) else point["step"])
        ):
            return f"points[{number}] does not follow the one before, or is beyond budget.steps"
        last = point
    for where, found in [
        *data["tests"].items(),
        *((f"points[{n}]", p["metrics"]) for n, p in enumerate(data["points"])),
    ]:
        for name, value in found.items():
            low, high = RANGES.get(name, (-math.inf, math.inf))
            if isinstance(value, int | float) and not low <= value <= high:
                return f"{name} of {where} must be from {low:g} to {high:g}, got {value:g}"
    if not any(isinstance(value, float) for value in next(iter(data["tests"].values())).values()):
        return "tests has no score, a number with a fraction, in its first test set"
    if path.parent.name in registry.SCALES and path.name.startswith("seed-"):
        filed = record_path(Path(), data["recipe"], data["scale"], data["seed"])
        name = path.name.partition("-with-")[0] + ".json" if data["overrides"] else path.name
        if path.with_name(name).parts[-len(filed.parts) :] != filed.parts:
            return f"it is of {filed}, and does not belong here"
    return ""


@cache
def _hints() -> dict[str, Any]:
    hints = get_type_hints(Record, include_extras=True)
    return {entry.name: hints[entry.name] for entry in fields(Record)}


def path_of(run: Run) -> Path:
    """Where the record of a run goes in the results folder."""
    return record_path(results(), run.recipe, run.scale, run.seed, run.overrides())


def recorded(run: Run) -> Record | None:
    """The record of a run in the results folder, if it was made by exactly this run and no later start was cut off.

    Raises:
        RecordError: there is a record, and it is damaged.
    """
    path = path_of(run)
    if not path.exists() or path.with_suffix(".checkpoint").exists():
        return None
    record = read_record(path)
    return None if other_fields(record, run) else record


def other_fields(record: Record, run: Run) -> str:
    """In which fields a record was made by another run than `run`, in words; empty if in none."""
    return _listed([*_other_data(record, run), *_differences(record, run)])


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
    for path in () if fresh else sorted(path_of(run).parent.glob("seed-*.json")):
        record = read_record(path)
        edited = run.task.data in record.run["task"].values() and any(_other_data(record, run))
        if not edited and (found := _differences(record, run.evolve(seed=record.seed))):
            raise ValueError(
                f"the name {name} is taken: {path} was made with {_listed(found)}; {advice}, or replace that one with"
                " --fresh (fresh=True)"
            )


def _differences(record: Record, run: Run) -> list[str]:
    found = differences(record.run, run)
    return [f"{name} {_shown(theirs)} (now {_shown(ours)})" for name, (theirs, ours) in found.items()]


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - FEW} other fields" if len(words) > FEW else ""
    return ", ".join(words[:FEW]) + more


def _other_data(record: Record, run: Run) -> Iterator[str]:
    """That the corpus has another content by now, if it is known then and now."""
    if not record.data:
        return
    try:
        now = content_digest(run.task.data)
    except DataError:  # it cannot be had here, and so not compared
        return
    if now != record.data:
        yield f"other data in {run.task.data} (digest {record.data[:8]}, now {now[:8]})"


def _shown(value: Any) -> str:
    return "absent" if value is ABSENT else json.dumps(value, ensure_ascii=False)


def _folders() -> tuple[Path, Path]:
    """Where records lie, the reader's own first.

    Who looks there announces it to audit hooks, so that a page knows which records it depends on, missing ones too.
    """
    return results(), shipped() / "results"


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


def find_record(recipe: str, *, scale: str = "laptop", seed: int = 0) -> Record | None:
    """The record of a run, from the results folder first, then from those that ship with the book.

    A record that was made with other fields than the registered recipe has today is passed over with a warning.
    """
    for folder in _folders():
        path = record_path(folder, recipe, scale, seed)
        sys.audit("reservoir.read", str(path.parent))
        if path.exists() and (record := _of_recipe(path)):
            return record
    return None


def find_records(recipe: str, *, scale: str = "laptop") -> list[Record]:
    """The records of a recipe, one per seed, in the numerical order of the seeds; none if nobody has run it."""
    folders = [folder / recipe / scale for folder in _folders()]
    for folder in folders:
        sys.audit("reservoir.read", str(folder))
    names = {path.name for folder in folders for path in folder.glob("seed-*.json")}
    seeds = sorted(int(found[1]) for name in names if (found := SEED_FILE.fullmatch(name)))
    return [record for seed in seeds if (record := find_record(recipe, scale=scale, seed=seed))]


def all_records(family: str = "") -> Iterator[Record]:
    """Every record of a run without overrides; one in the results folder hides the shipped one.

    Args:
        family: a family of recipes such as "transformer", or one recipe; all if empty.
    """
    seen = set()
    for folder in _folders():
        sys.audit("reservoir.read", str(folder / family))
        for path in sorted((folder / family).glob("**/seed-*.json")):
            key = path.relative_to(folder)
            if key not in seen and SEED_FILE.fullmatch(path.name) and (record := _of_recipe(path)):
                seen.add(key)
                yield record


def _of_recipe(path: Path) -> Record | None:
    """The record at `path`, unless the registered recipe has other fields today."""
    record = read_record(path)
    made = registry.RECIPES.get(record.recipe)
    if made is None:
        return record
    if why := _changed(path, record, made):
        warnings.warn(f"record {path} is not used: it was made with {why}", RecordWarning, stacklevel=3)
        return None
    return record


def _changed(path: Path, record: Record, made: registry.Recipe) -> str:
    """How the recipe has changed since, in words; the answer is kept as long as record and recipe are the same."""
    known = _compared.get(path)
    if known is None or known[:2] != (record, made):
        run = registry.get(record.recipe, scale=cast(Any, record.scale), seed=record.seed)
        known = _compared[path] = (record, made, other_fields(record, run))
    return known[2]


_compared: dict[Path, tuple[Record, registry.Recipe, str]] = {}


def frame(recipe: str | None = None, *, scale: str | None = None) -> pd.DataFrame:
    """Records as a table: one line a run and test set.

    The columns: recipe, scale, seed, precision and test set; the metric that counts, and every metric of the test set
    under its own name; the counts of `parameters`; steps, tokens and operations of training; its wall-clock seconds,
    processor seconds of the whole run, and bytes of memory at its peak; the area under its curve; on which processor
    or GPU, with how many threads and which torch; and of which version and commit, and whether the checkout differed
    from that (None where there was no checkout).

    Args:
        recipe: a recipe or a family such as "transformer"; everything if None.
        scale: one scale; all if None.

    Returns:
        The table; without lines and columns where nothing is recorded.
    """
    lines = []
    for record in all_records(recipe or ""):
        if scale is not None and record.scale != scale:
            continue
        for test, metrics in record.tests.items():
            lines.append(
                {
                    "recipe": record.recipe,
                    "scale": record.scale,
                    "seed": record.seed,
                    "precision": record.run["precision"],
                    "test": test,
                    "metric": record.scored_by,
                    **{name: value for name, value in metrics.items() if isinstance(value, int | float)},
                    **record.parameters,
                    "steps": record.points[-1]["step"],
                    "tokens": record.tokens,
                    "flops": record.flops,
                    "seconds": record.seconds,
                    "cpu_seconds": record.cpu_seconds,
                    "peak_memory": record.peak_memory,
                    "aucc": record.aucc["value"],
                    **{name: record.machine[name] for name in ("cpu", "gpu", "threads", "torch")},
                    **{name: record.code.get(name) for name in ("version", "commit", "dirty")},
                }
            )
    return pd.DataFrame(lines)
