"""What a run measured, as one JSON file: written whole or not at all, validated when it is read."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd

from reservoir.datasets import atomic_write, shipped
from reservoir.runs import registry
from reservoir.runs.places import record_path, results
from reservoir.runs.run import ABSENT, Run, differences

FORMAT = 1
KEYS = {
    "parameters": ("total", "trainable", "stored_bytes"),
    "aucc": ("value", "horizon", "axis", "orientation"),
    "machine": ("cpu", "gpu", "threads", "torch"),
    "points": ("step", "seconds", "tokens", "flops", "metrics"),
    "samples": ("source", "reference"),
}
FEW = 4  # fields that a sentence names
METRICS = {"bleu": "BLEU", "accuracy": "accuracy (%)", "perplexity": "perplexity"}
"""How tables call the metrics."""
SEED_FILE = re.compile(r"seed-(\d+)\.json")  # not the records of runs with overrides
CLOCK_FIELDS = ("seconds", "cpu_seconds", "step_seconds", "peak_memory", "machine", "code", "test_seconds")
"""What may differ between two runs with the same seed on one machine; `points` and `aucc` hold seconds too."""


class RecordError(RuntimeError):
    """A record cannot be used; the message names the file and what is wrong with it."""


class RecordWarning(UserWarning):
    """A record is there and is not used; the message says why."""


@dataclass(frozen=True)
class Record:
    """A finished run.

    Args:
        recipe, scale, seed: which run.
        run: all its fields.
        overrides: fields that the command line changed, by dotted name; empty for the recipe as it stands.
        points: validation points, each with step, seconds, tokens, flops and metrics.
        metric: the validation metric that counts; larger_is_better: its direction.
        tests: for each test set its metrics, and the sacreBLEU signature where there is one.
        samples: a few test texts: source, reference, and what the model says.
        parameters: total, trainable and stored_bytes.
        aucc: value, horizon, axis, orientation; time is steps × the median duration of a step.
        seconds: wall-clock of training; cpu_seconds: processor time of the whole process, tests included.
        step_seconds: median duration of a step; test_seconds: wall-clock of testing.
        tokens, flops: totals of training.
        peak_memory: bytes.
        machine, code: where and with which version.
        left_out: training texts that were too long.
        epoch_steps: steps in which the training data were seen once; 0 where the record is older than this field.
        begun_with: checkpoints that tensors were taken from, by name and digest.
        skipping: where backward passes were skipped: in how many steps; operations a token, and the median seconds, of
            a full step and of a skipped one.
        format: version of this layout.
    """

    recipe: str
    scale: str
    seed: int
    run: dict
    overrides: dict
    points: list
    metric: str
    larger_is_better: bool
    tests: dict
    samples: list
    parameters: dict
    aucc: dict
    seconds: float
    cpu_seconds: float
    step_seconds: float
    test_seconds: float
    tokens: int
    flops: float
    peak_memory: int
    machine: dict
    code: dict
    left_out: int = 0
    epoch_steps: float = 0.0
    begun_with: list = field(default_factory=list)
    skipping: dict = field(default_factory=dict)
    format: int = FORMAT

    def write(self, path: Path) -> None:
        """Write the record to `path`, atomically."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"
        atomic_write(
            path,
            lambda file: file.write(text.encode()),
            advice="free some, or set RESERVOIR_RESULTS elsewhere",
        )

    @property
    def scored_by(self) -> str:
        """The metric of the test sets, such as "bleu"; validation may have watched another."""
        metrics = next(iter(self.tests.values()))
        return next(name for name, value in metrics.items() if isinstance(value, float))

    @property
    def score(self) -> float:
        """That metric on the first test set."""
        return next(iter(self.tests.values()))[self.scored_by]

    def deterministic(self) -> dict[str, Any]:
        """The record without its clock fields: the same whenever the run is repeated on one machine."""
        data = {name: value for name, value in asdict(self).items() if name not in (*CLOCK_FIELDS, "aucc")}
        data["skipping"] = {k: v for k, v in self.skipping.items() if k != "seconds"}
        data["points"] = [{k: v for k, v in point.items() if k != "seconds"} for point in self.points]
        return data


def read_record(path: Path) -> Record:
    """Read and validate one record; of a file that has not changed since, the same object again: change nothing in it.

    Raises:
        RecordError: the file is not JSON, lacks a field, or a field has the wrong type.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise RecordError(f"record {path} cannot be read ({error}); delete it and run again") from error
    return _read(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@cache  # the ledger alone asks for twenty thousand
def _read(path: Path, stamp: tuple[int, ...]) -> Record:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"record {path} cannot be read ({error}); delete it and run again") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise RecordError(f"record {path} has no format {FORMAT}; delete it and run again")
    hints = _hints()
    for entry in fields(Record):
        if entry.name not in data:
            if entry.default is MISSING and entry.default_factory is MISSING:
                raise RecordError(f"record {path} lacks {entry.name!r}; delete it and run again")
        elif not _fits(data[entry.name], hints[entry.name]):
            raise RecordError(
                f"record {path}: {entry.name!r} is {type(data[entry.name]).__name__},"
                f" not {hints[entry.name].__name__}; delete it and run again"
            )
    if not data["points"]:
        raise RecordError(f"record {path} has no validation points; delete it and run again")
    for name, keys in KEYS.items():
        for part in data[name] if isinstance(data[name], list) else [data[name]]:
            if not isinstance(part, dict) or not set(keys) <= part.keys():
                raise RecordError(f"record {path}: {name!r} is incomplete; delete it and run again")
    if not all(isinstance(metrics, dict) for metrics in data["tests"].values()):
        raise RecordError(f"record {path}: 'tests' is incomplete; delete it and run again")
    if unknown := data.keys() - {entry.name for entry in fields(Record)}:
        raise RecordError(
            f"record {path} has fields that no version knows: {', '.join(sorted(unknown))}; delete it and run again"
        )
    return Record(**data)


@cache
def _hints() -> dict[str, type]:
    return get_type_hints(Record)


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


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
    found = differences(record.run, run)
    words = [f"{name} {_shown(theirs)} (now {_shown(ours)})" for name, (theirs, ours) in found.items()]
    more = f" and {len(words) - FEW} other fields" if len(words) > FEW else ""
    return ", ".join(words[:FEW]) + more


def _shown(value: Any) -> str:
    return "absent" if value is ABSENT else json.dumps(value, ensure_ascii=False)


def _folders() -> tuple[Path, Path]:
    """Where records lie, the reader's own first.

    Who looks there announces it to audit hooks, so that a page knows which records it depends on, missing ones too.
    """
    return results(), shipped() / "results"


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
        run = registry.get(record.recipe, scale=record.scale, seed=record.seed)
        known = _compared[path] = (record, made, other_fields(record, run))
    return known[2]


_compared: dict[Path, tuple[Record, registry.Recipe, str]] = {}


def frame(recipe: str | None = None, *, scale: str | None = None) -> pd.DataFrame:
    """Records as a table: one line a run and test set.

    The columns: recipe, scale, seed and test set; the metric that counts, and every metric of the test set under its
    own name; parameters in all, trained and stored (bytes); steps, tokens and operations of training; its seconds on
    the wall, processor seconds of the whole run, and bytes of memory at its peak; the area under its curve; on which
    processor or GPU, with how many threads and which torch; and of which version and commit, and whether the checkout
    differed from that (None where there was no checkout).

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
                    **{name: record.machine[name] for name in KEYS["machine"]},
                    **{name: record.code.get(name) for name in ("version", "commit", "dirty")},
                }
            )
    return pd.DataFrame(lines)
