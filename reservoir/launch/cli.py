"""The command line: list, show, run, submit, table, export and data.

examples:
  python -m reservoir list
  python -m reservoir list components
  python -m reservoir show transformer/multi30k
  python -m reservoir run transformer/miniature
  python -m reservoir run transformer/multi30k --scale laptop --seeds 0 1 2
  python -m reservoir run transformer/miniature --optimiser.lr 1e-3 --budget.steps 200
  python -m reservoir run components --scale full --dry-run --gpu h100 --price 2.20
  torchrun --nproc-per-node 8 --max-restarts 3 -m reservoir run components/baseline --scale full
  python -m reservoir submit components narrow --scale full --seeds 0 1 2 --gpus 8 --hours 12
  python -m reservoir table transformer
  python -m reservoir table poster/big
  python -m reservoir export gpt/wikipedia --to data/weights/gpt-wikipedia
  python -m reservoir export seeds/miniature --to data/models/miniature
  python -m reservoir data multi30k
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from reservoir import recipes
from reservoir.datasets import DataError, fetch, status
from reservoir.evidence import sources
from reservoir.evidence.source_recipes import COMPARISONS
from reservoir.evidence.tables import table as make_table
from reservoir.launch.dry_run import On, dry_run
from reservoir.launch.submit import Cluster, Job, Resources, executor, submit
from reservoir.runs.building import outline
from reservoir.runs.execution import execute
from reservoir.runs.export import destination, export, is_export
from reservoir.runs.records import (
    METRICS,
    Record,
    RecordError,
    find_record,
    find_records,
    finished,
    path_of,
    results,
)
from reservoir.runs.registry import SCALES, Scale
from reservoir.runs.run import Run
from reservoir.training import EXIT_STATUS, CheckpointError, Message, Preempted, StopSignal, TrainingError
from reservoir.training.distribution import World, join_world, leave_world
from reservoir.training.listeners import automatic
from reservoir.training.preemption import restarted
from reservoir.weights import report

console = Console()
NOT_SCORES = ("recipe", "seeds", "trained", "of", "steps", "minutes", "on")
FEW = 4  # recipes that stand side by side in a table; more stand below each other
Positional = tyro.conf.Positional


@dataclass(frozen=True)
class List:
    """List the families of recipes; of those that are named, every recipe with the scales that are recorded."""

    families: Positional[tuple[str, ...]] = ()
    """Such as components, or universal/digits."""

    def __call__(self, overrides: Sequence[str]) -> None:
        if not self.families:
            _print_families()
            return
        table = Table("recipe", "what it is", "recorded")
        for name in (recipe for family in self.families for recipe in recipes.family(family)):
            recorded = [scale for scale in SCALES if find_record(name, scale=scale) is not None]
            table.add_row(name, _first_line(recipes.RECIPES[name]), ", ".join(recorded) or "-")
        console.print(table)


def _print_families() -> None:
    """One line a family: where it belongs, how many recipes it has, how many of them are recorded."""
    numbers = (Column(name, justify="right") for name in ("recipes", "recorded"))
    table = Table("family", "what it is", *numbers)
    for family in dict.fromkeys(name.partition("/")[0] for name in recipes.names()):
        members = recipes.family(family)
        recorded = sum(any(find_records(name, scale=scale) for scale in SCALES) for name in members)
        about = _first_line(sys.modules[recipes.RECIPES[members[0]].__module__])
        table.add_row(family, about, str(len(members)), str(recorded))
    console.print(table)
    console.print("python -m reservoir list FAMILY lists its recipes", highlight=False)


def _first_line(what: object) -> str:
    return (what.__doc__ or "").strip().partition("\n")[0]


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
        console.print(str(report(outline(run))), highlight=False, soft_wrap=True)
        for seed in range(3):
            if record := find_record(self.recipe, scale=self.scale, seed=seed):
                _print_record(record)


@dataclass(frozen=True)
class RunCommand:
    """Train, test and record. Any field of the run can be changed: --optimiser.lr 1e-3 --budget.steps 200.

    SIGTERM and SIGUSR1 end a run after the step under way, with a checkpoint and exit status 75; the same command goes
    on from there. Under torchrun the processes share every batch, so the tokens of a step stay what they are.

    examples:
      python -m reservoir run transformer/multi30k --seeds 0 1 2
      python -m reservoir run components/baseline --scale full --dry-run --gpu h200 --gpus 8 --measure
      python -m reservoir run components/baseline --scale full --compiled
      torchrun --nproc-per-node 8 --max-restarts 3 -m reservoir run components/baseline --scale full
    """

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
    dry_run: bool = False
    """Train nothing: say what the runs would take of data, operations, memory, hours and money."""
    gpu: str = On.name
    """Of a dry run: h200, h100, a100, l4, rtx4090 or t4."""
    gpus: int = On.gpus
    """Of a dry run: how many GPUs share each batch."""
    price: float | None = On.price
    """Of a dry run: dollars for an hour of one GPU, instead of an assumption."""
    measure: bool = False
    """Of a dry run: take a few real steps first, of the laptop scale where the full one has no GPU here."""

    def __call__(self, overrides: Sequence[str]) -> None:
        runs = _chosen(self.names, self.scale, self.seeds, overrides)
        on = On(self.gpu, self.gpus, self.price)
        if self.dry_run:
            dry_run(runs, on, measured=self.measure, console=console)
            return
        if self.measure:
            raise ValueError("--measure belongs to a dry run; add --dry-run, or leave it out")
        fresh = self.fresh and not restarted()
        with join_world() as world, StopSignal() as watch:
            for run in runs:
                carry_out(run, world, watch, fresh=fresh, tensorboard=self.tensorboard)


def carry_out(
    run: Run, world: World, watch: StopSignal, *, fresh: bool = False, tensorboard: str | None = None
) -> None:
    """Run `run`, and show what happens, where this is the process that speaks."""
    path = path_of(run)
    if not world.main:
        execute(run, fresh=fresh, stop=watch)
        return
    if finished(run) and not fresh:
        console.print(f"{path} is there already; --fresh runs again", highlight=False)
    listeners = automatic(tensorboard=tensorboard)
    if world.size > 1:
        for listener in listeners:
            listener(Message(f"{world.size} processes share every batch"))
    record = execute(run, fresh=fresh, listeners=listeners, stop=watch)
    _print_record(record)
    console.print(f"recorded in {path}", highlight=False)


@dataclass(frozen=True)
class Submit:
    """Submit runs as jobs to SLURM, one for each recipe and seed, or run them as processes of this machine.

    A job whose time is nearly up writes a checkpoint, goes back into the queue, and goes on from there. What is
    recorded already is left out. Any field of the runs can be changed, as with `run`.

    examples:
      python -m reservoir submit components --scale full --seeds 0 1 2 --gpus 8 --hours 12 --partition gpu
      python -m reservoir submit transformer/miniature --seeds 0 1 --cluster local --gpus 0
    """

    names: Positional[tuple[str, ...]]
    """Recipes, or families such as components."""
    scale: Scale = "full"
    """smoke, laptop or full."""
    seeds: tuple[int, ...] = (0,)
    """One job for each."""
    fresh: bool = False
    """Run again what is recorded, from the start."""
    cluster: Cluster = "auto"
    """slurm; local: processes of this machine; auto: SLURM where there is one."""
    folder: str = ""
    """For the jobs' logs; by default `jobs` in the results folder, which all nodes must share."""
    resources: tyro.conf.OmitArgPrefixes[Resources] = field(default_factory=Resources)

    def __call__(self, overrides: Sequence[str]) -> None:
        runs = _chosen(self.names, self.scale, self.seeds, overrides)
        jobs = [Job(run, self.fresh) for run in runs if self.fresh or not finished(run)]
        if len(jobs) < len(runs):
            console.print(
                f"{len(runs) - len(jobs)} of {len(runs)} are recorded already; --fresh runs them again"
            )
        if not jobs:
            return
        folder = Path(self.folder) if self.folder else results() / "jobs"
        queue = executor(self.cluster, self.resources, folder.resolve() / "%j", name="reservoir")
        failed = 0
        for job, submitted in zip(
            jobs, submit(jobs, queue, parallel=self.resources.parallel, gpus=self.resources.gpus), strict=True
        ):
            where = f"{submitted.paths.stderr}"
            words = "submitted"
            if queue.cluster == "local":
                wrong = submitted.exception()
                failed += wrong is not None
                words = "ended" if wrong is None else f"failed ({str(wrong).strip().splitlines()[-1]})"
            run = job.run
            line = f"job {submitted.job_id}: {run.recipe} ({run.scale}, seed {run.seed}) {words}; log {where}"
            console.print(line, highlight=False, soft_wrap=True)
        if failed:
            raise TrainingError(f"{failed} of {len(jobs)} jobs failed; their logs say why")


