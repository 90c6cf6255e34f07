"""A recipe in full: its fields, the parts of its model, its records; and its trained model as a folder."""

from __future__ import annotations

from collections.abc import Sequence

from rich.pretty import Pretty

from reservoir import recipes
from reservoir.launch.chosen import chosen_run
from reservoir.launch.console import console, new_table, show
from reservoir.runs.building import outline
from reservoir.runs.export import destination, export, is_export
from reservoir.runs.records import METRICS, Record, find_records
from reservoir.runs.registry import Scale
from reservoir.weights import report

READABLE = 110  # columns of the fields


def show_recipe(name: str, scale: Scale, fields: Sequence[str]) -> None:
    """Print a recipe, with the fields that are changed, the report of its model, and what is recorded."""
    run = chosen_run(name, scale=scale, fields=fields)
    console().print(Pretty(run), width=min(READABLE, console().width))
    show(str(report(outline(run))))
    for record in find_records(name, scale=scale):
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
    run = recipes.get(name, scale=scale, seed=seed)
    before = is_export(destination(to))
    folder = export(run, to)
    size = sum(file.stat().st_size for file in folder.iterdir())
    show(f"{folder}: {size / 1e6:.2f} MB{', in place of an earlier export' if before else ''}")
