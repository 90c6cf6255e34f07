"""Auditing records from the command line: some drawn by a seed, or those that are named, each of them once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from reservoir.datasets.errors import DataError
from reservoir.launch.console import new_table, show
from reservoir.layers.arguments import check_number
from reservoir.recipes import RECIPES
from reservoir.runs.audit import Audit, audit, key, read_audits, write_audits
from reservoir.runs.records import Record, all_records
from reservoir.training.checkpoint import CheckpointError
from reservoir.training.events import automatic

PRECISE = 6  # digits of a figure that is shown; all of them are compared


def audit_records(names: Sequence[str], *, sample: int, draw: int, points: int, file: Path) -> None:
    """Audit records one after another, write each result to `file` at once, and print them all.

    Args:
        names: recipes or families; all recipes if empty.
        sample: how many records are drawn of those; 0 for all.
        draw: the seed of that.
        points: how many validations are compared.
        file: where the results are kept; what it holds is not audited again.

    Raises:
        ValueError: no record is of a registered recipe of these names, or a number is out of range.
    """
    check_number("--points", points, least=1, whole=True)
    check_number("--sample", sample, least=0, whole=True)
    found = (record for name in names or [""] for record in all_records(name) if record.recipe in RECIPES)
    records = list({key(record): record for record in found}.values())
    if not records:
        raise ValueError(
            f"there is no record of {' or '.join(names) or 'a recipe'} to audit; `list` shows what is recorded"
        )
    if sample:
        records = random.Random(draw).sample(records, min(sample, len(records)))
    known, left_out = read_audits(file), {}
    missing = [record for record in records if key(record) not in known]
    for number, record in enumerate(missing, start=1):
        seconds = record.points[min(points, len(record.points)) - 1]["seconds"]
        show(f"{number} of {len(missing)}: {key(record)}, which took {seconds:,.0f} s up to there")
        try:
            known[key(record)] = audit(record, points=points, listeners=automatic())
        except (CheckpointError, DataError) as error:  # weights or data that it needs are not here
            left_out[key(record)] = str(error)
            continue
        write_audits(known, file)
    _show(records, known, left_out)


def _show(records: Sequence[Record], known: dict[str, Audit], left_out: dict[str, str]) -> None:
    table = new_table("record", "metric", "recorded", "fp32", "bf16", "same as")
    done = [(key(record), known[key(record)]) for record in records if key(record) in known]
    for name, found in done:
        figures = (found.recorded, found.found.get("fp32", []), found.found.get("bf16", []))
        texts = (" ".join(f"{value:.{PRECISE}g}" for value in values) or "-" for values in figures)
        table.add_row(name, found.metric, *texts, found.precision)
    show(table)
    same = sum(found.precision != "neither" for _, found in done)
    show(f"{same} of {len(done)} records begin as they did when they were made")
    for name, why in left_out.items():
        show(f"not audited: {name}: {why}")
