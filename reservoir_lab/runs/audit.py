"""Auditing records: a run is begun again, and what it measures first is compared with what was recorded.

The same seed, precision, code and number of threads give the same bits on one kind of processor, so figures that are
equal to the last digit say that the record was made as it claims. A record of format 1 does not say in which precision
it was computed: both are tried, and the one that gives the recorded figures is the one that was used. What was found is
kept in a file next to the records, which are never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import cast, get_args

import torch

from reservoir.datasets import shipped
from reservoir.files import atomic_write
from reservoir.training import Event, Listener, Validated
from reservoir.training.task import Precision
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build, device_of
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.machine import code, machine
from reservoir_lab.runs.records import RESULTS_ADVICE, Record, RecordError
from reservoir_lab.runs.run import Run
from reservoir_lab.typed import decode

FILE = "audits.json"
"""Next to the shipped records: what audits have found, by record."""


@dataclass(frozen=True)
class Audit:
    """What came of beginning a recorded run again.

    Args:
        metric: what was compared.
        recorded: its values at the first validations, as the record has them.
        found: precision -> the same values, measured again.
        precision: the one precision that gave the recorded values; "either" where all did, since the metric is too
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
    """As many validations as were wanted have been seen."""


def audit(record: Record, *, points: int = 1, listeners: Sequence[Listener] = ()) -> Audit:
    """Begin a recorded run again, and compare its first validations with the record.

    Args:
        record: of a registered recipe without overrides.
        points: how many validations to compare; fewer where the run has fewer.
        listeners: called with each event of the training.

    Raises:
        CheckpointError: the run begins with the weights of another, which are not here.
        DataError: its data are not here.
    """
    said = record.run["precision"]
    run = registry.get(record.recipe, scale=cast(registry.Scale, record.scale), seed=record.seed)
    recorded = [float(point["metrics"][record.metric]) for point in record.points[:points]]
    with _threads(record.machine["threads"]):
        found = {
            name: _begun(run.evolve(precision=name), record.metric, len(recorded), listeners)
            for name in ([said] if said in get_args(Precision) else get_args(Precision))
        }
        where = machine(device_of(run))
    same = [name for name, values in found.items() if values == recorded]
    told = same[0] if len(same) == 1 else "either" if same else "neither"
    return Audit(record.metric, recorded, found, told, where, code())


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """As many threads as the record was made with: another number adds up in another order, and rounds differently."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _begun(run: Run, metric: str, points: int, listeners: Sequence[Listener]) -> list[float]:
    """The first validations of a run, which then ends; nothing is written."""
    values: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, Validated):
            values.append(float(event.point.metrics[metric]))
            if len(values) == points:
                raise _Enough

    model, task, _ = build(run)
    try:
        name = f"{run.recipe} ({run.scale}, seed {run.seed}, {run.precision})"
        train_run(run, model, task, name=name, listeners=[*listeners, listen])
    except _Enough:
        pass
    return values


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


def write_audits(found: dict[str, Audit], file: Path) -> None:
    """Write audits to a file, in the order of their records' names, whole or not at all."""
    text = (
        json.dumps({name: asdict(found[name]) for name in sorted(found)}, indent=1, ensure_ascii=False) + "\n"
    )
    atomic_write(file, lambda stream: stream.write(text.encode()), advice=RESULTS_ADVICE)


def precision(record: Record) -> str:
    """In which precision a record was computed: "fp32" or "bf16"; "unknown" where neither it nor an audit says."""
    said = record.run["precision"]
    if said in get_args(Precision):
        return said
    found = _shipped_audits().get(key(record))
    return found.precision if found and found.precision in get_args(Precision) else "unknown"


@cache
def _shipped_audits() -> dict[str, Audit]:
    return read_audits()
