"""The command line: list, show, run, table, export and data.

examples:
  python -m reservoir list
  python -m reservoir show transformer/multi30k
  python -m reservoir run transformer/miniature
  python -m reservoir run transformer/multi30k --scale laptop --seeds 0 1 2
  python -m reservoir run transformer/miniature --optimiser.lr 1e-3 --budget.steps 200
  python -m reservoir table transformer
  python -m reservoir export gpt/wikipedia --to data/weights/gpt-wikipedia
  python -m reservoir data multi30k
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from rich.console import Console
from rich.table import Column, Table

from reservoir.datasets import DataError, fetch, status
from reservoir.experiments import recipes, released
from reservoir.experiments.records import Record, RecordError, find_record
from reservoir.experiments.run import SCALES, Run, Scale
from reservoir.experiments.tables import METRICS
from reservoir.experiments.tables import table as make_table
from reservoir.frozen import freeze, initialise, report
from reservoir.training import CheckpointError, TrainingError
from reservoir.training.listeners import automatic

console = Console()
NOT_SCORES = ("recipe", "seeds", "trained", "of", "steps", "minutes", "on")
FEW = 4  # recipes that stand side by side in a table; more stand below each other
Positional = tyro.conf.Positional


@dataclass(frozen=True)
class List:
    """List every recipe, with the scales that are recorded."""

    def __call__(self, overrides: Sequence[str]) -> None:
        table = Table(Column("recipe", no_wrap=True), "what it is", "recorded")
        for name in recipes.names():
            doc = (recipes.RECIPES[name].__doc__ or "").partition("\n")[0]
            recorded = [scale for scale in SCALES if find_record(name, scale=scale) is not None]
            table.add_row(name, doc, ", ".join(recorded) or "-")
        console.print(table)


@dataclass(frozen=True)
class Show:
    """Show a recipe: its fields, what its model is made of, and what is recorded."""

    recipe: Positional[str]
    """Such as transformer/multi30k."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""

    def __call__(self, overrides: Sequence[str]) -> None:
        run = _override(recipes.get(self.recipe, scale=self.scale), overrides)
        console.print(run)
        with torch.device("meta"):  # sizes need no memory
            model = run.task.fit(run.model, run.task.vocabulary).build()
        console.print(
            str(report(freeze(initialise(model, seed=run.seed), run.freeze))), highlight=False, soft_wrap=True
        )
        for seed in range(3):
            if record := find_record(self.recipe, scale=self.scale, seed=seed):
                _print_record(record)


@dataclass(frozen=True)
class RunCommand:
    """Train, test and record. Any field of the run can be changed: --optimiser.lr 1e-3 --budget.steps 200."""

    names: Positional[tuple[str, ...]]
    """Recipes, or families such as transformer."""
    scale: Scale = "laptop"
    """smoke: seconds; laptop: minutes on one core; full: the papers' sizes, on GPUs."""
    seeds: tuple[int, ...] = (0,)
    """One run for each."""
    fresh: bool = False
    """Run again what is recorded, from the start."""
    tensorboard: str | None = None
    """Folder for TensorBoard's logs as well."""

    def __call__(self, overrides: Sequence[str]) -> None:
        if not self.names:
            raise ValueError("name a recipe to run, such as transformer/miniature")
        if not self.seeds:
            raise ValueError("--seeds needs at least one, such as --seeds 0 1 2")
        if "seed" in "".join(
            option.partition("=")[0].strip("-") for option in overrides if option.startswith("--")
        ):
            raise ValueError("seeds are given as --seeds 0 1 2")
        chosen = [name for given in self.names for name in recipes.family(given)]
        runs = [
            _override(recipes.get(name, scale=self.scale, seed=seed), overrides)
            for name in chosen
            for seed in self.seeds
        ]
        for run in runs:
            path = run.path()
            if run.finished() and not self.fresh:
                console.print(f"{path} is there already; --fresh runs again", highlight=False)
            record = run(fresh=self.fresh, listeners=automatic(tensorboard=self.tensorboard))
            _print_record(record)
            console.print(f"recorded in {path}", highlight=False)


