"""A queue of runs in a file: what nobody has recorded is run in order; it can be cut off and edited at any time."""

from __future__ import annotations

import statistics
from pathlib import Path

from msgspec import Struct

from reservoir.datasets.shipped import DataError
from reservoir.training.loop import TrainingError
from reservoir_lab import recipes
from reservoir_lab.launch.console import new_table, show
from reservoir_lab.launch.dry_run import in_hours
from reservoir_lab.launch.train import EXPLAINED, train_runs
from reservoir_lab.runs.audit import precision
from reservoir_lab.runs.building import missing_sources
from reservoir_lab.runs.execution import Busy
from reservoir_lab.runs.records import find_record, find_records, recorded
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.run import Run
from reservoir_lab.typed import decode

REMEDY = "each entry stands under [[runs]] and has recipes, seeds and why; scale is smoke, laptop or full"


class Entry(Struct, forbid_unknown_fields=True):
    """Runs that are wanted, and why; `again` counts a record only if it is known to be of its recipe's precision."""

    recipes: list[str]
    seeds: list[int]
    why: str
    scale: Scale = "laptop"
    again: bool = False


class Queue(Struct, forbid_unknown_fields=True):
    """The content of a queue's file."""

    runs: list[Entry] = []


def read_queue(file: Path, *, scale: Scale | None = None) -> list[tuple[Run, str]]:
    """The runs of a queue that nobody has recorded, in its order, each with the reason why it is wanted.

    What one of them begins with is in front of it if its weights are not here, recorded or not.

    Args:
        file: the queue.
        scale: of all runs, in place of what the file says.

    Raises:
        ValueError: the file is not TOML, or an entry lacks a field or has a wrong one; the sentence says which.
    """
    found: dict[Run, str] = {}
    for run, why, again in all_runs(file, scale=scale):
        record = find_record(run.recipe, scale=run.scale, seed=run.seed)
        if record is None or (again and precision(record) != run.precision):
            for source in missing_sources(run):
                found.setdefault(source, f"{run.recipe} begins with its weights")
            found.setdefault(run, why)
    return list(found.items())


def with_sources(file: Path, *, scale: Scale | None = None) -> list[Run]:
    """The runs of a queue, and after them those that have to be run first, since their weights are not here."""
    listed = [run for run, *_ in all_runs(file, scale=scale)]
    return list(dict.fromkeys([*listed, *(run for run, _ in read_queue(file, scale=scale))]))


def all_runs(file: Path, *, scale: Scale | None = None) -> list[tuple[Run, str, bool]]:
    """All runs of a queue: each with the reason why, and whether a record of unknown precision does not count."""
    entries = decode(file, Queue, remedy=REMEDY).runs
    try:
        return [
            (recipes.get(recipe, scale=scale or entry.scale, seed=seed), entry.why, entry.again)
            for entry in entries
            for name in entry.recipes
            for recipe in recipes.family(name)
            for seed in entry.seeds
        ]
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def seconds_of(run: Run) -> float | None:
    """How long a run takes: the median processor time of its recipe's other seeds; None where there are none."""
    known = [record.cpu_seconds for record in find_records(run.recipe, scale=run.scale)]
    return statistics.median(known) if known else None


def work_through(file: Path, *, dry_run: bool = False) -> None:
    """Run what is left of a queue, one run after another; the file is read again after each.

    Args:
        file: a TOML file with entries `[[runs]]` of recipes, seeds and why; scale may be added, and again, by which a
            record counts only if it is known to be of its recipe's precision.
        dry_run: only say what is left.

    Raises:
        TrainingError: runs failed; the others went on.
    """
    tried: set[Run] = set()
    failed: set[Run] = set()
    busy = 0
    while left := [(run, why) for run, why in read_queue(file) if run not in tried]:
        times = [seconds_of(run) for run, _ in left]
        known = sum(filter(None, times))
        unknown = f", and {times.count(None)} that were never timed" if None in times else ""
        show(f"{len(left)} runs are left: {in_hours(known / 3600)} of processor time{unknown}")
        if dry_run:
            table = new_table("recipe", "scale", "seed", "seconds", "why")
            for (run, why), seconds in zip(left, times, strict=True):
                table.add_row(
                    run.recipe, run.scale, str(run.seed), f"{seconds:,.0f}" if seconds else "-", why
                )
            show(table)
            return
        run = left[0][0]
        tried.add(run)
        try:  # what is recorded and yet left is asked for again, or its weights are; what was cut off goes on
            if all(run != one for one, _ in read_queue(file)):  # another worker has just recorded it
                continue
            train_runs([run], fresh=recorded(run) is not None)
        except Busy as error:  # another worker of this queue has it
            busy += 1
            show(str(error))
        except (*EXPLAINED, DataError, OSError, ValueError) as error:  # the others do not depend on it
            failed.add(run)
            show(f"{run.recipe}, seed {run.seed}, is left out: {error}")
    if failed:
        raise TrainingError(f"nothing is left of {file} but {len(failed)} runs that failed")
    show(f"nothing is left of {file}" + (f" but {busy} runs that others train" if busy else ""))
