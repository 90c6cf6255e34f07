"""A recipe in full: its fields, the parts of its model, its records; and its trained model as a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.pretty import Pretty

from reservoir import recipes
from reservoir.launch.chosen import chosen_run
from reservoir.launch.console import console, new_table, show, show_json
from reservoir.models import from_pretrained
from reservoir.runs.building import outline, tokens_found
from reservoir.runs.export import destination, export, export_stored, folder_of, is_export
from reservoir.runs.named import stored_folder
from reservoir.runs.records import METRICS, Record, find_records
from reservoir.runs.registry import Scale
from reservoir.weights import report

READABLE = 110  # columns of the fields


def show_recipe(name: str, scale: Scale, fields: Sequence[str], *, as_json: bool = False) -> None:
    """Print a recipe or run, with the fields that are changed, the report of its model, and what is recorded."""
    run = chosen_run(name, scale=scale, fields=fields)
    stored = folder_of(run)  # which knows the sizes that came from the data, and needs no data
    if run.base and is_export(stored) and not fields:
        made_of = report(from_pretrained(stored))
    else:
        made_of = report(outline(run, tokens_found(run)))
    records = find_records(name, scale=scale)
    if as_json:
        counts = {"parameters": made_of.counts(), "origins": made_of.origins()}
        show_json({"run": run.to_json(), **counts, "records": [asdict(record) for record in records]})
        return
    console().print(Pretty(run), width=min(READABLE, console().width))
    show(str(made_of))
    for record in records:
        show_record(record)


def show_record(record: Record) -> None:
    """Print the scores and costs of a finished run."""
    show(f"{record.recipe} ({record.scale}, seed {record.seed})")
    table = new_table("test set", METRICS.get(record.scored_by, record.scored_by))
    for name, metrics in record.tests.items():
        table.add_row(name, f"{metrics[record.scored_by]:.2f}")
    show(table)
    if signature := next(iter(record.tests.values())).get("signature"):
        show(str(signature))
    parameters = record.parameters
    show(
        f"{parameters['trainable']:,} of {parameters['total']:,} parameters trained"
        f" in {record.points[-1]['step']:,} steps and {record.seconds:.0f} s;"
        f" {record.cpu_seconds:.0f} s of processor time with validation and tests;"
        f" peak memory {record.peak_memory / 1e9:.2f} GB"
    )


def export_run(name: str, to: str, *, scale: Scale, seed: int) -> None:
    """Write the trained model of a run to a folder.

    Raises:
        ValueError: `to` is none that an export may replace.
        CheckpointError: the run has no trained weights here.
    """
    before = is_export(destination(to))
    if name in recipes.names():
        folder = export(recipes.get(name, scale=scale, seed=seed), to)
    else:
        folder = export_stored(stored_folder(name, scale=scale, seed=seed), to)
    size = sum(file.stat().st_size for file in folder.iterdir())
    show(f"{folder}: {size / 1e6:.2f} MB{', in place of an earlier export' if before else ''}")
