"""What a run measures again whenever it is repeated on one machine."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from reservoir.files import atomic_write
from reservoir_lab.runs.records import RESULTS_ADVICE, Record

CLOCKS = (
    "seconds",
    "cpu_seconds",
    "step_seconds",
    "peak_memory",
    "machine",
    "code",
    "test_seconds",
    "aucc",
    "date",
)
"""What may differ between two runs with the same seed."""


def write(record: Record, path: Path) -> None:
    """Write a record's file, as `execute` does."""
    atomic_write(path, record.to_bytes(path), advice=RESULTS_ADVICE)


def deterministic(record: Record) -> dict[str, Any]:
    """A record without what clocks and machines say."""
    data = {name: value for name, value in asdict(record).items() if name not in CLOCKS}
    data["skipping"] = {name: value for name, value in record.skipping.items() if name != "seconds"}
    data["points"] = [
        {name: value for name, value in point.items() if name != "seconds"} for point in record.points
    ]
    return data
