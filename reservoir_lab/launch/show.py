"""What a terminal shows: a recipe in full, recorded runs in a table, and the sources' tables next to ours."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.pretty import Pretty
from rich.text import Text

from reservoir.models import from_pretrained
from reservoir.models.pretrained import is_stored
from reservoir.weights import report
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.evidence.comparison import table as recorded_runs
from reservoir_lab.launch.console import console, new_table, show, show_json
from reservoir_lab.launch.train import chosen_run, show_record
from reservoir_lab.runs.building import folder_of, outline, tokens_found
from reservoir_lab.runs.records import find_records, ship_records
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.stored import destination, export, export_stored, stored_folder

READABLE = 100  # columns of the fields
NOT_SCORES = ("recipe", "seeds", "trained", "of", "steps", "minutes", "on")
FEW = 4  # recipes that stand side by side in a table; more stand below each other


def show_recipe(name: str, scale: Scale, changes: Sequence[str], *, as_json: bool = False) -> None:
    """Print a recipe or run, with the fields that are changed, the report of its model, and what is recorded."""
    run = chosen_run(name, scale=scale, fields=changes, command="show")
    stored = folder_of(run)  # which knows the sizes that came from the data, and needs no data
    if run.base and is_stored(stored) and not changes:
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


def export_run(name: str, to: str, *, scale: Scale, seed: int) -> None:
    """Write the trained model of a run to a folder.

    Raises:
        ValueError: `to` is none that an export may replace.
        CheckpointError: the run has no trained weights here.
    """
    before = is_stored(destination(to))
    if name in recipes.names():
        folder = export(recipes.get(name, scale=scale, seed=seed), to)
    else:
        folder = export_stored(stored_folder(name, scale=scale, seed=seed), to)
    size = sum(file.stat().st_size for file in folder.iterdir())
    show(f"{folder}: {size / 1e6:.2f} MB{', in place of an earlier export' if before else ''}")


def show_table(name: str, scale: Scale, *, as_json: bool = False) -> None:
    """Print the recorded runs of a family or recipe, or the tables of a source next to ours.

    Raises:
        ValueError: neither a recipe nor a table has that name.
    """
    if name.partition("/")[0] in sources.names():
        tables = _tables_of(name)
        if as_json:
            show_json({where: comparisons()[where].frame(scale).to_dict("records") for where in tables})
            return
        for where in tables:
            _show_comparison(where, scale)
        return
    frame = recorded_runs(name, scale=scale)
    if as_json:
        show_json(frame.to_dict("records"))
        return
    if len(frame) > FEW:  # the first test set alone: `reservoir_lab.runs.frame` has the others
        scores = [column for column in frame.columns if column not in NOT_SCORES][:1]
        table = new_table("recipe", "seeds", *scores, "trained", "minutes")
        for row in frame.to_dict("records"):
            short = row["recipe"].removeprefix(f"{name}/")
            table.add_row(short, row["seeds"], *(row[score] for score in scores), *_trained_and_minutes(row))
    else:  # a column per recipe: there are more measures than a terminal is wide
        table = new_table("", *frame["recipe"])
        for measure in frame.columns.drop("recipe"):
            table.add_row(measure, *(str(cell) for cell in frame[measure]))
    show(table)


def _trained_and_minutes(row: Mapping[Hashable, str]) -> tuple[str, str]:
    """The share of the parameters that was trained, and the minutes; nothing for a recipe that was not run."""
    if not row.get("of"):
        return "", ""
    trained, total = (int(row[name].replace(",", "")) for name in ("trained", "of"))
    return f"{trained / total:.1%}", row["minutes"]


def _tables_of(name: str) -> list[str]:
    """A source's tables, or the one of that name."""
    if "/" in name:
        return [sources.table(name).where]
    found = [table.where for table in sources.source(name).tables.values()]
    if not found:
        raise ValueError(f"no table of {name} is quoted here; its claims are, in appendix A")
    return found


def _show_comparison(where: str, scale: Scale) -> None:
    """Print a table of a source with ours next to it."""
    quoted, frame = sources.table(where), comparisons()[where].frame(scale)
    about = f"{quoted.note} [{quoted.kind}]: {sources.QUOTE_KINDS[quoted.kind]}."
    about += " Ours: mean ± standard deviation over seeds"
    for name in ("scale", "machine"):  # what is the same in every row needs no column
        values = set(frame[name]) - {""}
        if len(values) < 2:
            about += "".join(f", {name} {value}" for value in values)
            frame = frame.drop(columns=name)
    families = {name.partition("/")[0] for name in frame["recipe"] if "/" in name and " " not in name}
    if len(families) == 1:  # said once, below the table
        about += f". Recipes of {(family := families.pop())}/"
        frame["recipe"] = frame["recipe"].str.removeprefix(f"{family}/")
    table = new_table(
        *(
            name.removesuffix(f" [{quoted.kind}]") for name in frame.columns
        ),  # the mark stands below the table
        title=": ".join(filter(None, (quoted.source, quoted.title))),
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column, name in zip(table.columns, frame.columns, strict=True):
        column.style = "bold" if name == "recipe" or name.startswith("ours") else ""
    for cells in frame.itertuples(index=False):
        table.add_row(*cells)
    show(table, Text(about.strip(), style="italic"))


def ship(folder: Path | None) -> None:
    """Put the records in a folder, by default the results folder, into the files that ship, and print which."""
    show("\n".join(ship_records(folder)) or "no record is newer than those that ship")
