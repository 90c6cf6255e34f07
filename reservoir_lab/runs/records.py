"""What a run measured, as one JSON file: written whole or not at all, checked when written and when read."""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, cast

from msgspec import Meta

from reservoir.datasets import shipped
from reservoir.files import atomic_writes, locked, read_bounded
from reservoir_lab.runs import registry
from reservoir_lab.runs.registry import record_path, results
from reservoir_lab.runs.run import ABSENT, Run, flat, other_fields
from reservoir_lab.typed import parse, typed

FORMAT = 3
METRICS = {"bleu": "BLEU", "accuracy": "accuracy (%)", "perplexity": "perplexity"}
"""What tables call the metrics."""
RANGES = {"bleu": (0, 100 + 1e-6), "accuracy": (0, 100 + 1e-6), "perplexity": (1 - 1e-6, math.inf)}
"""What a metric can be."""
LARGEST = 2**26
"""Bytes of the longest record that is read."""
AGAIN = "delete it and run again"
EACH = {
    "seed", "points", "tests", "samples", "aucc", "seconds", "cpu_seconds", "step_seconds", "test_seconds", "tokens",
    "flops", "peak_memory", "date",
}  # fmt: skip
"""What every line of a family's file has for itself."""
RESULTS_ADVICE = "free some space, or set RESERVOIR_RESULTS to a folder that you may write to"
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SEED_FILE = re.compile(r"seed-(\d+)\.json")  # not the records of runs with overrides


# ---- the parts of a record, with their ranges; reference/schema.md describes every field in words ------------------

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
MOST = sys.float_info.max
Number = Annotated[float, Meta(ge=-MOST, le=MOST)]
"""One that is finite."""
Amount = Annotated[float, Meta(ge=0, le=MOST)]
Some = Meta(min_length=1)
"""Of a list or an object that has entries."""


class Point(TypedDict):
    """A validation point."""

    step: Count
    seconds: Amount
    tokens: Count
    flops: Amount
    metrics: dict[str, Number]


class Parameters(TypedDict):
    """How many numbers the model has, as `reservoir.weights.report` defines them."""

    weights: Count
    scores: Count
    total: Count
    trainable: Count
    trainable_all_rows: Count
    stored_bytes: Count


class Held(TypedDict):
    """What a model has of one origin."""

    weights: Count
    stored_bytes: Count


class Area(TypedDict):
    """The area under the validation curve, and how it was taken."""

    value: Number
    horizon: Amount
    axis: str
    orientation: str


class Machine(TypedDict):
    """Where a run was executed."""

    cpu: str
    gpu: str | None
    threads: Positive
    torch: str
    python: str
    system: str
    processes: NotRequired[Positive]
    capability: NotRequired[str]
    bf16: NotRequired[bool]


