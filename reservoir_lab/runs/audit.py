"""Auditing records: a run is begun again, and its first validation is compared with what was recorded.

The same seed, precision, code and number of threads give the same bits on one kind of processor, so figures that are
equal to the last digit say that the record was made as it claims. A record of format 1 does not say in which precision
it was computed: both are tried, and the one that gives the recorded figure is the one that was used. What was found is
kept in a file next to the records, which are never changed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast, get_args

import torch

from reservoir.datasets import DataError, shipped
from reservoir.files import atomic_write
from reservoir.training import Event, Listener, Validated
from reservoir.training.task import Precision
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build, device_of
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.provenance import code, machine
from reservoir_lab.runs.records import RESULTS_ADVICE, Record, RecordError, all_records
from reservoir_lab.runs.run import Run
from reservoir_lab.typed import decode

FILE = "audits.json"
"""Next to the shipped records: what audits have found, by record."""


@dataclass(frozen=True)
class Audit:
    """What came of beginning a recorded run again.

    Args:
        metric: what was compared.
        recorded: its value at the first validation, as the record has it.
        found: precision -> the same value, measured again.
        precision: the one precision that gave the recorded value; "either" where all did, since the metric is too
            coarse to tell; "neither" where none did, since code, packages or processor have changed.
        machine, code: where and with which version it was measured again.
    """

    metric: str
    recorded: list[float]
    found: dict[str, list[float]]
    precision: str
    machine: dict[str, object] = field(default_factory=dict)
    code: dict[str, object] = field(default_factory=dict)


class _Enough(Exception):
    """The validation that was wanted has been seen."""


def audit(record: Record, *, listeners: Sequence[Listener] = ()) -> Audit:
    """Begin a recorded run again, and compare its first validation with the record.

    Args:
        record: of a registered recipe without overrides.
        listeners: called with each event of the training.

    Raises:
        CheckpointError: the run begins with the weights of another, which are not here.
        DataError: its data are not here.
    """
    precisions = get_args(Precision)
    if record.run["precision"] in precisions:
        precisions = (record.run["precision"],)
    run = registry.get(record.recipe, scale=cast(registry.Scale, record.scale), seed=record.seed)
    recorded = [float(record.points[0]["metrics"][record.metric])]
    with _threads(record.machine["threads"]):
        found = {
            name: [_first_validation(run.evolve(precision=name), record.metric, listeners)]
            for name in precisions
        }
        where = machine(device_of(run))
    same = [name for name, values in found.items() if values == recorded]
    precision = same[0] if len(same) == 1 else "either" if same else "neither"
    return Audit(record.metric, recorded, found, precision, where, code())


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """As many threads as the record was made with: another number adds up in another order, and rounds differently."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _first_validation(run: Run, metric: str, listeners: Sequence[Listener]) -> float:
    """The first validation of a run, which then ends; nothing is written."""
    values: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, Validated):
            values.append(float(event.point.metrics[metric]))
            raise _Enough

    model, task, _ = build(run)
    try:
        name = f"{run.recipe} ({run.scale}, seed {run.seed}, {run.precision})"
        train_run(run, model, task, name=name, listeners=[*listeners, listen])
    except _Enough:
        pass
    return values[0]


def key(record: Record) -> str:
    """What a record is called in the file of audits."""
    return f"{record.recipe}/{record.scale}/seed-{record.seed}"


def read_audits(file: Path | None = None) -> dict[str, Audit]:
    """The audits that a file holds, by record; none where there is no file. By default those of the shipped records."""
    file = file or shipped() / "results" / FILE
    try:
        return decode(file, dict[str, Audit], remedy="delete it, or restore it") if file.exists() else {}
    except ValueError as error:
        raise RecordError(str(error)) from error


def draw(names: Sequence[str], sample: int, seed: int) -> list[Record]:
    """As many records of these recipes or families as `sample` says, drawn by a seed; all if it is 0.

    Raises:
        ValueError: no record is of a registered recipe of these names.
    """
    found = (
        record for name in names or [""] for record in all_records(name) if record.recipe in registry.RECIPES
    )
    records = list({key(record): record for record in found}.values())
    if not records:
        raise ValueError(
            f"there is no record of {' or '.join(names) or 'a recipe'} to audit; `list` shows what is recorded"
        )
    return random.Random(seed).sample(records, min(sample, len(records))) if sample else records


def audit_records(
    records: Sequence[Record], file: Path, *, say: Callable[[str], object], listeners: Sequence[Listener] = ()
) -> None:
    """Audit the records that `file` does not hold yet, writing each result there at once, and say what is known of all.

    Args:
        records: of registered recipes.
        file: where the results are kept.
        say: prints a line.
        listeners: called with each event of the training.

    Raises:
        RecordError: a record that was audited now gave another figure in every precision that was tried.
    """
    known, different, same = read_audits(file), [], 0
    for record in records:
        name = key(record)
        if name not in known:
            say(f"{name}: {record.points[0]['seconds']:,.0f} s to its first validation")
            try:
                known[name] = audit(record, listeners=listeners)
            except (CheckpointError, DataError) as error:  # weights or data that it needs are not here
                say(f"not audited: {name}: {error}")
                continue
            stored = {one: asdict(known[one]) for one in sorted(known)}
            text = json.dumps(stored, indent=1, ensure_ascii=False) + "\n"
            atomic_write(file, text.encode(), advice=RESULTS_ADVICE)
            different += [name] if known[name].precision == "neither" else []
        one = known[name]
        again = ", ".join(f"{value[0]:.6g} in {precision}" for precision, value in one.found.items())
        say(f"{name}: {one.metric} {one.recorded[0]:.6g}, again {again}: same as {one.precision}")
        same += one.precision != "neither"
    say(f"{same} of {len(records)} records begin as they did when they were made")
    if different:
        raise RecordError(
            f"{', '.join(different)}: no precision gave the recorded figure; code, packages or processor may have"
            " changed since"
        )