@dataclass(frozen=True)
class TableCommand:
    """Print a table of recorded runs: means over seeds, with their spread."""

    name: Positional[str]
    """A family of recipes, such as transformer, or one recipe."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""

    def __call__(self, overrides: Sequence[str]) -> None:
        frame = make_table(self.name, scale=self.scale)
        if len(frame) > FEW:  # the first test set alone: what is left out, a record and `frame()` have
            scores = [name for name in frame.columns if name not in NOT_SCORES]
            table = Table("recipe", "seeds", *scores[:1], "trained", "minutes")
            for _, row in frame.iterrows():
                name = row["recipe"].removeprefix(f"{self.name}/")
                table.add_row(name, row["seeds"], *(row[score] for score in scores[:1]), *_trained(row))
        else:  # one column a recipe: there are more measures than a terminal is wide
            table = Table("")
            for _, row in frame.iterrows():
                table.add_column(row["recipe"], overflow="fold")
            for measure in frame.columns.drop("recipe"):
                table.add_row(measure, *(str(cell) for cell in frame[measure]))
        console.print(table)


@dataclass(frozen=True)
class Export:
    """Write the language model of a finished run to a folder that stands alone, in half precision."""

    recipe: Positional[str]
    """Such as gpt/wikipedia."""
    to: Path
    """The folder; one that is there is replaced."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""
    seed: int = 0
    """Of the run."""

    def __call__(self, overrides: Sequence[str]) -> None:
        folder = released.export(self.recipe, to=self.to, scale=self.scale, seed=self.seed)
        size = sum(file.stat().st_size for file in folder.iterdir())
        console.print(f"{folder}: {size / 1e6:.2f} MB", highlight=False)


@dataclass(frozen=True)
class Data:
    """List the datasets and where they are, or fetch some."""

    names: Positional[tuple[str, ...]] = ()
    """Datasets to fetch; none lists all."""

    def __call__(self, overrides: Sequence[str]) -> None:
        for name in self.names:
            console.print(f"{name}: {fetch(name)}", highlight=False)
        if not self.names:
            table = Table("dataset", "state", "MB", "licence", "for")
            for row in status():
                size = f"{row.bytes / 1e6:.1f}" if row.bytes else "-"
                table.add_row(row.name, row.state, size, row.licence, row.purpose)
            console.print(table)


Command = (
    Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Show, tyro.conf.subcommand("show")]
    | Annotated[RunCommand, tyro.conf.subcommand("run")]
    | Annotated[TableCommand, tyro.conf.subcommand("table")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Data, tyro.conf.subcommand("data")]
)
TAKES_FIELDS = (Show, RunCommand)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 1 for a failure explained in one sentence, 2 for a typing error."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command, rest = tyro.cli(
        Command, prog="python -m reservoir", description=__doc__, args=arguments, return_unknown_args=True
    )
    if rest and not isinstance(command, TAKES_FIELDS):
        return _fail(f"unknown argument {rest[0]!r}; see python -m reservoir --help", status=2)
    stopped = "stopped"
    if isinstance(command, RunCommand):
        again = "the same command without --fresh" if command.fresh else "the same command"
        stopped += f"; {again} goes on from the last checkpoint"
    return _explained(lambda: command(rest), stopped=stopped)


def _explained(work: Callable[[], None], *, stopped: str) -> int:
    try:
        work()
    except (DataError, RecordError, CheckpointError, TrainingError, OSError, ValueError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail(stopped, status=130)
    return 0


def _fail(message: str, *, status: int = 1) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def _override(run: Run, overrides: Sequence[str]) -> Run:
    """The run with the fields that the command line changes; tyro checks their types and exits with status 2."""
    if not overrides:
        return run
    # The recipe says which kind of task and of model it is: no subcommand chooses another.
    kind = tyro.conf.AvoidSubcommands[Run]
    return tyro.cli(kind, default=run, args=list(overrides), prog=f"python -m reservoir run {run.recipe}")


def _trained(row: Mapping[str, str]) -> tuple[str, str]:
    """The share of the parameters that was trained, and the minutes; nothing of a recipe that was not run."""
    if not row.get("of"):
        return "", ""
    trained, total = (int(row[name].replace(",", "")) for name in ("trained", "of"))
    return f"{trained / total:.1%}", row["minutes"]


def _print_record(record: Record) -> None:
    console.print(f"{record.recipe} ({record.scale}, seed {record.seed})", highlight=False)
    table = Table("test set", METRICS.get(record.scored_by, record.scored_by))
    for name, metrics in record.tests.items():
        table.add_row(name, f"{metrics[record.scored_by]:.2f}")
    console.print(table)
    if signature := next(iter(record.tests.values())).get("signature"):
        console.print(signature, highlight=False, soft_wrap=True)
    parameters = record.parameters
    console.print(
        f"{parameters['trainable']:,} of {parameters['total']:,} parameters trained"
        f" in {record.points[-1]['step']:,} steps and {record.seconds:.0f} s;"
        f" {record.cpu_seconds:.0f} s of processor time with validation and tests;"
        f" peak memory {record.peak_memory / 1e9:.2f} GB",
        highlight=False,
    )