class Code(TypedDict):
    """The version of the library, and the commit of its checkout where there was one."""

    version: str
    commit: str | None
    dirty: bool | None


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
        samples: a few test texts with what the model said, in older records; newer ones have none.
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
        skipping: where backward passes were skipped: in how many steps; operations per token of a full step and of a
            skipped one and, unless seeds were trained together, the median seconds of both.
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
    seed: Count
    run: Annotated[dict[str, Any], Some]
    overrides: dict[str, Any]
    data: str
    labels: list[str]
    points: Annotated[list[Point], Some]
    metric: str
    larger_is_better: bool
    tests: Annotated[dict[str, dict[str, int | Number | str]], Some]
    samples: list[dict[str, str]]
    parameters: Parameters
    origins: dict[str, Held]
    aucc: Area
    seconds: Amount
    cpu_seconds: Amount
    step_seconds: Amount
    test_seconds: Amount
    tokens: Count
    flops: Amount
    peak_memory: Count
    machine: Machine
    code: Code
    left_out: Count
    epoch_steps: Amount
    begun_with: list[str]
    skipping: dict[str, Any]
    date: str
    rules: str
    together: Positive
    extrapolated: bool
    notes: list[str] = field(default_factory=list)
    format: int = FORMAT

    # By identity: what is known of a record that was read is kept with it (`_compared`).
    __hash__ = object.__hash__

    def to_bytes(self, path: Path) -> bytes:
        """The file of the record, which is to lie at `path`, once it is checked.

        Raises:
            RecordError: a field has a value that no record may have, such as NaN.
        """
        try:
            typed(asdict(self), Record)
            if wrong := _disagreement(self, path):
                raise ValueError(wrong[:300])
            text = json.dumps(_stored(self), indent=1, ensure_ascii=False, allow_nan=False)
        except ValueError as error:
            raise RecordError(f"the record {path} is not written: {error}") from error
        return f"{text}\n".encode()

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
            one or the place where the file lies; or the record was made by another version.
    """
    try:
        found = path.stat()
        return _read(path, (found.st_mtime_ns, found.st_size, found.st_ino))
    except (OSError, ValueError) as error:
        raise RecordError(f"record {path} cannot be read ({error}); {AGAIN}") from error


@cache  # appendix A1 alone asks for twenty thousand
def _read(path: Path, stamp: tuple[int, ...]) -> Record:
    return _record(parse(read_bounded(path, LARGEST)), str(path), path)


def parse_lines(content: bytes, where: str) -> Iterator[Record]:
    """The records that lines hold, each a whole one, or what it adds to the line above that says what several share.

    Raises:
        RecordError: as in `read_record`.
    """
    shared: dict[str, Any] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            data = parse(line)
            if "recipe" in data and "seed" not in data:
                shared = data
                continue
            data = shared | data
            data["run"] = {"seed": data["seed"]} | data["run"]
        except (ValueError, TypeError, KeyError) as error:
            raise RecordError(f"{where}, line {number}: it holds no record ({error}); {AGAIN}") from error
        yield _record(data, f"{where}, line {number}")


def _record(data: Any, where: str, path: Path = Path()) -> Record:
    version = data.get("format") if isinstance(data, dict) else None
    if type(version) is int and version > FORMAT:
        raise RecordError(
            f"record {where} was made by a newer version of the library (its format is {version}, and {FORMAT} is the"
            " one known here): update the library"
        )
    if version != FORMAT:
        raise RecordError(f"record {where} has not format {FORMAT}; {AGAIN}")
    try:
        if surplus := sorted(data.keys() - {entry.name for entry in fields(Record)}):
            raise ValueError(f"it has a field that no version knows, {surplus[0]!r}")
        record = typed(data | {"points": _rows(data.get("points"))}, Record)
    except ValueError as error:
        raise RecordError(f"record {where}: {error}; {AGAIN}") from error
    if wrong := _disagreement(record, path):
        raise RecordError(f"record {where}: {wrong[:300]}; {AGAIN}")
    return record


def _rows(stored: Any) -> list[dict[str, Any]]:
    """Validation points, one by one, that are stored as a list for each of their fields."""
    try:
        columns, metrics = dict(stored), stored["metrics"]
        scores = zip(*metrics.values(), strict=True)
        columns["metrics"] = [dict(zip(metrics, row, strict=True)) for row in scores]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError("points must have a list for each field and metric, all of one length") from None


def _stored(record: Record) -> dict[str, Any]:
    """A record as it is stored: validation points as lists."""
    points: Any = record.points
    metrics = {name: [point["metrics"][name] for point in points] for name in points[0]["metrics"]}
    lists = {name: [point[name] for point in points] for name in points[0] if name != "metrics"}
    return asdict(record) | {"points": lists | {"metrics": metrics}}


def _disagreement(record: Record, path: Path) -> str:
    """Where fields of a record contradict each other or the place where it lies, in words; empty if nowhere."""
    run, parameters = record.run, record.parameters
    for name in ("recipe", "scale", "seed"):
        if run.get(name) != getattr(record, name):
            return f"run.{name} is {run.get(name)!r}, but {name} is {getattr(record, name)!r}"
    fields_of_run = dict(flat(run))
    for name, value in record.overrides.items():
        has_parts = any(key.startswith(f"{name}.") for key in fields_of_run)
        if not has_parts and fields_of_run.get(name, ABSENT) != value:
            return f"overrides[{name!r}] is {value!r}, which the run does not have"
    if record.date and not DATE.fullmatch(record.date):
        return f"date must be in UTC, such as 2026-11-27T20:43:12Z, got {record.date[:40]!r}"
    if parameters["trainable"] > parameters["total"]:
        return f"parameters.trainable is {parameters['trainable']}, more than parameters.total, {parameters['total']}"
    budget = run.get("budget")
    last: Mapping[str, Any] = {"step": -1}
    most = budget.get("steps") if isinstance(budget, dict) else None
    for number, point in enumerate(cast(list[dict[str, Any]], record.points)):
        if record.metric not in point["metrics"]:
            return f"points[{number}].metrics lacks {record.metric!r}"
        if point["metrics"].keys() != record.points[0]["metrics"].keys():
            return f"points[{number}] has other metrics than the first point"
        if any(point[name] < last.get(name, 0) for name in ("seconds", "tokens", "flops")) or not (
            last["step"] < point["step"] <= (most if isinstance(most, int) else point["step"])
        ):
            return f"points[{number}] does not follow the one before, or is beyond budget.steps"
        last = point
    scores: dict[str, Mapping[str, Any]] = dict(record.tests)
    scores |= {f"points[{number}]": point["metrics"] for number, point in enumerate(record.points)}
    for where, found in scores.items():
        for name, value in found.items():
            low, high = RANGES.get(name, (-math.inf, math.inf))
            if isinstance(value, int | float) and not low <= value <= high:
                return f"{name} of {where} must be from {low:g} to {high:g}, got {value:g}"
    if not any(isinstance(value, float) for value in next(iter(record.tests.values())).values()):
        return "tests has no score, a number with a fraction, in its first test set"
    if path.parent.name in registry.SCALES and path.name.startswith("seed-"):
        filed = record_path(Path(), record.recipe, record.scale, record.seed)
        name = path.name.partition("-with-")[0] + ".json" if record.overrides else path.name
        if path.with_name(name).parts[-len(filed.parts) :] != filed.parts:
            return f"it is of {filed}, and does not belong here"
    return ""


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


def find_record(recipe: str, *, scale: str = "laptop", seed: int = 0) -> Record | None:
    """The record of a run, from the results folder first, then from those that ship with the book.

    A record that was made with other fields than the registered recipe has today is passed over with a warning.
    """
    path = record_path(results(), recipe, scale, seed)
    if path.exists() and (record := _of_recipe(read_record(path), str(path))):
        return record
    record = _shipped(recipe, scale).get(seed)
    return record and _of_recipe(record, f"{recipe}/{scale}/seed-{seed} among the shipped ones")


def find_records(recipe: str, *, scale: str = "laptop") -> list[Record]:
    """The records of a recipe, one per seed, in the numerical order of the seeds; none if nobody has run it."""
    names = (path.name for path in (results() / recipe / scale).glob("seed-*.json"))
    own = {int(found[1]) for name in names if (found := SEED_FILE.fullmatch(name))}
    seeds = sorted(own.union(_shipped(recipe, scale)))
    return [record for seed in seeds if (record := find_record(recipe, scale=scale, seed=seed))]


def _shipped(recipe: str, scale: str) -> dict[int, Record]:
    """The shipped records of a recipe, by seed.

    Who looks here announces it to audit hooks, so that a page knows which records it depends on, missing ones too.
    """
    sys.audit("reservoir.read", str(shipped() / "results" / recipe / scale))
    family = recipe.partition("/")[0]
    return _parsed(
        registry.shipped_rows(family).get(f"{recipe}/{scale}", b""), f"{family}.jsonl, {recipe}/{scale}"
    )


@cache
def _parsed(lines: bytes, where: str) -> dict[int, Record]:
    return {record.seed: record for record in parse_lines(lines, where)}


def _of_recipe(record: Record, where: str) -> Record | None:
    """A record, unless the registered recipe has other fields today."""
    if why := _changed(record):
        warnings.warn(f"record {where} is not used: it was made with {why}", RecordWarning, stacklevel=3)
        return None
    return record


def _changed(record: Record) -> str:
    """How the recipe has changed since, in words."""
    made = registry.RECIPES.get(record.recipe)
    return _compared(record, made) if made else ""


@cache
def _compared(record: Record, made: registry.Recipe) -> str:
    return other_fields(record, made(cast(Any, record.scale)).evolve(seed=record.seed))


# ---- what ships ------------------------------------------------------------------------------------------------------


def ship_records(folder: Path | None = None) -> list[str]:
    """Put the records below a folder into the files of those that ship, a line a run, in place of older ones.

    Left out with a warning is what could not ship: runs of other fields than a recipe has, or of code that is no
    commit's.

    Args:
        folder: holds records, a file each or many in .jsonl or .jsonl.gz; by default the results folder.

    Returns:
        What was put there, "family/row/scale/seed-0".

    Raises:
        RecordError: there is no record, or one is damaged, or another process packs records there.
    """
    folder, to = folder or results(), shipped() / "results"
    files = sorted(
        path
        for path in folder.glob("**/*")
        if SEED_FILE.fullmatch(path.name) or path.name.endswith((".jsonl", ".jsonl.gz"))
    )
    came = [record for file in files for record in _records_in(file)]
    if not came:
        raise RecordError(
            f"there is nothing to pack: no record lies in {folder}; a run writes its record there"
        )
    packed: dict[str, dict[tuple[str, str, int], Record]] = {}
    changed: list[str] = []
    with locked(to) as mine:
        if not mine:
            raise RecordError(f"another process packs records into {to}: wait until it has ended")
        for record in came:
            where = f"{record.recipe}/{record.scale}/seed-{record.seed}"
            if why := _unfit(record):
                warnings.warn(f"{where} is left out: {why}", RecordWarning, stacklevel=2)
                continue
            family = record.recipe.partition("/")[0]
            if family not in packed:
                file = to / f"{family}.jsonl"
                packed[family] = {_key(one): one for one in (_records_in(file) if file.exists() else ())}
            older = packed[family].get(_key(record))
            if older is None or older.date <= record.date:
                packed[family][_key(record)] = record
                changed.append(where)
        atomic_writes({to / f"{family}.jsonl": _lines(records) for family, records in packed.items()})
    return changed


def _unfit(record: Record) -> str:
    """Why a record cannot ship, in words; empty if it can."""
    if record.recipe not in registry.RECIPES:
        return "it is of no recipe of the book"
    if record.overrides:
        return f"it has other fields than its recipe ({', '.join(record.overrides)})"
    if why := _changed(record):
        return f"it was made with {why}"
    if record.code["dirty"] is not False:
        return "its code is not known to be a commit's: run it in a checkout without changes"
    return ""


def _key(record: Record) -> tuple[str, str, int]:
    return record.recipe, record.scale, record.seed


def _records_in(file: Path) -> Iterator[Record]:
    if file.suffix == ".json":
        return iter([read_record(file)])
    try:
        content = read_bounded(file, LARGEST)
        if file.suffix == ".gz":
            with gzip.open(BytesIO(content)) as stream:
                if len(content := stream.read(4 * LARGEST)) == 4 * LARGEST:
                    raise OSError(f"it has more than {4 * LARGEST:,} bytes")
    except (OSError, EOFError, zlib.error) as error:
        raise RecordError(f"{file} cannot be read: {error}") from error
    return parse_lines(content, str(file))


def _lines(records: Mapping[tuple[str, str, int], Record]) -> bytes:
    """The lines of a family's file: for each recipe and scale what its records share, then the rest, seed by seed."""
    text: list[str] = []
    for (recipe, scale), row in groupby(sorted(records.items()), key=lambda item: item[0][:2]):
        stored = [_stored(record) for _, record in row]
        for one in stored:
            del one["run"]["seed"]
        first = stored[0]
        shared = {
            name: value
            for name, value in first.items()
            if name not in EACH and all(one[name] == value for one in stored)
        }
        head = {"recipe": recipe, "scale": scale} | shared
        for line in [head, *({name: one[name] for name in one if name not in head} for one in stored)]:
            text.append(json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
    return "".join(text).encode()
