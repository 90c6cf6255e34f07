"""Records from the command line: audited, some drawn by a seed or those that are named; and packed to ship."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from reservoir.datasets.shipped import DataError
from reservoir.layers.arguments import check_number
from reservoir_lab.launch.console import new_table, show
from reservoir_lab.launch.progress import automatic
from reservoir_lab.recipes import RECIPES
from reservoir_lab.runs.audit import Audit, audit, key, read_audits, write_audits
from reservoir_lab.runs.checkpoint import CheckpointError
from reservoir_lab.runs.records import Record, RecordError, all_records, pack

PRECISE = 6  # digits of a figure that is shown; all of them are compared


def audit_records(
    names: Sequence[str], *, sample: int, draw: int, points: int, file: Path, again: bool = False
) -> None:
    """Audit records one after another, write each result to `file` at once, and print them all.

    Args:
        names: recipes or families; all recipes if empty.
        sample: how many records are drawn of those; 0 for all.
        draw: the seed of that.
        points: how many validations are compared.
        file: where the results are kept.
        again: audit also what `file` holds, and replace those results; otherwise they are only shown. A precision that
            was found stays known where none is found now.

    Raises:
        ValueError: no record is of a registered recipe of these names, or a number is out of range.
        RecordError: records that were audited now gave other figures in every precision that was tried.
    """
    check_number("--points", points, least=1, whole=True)
    check_number("--sample", sample, least=0, whole=True)
    records = _draw(names, sample, draw)
    known, left_out = read_audits(file), {}
    todo = [record for record in records if again or key(record) not in known]
    different = []
    for number, record in enumerate(todo, start=1):
        name, seconds = key(record), record.points[min(points, len(record.points)) - 1]["seconds"]
        show(f"{number} of {len(todo)}: {name}, which took {seconds:,.0f} s up to there")
        try:
            found = audit(record, points=points, listeners=automatic())
        except (CheckpointError, DataError) as error:  # weights or data that it needs are not here
            left_out[name] = str(error)
            continue
        if found.precision == "neither":
            different.append(name)
        if name not in known or found.precision != "neither":
            known[name] = found
            write_audits(known, file)
    _show(records, known, left_out)
    if different:
        reasons = "code, packages or processor may have changed since"
        raise RecordError(f"{', '.join(different)}: no precision gave the recorded figures; {reasons}")


def pack_records(folder: Path | None) -> None:
    """Put records into the files that ship, those of the results folder if none is named, and print which."""
    show("\n".join(pack(folder)) or "no record is newer than those that ship")


def _draw(names: Sequence[str], sample: int, draw: int) -> list[Record]:
    """As many records of these recipes or families as `sample` says, drawn by the seed `draw`; all if it is 0."""
    found = (record for name in names or [""] for record in all_records(name) if record.recipe in RECIPES)
    records = list({key(record): record for record in found}.values())
    if not records:
        raise ValueError(
            f"there is no record of {' or '.join(names) or 'a recipe'} to audit; `list` shows what is recorded"
        )
    return random.Random(draw).sample(records, min(sample, len(records))) if sample else records


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