@dataclass(frozen=True)
class TableCommand:
    """Print a table of recorded runs, or a source's table with ours beside it: means over seeds, with their spread.

    examples:
      python -m reservoir table components
      python -m reservoir table poster/big
      python -m reservoir table one-layer --scale full
    """

    name: Positional[str]
    """A family of recipes, such as transformer, or one recipe; or a source, such as poster, or one of its tables."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""

    def __call__(self, overrides: Sequence[str]) -> None:
        if self.name.partition("/")[0] in sources.names():
            for where in _tables_of(self.name):
                _print_beside(where, self.scale)
            return
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


def _tables_of(name: str) -> list[str]:
    """A source's tables, or the one of that name."""
    if "/" in name:
        return [sources.table(name).where]
    found = [table.where for table in sources.source(name).tables.values()]
    if not found:
        raise ValueError(f"no table of {name} is quoted here; its claims are, in appendix A")
    return found


def _print_beside(where: str, scale: Scale) -> None:
    """A table of a source, and ours beside it."""
    quoted, frame = sources.table(where), COMPARISONS[where].frame(scale)
    about = f"{quoted.note} [{quoted.kind}]: {sources.QUOTE_KINDS[quoted.kind]}."
    about += " Ours: mean ± standard deviation over seeds"
    for name in ("scale", "machine"):  # a column for what is the same in every row would be a waste
        values = set(frame[name]) - {""}
        if len(values) < 2:
            about += "".join(f", {name} {value}" for value in values)
            frame = frame.drop(columns=name)
    families = {name.partition("/")[0] for name in frame["recipe"] if "/" in name and " " not in name}
    if len(families) == 1:  # said once, below
        about += f". Recipes of {(family := families.pop())}/"
        frame["recipe"] = frame["recipe"].str.removeprefix(f"{family}/")
    table = Table(
        title=escape(": ".join(filter(None, (quoted.source, quoted.title)))),
        caption=escape(about.strip()),
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in frame:
        ours = name == "recipe" or name.startswith("ours")
        shown = name.removesuffix(f" [{quoted.kind}]")  # the mark stands below
        table.add_column(escape(shown), overflow="fold", style="bold" if ours else None)
    for cells in frame.itertuples(index=False):
        table.add_row(*map(escape, cells))
    console.print(table)


@dataclass(frozen=True)
class Export:
    """Write the model of a finished run to a folder that stands alone.

    Seeds, bits and what was trained, to the last bit; the weights of a language model in half precision.
    """

    recipe: Positional[str]
    """Such as seeds/miniature or gpt/wikipedia."""
    to: Path
    """The folder: missing, empty, or an earlier export, which is replaced."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""
    seed: int = 0
    """Of the run."""

    def __call__(self, overrides: Sequence[str]) -> None:
        if is_export(destination(self.to)):
            console.print(f"{self.to} holds an earlier export, which is replaced", highlight=False)
        folder = export(recipes.get(self.recipe, scale=self.scale, seed=self.seed), self.to)
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
    | Annotated[Submit, tyro.conf.subcommand("submit")]
    | Annotated[TableCommand, tyro.conf.subcommand("table")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Data, tyro.conf.subcommand("data")]
)
TAKES_FIELDS = (Show, RunCommand, Submit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 1 for a failure explained in one sentence, 2 for a typing error,
    75 (EX_TEMPFAIL) where a signal asked a run to stop and the same command goes on."""
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
    status = _explained(lambda: command(rest), stopped=stopped)
    leave_world(status)
    return status


def _explained(work: Callable[[], None], *, stopped: str) -> int:
    try:
        work()
    except (DataError, RecordError, CheckpointError, TrainingError, OSError, ValueError) as error:
        return _fail(str(error))
    except Preempted as asked:
        return _fail(
            f"{asked}; {stopped.partition('; ')[2] or 'the same command goes on'}", status=EXIT_STATUS
        )
    except KeyboardInterrupt:
        return _fail(stopped, status=130)
    return 0


def _fail(message: str, *, status: int = 1) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def _chosen(names: Sequence[str], scale: Scale, seeds: Sequence[int], overrides: Sequence[str]) -> list[Run]:
    """A run for each recipe and seed, with the fields that the command line changes."""
    if not names:
        raise ValueError("name a recipe to run, such as transformer/miniature")
    if not seeds:
        raise ValueError("--seeds needs at least one, such as --seeds 0 1 2")
    if "seed" in "".join(
        option.partition("=")[0].strip("-") for option in overrides if option.startswith("--")
    ):
        raise ValueError("seeds are given as --seeds 0 1 2")
    chosen = [name for given in names for name in recipes.family(given)]
    return [
        _override(recipes.get(name, scale=scale, seed=seed), overrides) for name in chosen for seed in seeds
    ]


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
