"""The runs that a command line names, with the fields that it changes; training them, and what is shown meanwhile."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

import tyro
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

import reservoir_lab.recipes  # noqa: F401 (enters the recipes)
from reservoir.training.events import (
    Event,
    Finished,
    Listener,
    Message,
    Point,
    Recorded,
    Started,
    Stepped,
    Stopped,
    Validated,
)
from reservoir.training.loop import TrainingError
from reservoir.weights.files import WeightsError
from reservoir_lab.corpora.own import FILES
from reservoir_lab.launch.console import in_one_sentence, new_table, show
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import device_of
from reservoir_lab.runs.distribution import World, join_world
from reservoir_lab.runs.distribution import leave_world as leave_world  # for the command line, when it fails
from reservoir_lab.runs.execution import Busy, begin_afresh, execute
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.own import DEFAULTS, find_run, fitted, kind_of, retargeted
from reservoir_lab.runs.preemption import StopSignal
from reservoir_lab.runs.records import METRICS, Record, RecordError, path_of
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.together import execute_together

MANY = 6
"""Runs of one command, from which on they share a line of progress."""
EXPLAINED = (Busy, CheckpointError, RecordError, TrainingError, WeightsError)


def describe(point: Point) -> str:
    """A validation point in one line."""
    metrics = ", ".join(f"{name} {value:.2f}" for name, value in point.metrics.items())
    return f"step {point.step}: {metrics} after {point.seconds:.0f} s and {point.tokens / 1e6:.2f} M tokens"


class PlainLines:
    """One line every `every` steps and at each validation point: for logs and pipes.

    Args:
        every: steps between lines.
        file: where to; standard error if None, so that a command's output stays its own.
    """

    def __init__(self, *, every: int = 100, file: TextIO | None = None):
        self.every, self.file = every, file

    def __call__(self, event: Event) -> None:
        match event:
            case Started(name=name, step=0, steps=steps, trainable=trainable, total=total):
                self._print(f"{name}: {steps} steps, {trainable:,} of {total:,} parameters move")
            case Started(name=name, step=step, steps=steps):
                self._print(f"{name}: goes on at step {step} of {steps}")
            case Stepped(step=step) if step % self.every == 0:
                self._print(
                    f"step {step}: loss {event.loss:.3f}, rate {event.rate:.2g},"
                    f" {event.tokens / max(event.seconds, 1e-9):,.0f} tokens/s"
                )
            case Validated(point=point):
                self._print(describe(point))
            case Message(text=text) | Recorded(text=text):
                self._print(text)

    def _print(self, line: str) -> None:
        print(line, file=self.file or sys.stderr, flush=True)


class ProgressBar:
    """A progress bar with the current loss, and a line for each validation point, in a terminal.

    Args:
        console: where to; standard error if None.
    """

    def __init__(self, *, console: Console | None = None):
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console or Console(stderr=True),
        )
        self.bar = TaskID(0)

    def __call__(self, event: Event) -> None:
        match event:
            case Started(name=name, step=step, steps=steps):
                self.progress.start()
                self.bar = self.progress.add_task(name, total=steps, completed=step, note="")
            case Stepped(step=step, loss=loss):
                self.progress.update(self.bar, completed=step, note=f"loss {loss:.3f}")
            case Validated(point=point):
                self.progress.console.print(describe(point), highlight=False)
            case Message(text=text) | Recorded(text=text):
                self.progress.console.print(text, highlight=False)
            case Finished() | Stopped():  # a bar that is not stopped leaves the terminal without a cursor
                self.progress.stop()


def shown() -> Listener:
    """What shows a run: a progress bar in a terminal, plain lines elsewhere."""
    return ProgressBar() if sys.stderr.isatty() else PlainLines()


def chosen_runs(
    names: Sequence[str],
    scale: Scale,
    seeds: Sequence[int],
    fields: Sequence[str],
    *,
    data: str = "",
    name: str = "",
    command: str = "run",
) -> list[Run]:
    """A run for each recipe and seed; what is named twice is run once.

    Args:
        names: recipes, families, or runs of one's own.
        scale, seeds: of the runs.
        fields: options that change fields, such as "--optimiser.lr", "1e-3".
        data: a file or folder of one's own; without names its kind says the recipe.
        name: of the run on them.
        command: whose help an error names.

    Raises:
        ValueError: nothing is named, or there is no recipe of a name.
    """
    if data and not names:
        names = (DEFAULTS[kind_of(f"{FILES}{data}")],)
    if name and (not data or len(names) != 1):
        raise ValueError("--name names a run on data of your own: give it with --data and at most one recipe")
    if not names:
        raise ValueError("name a recipe to run, such as transformer/miniature")
    if not seeds:
        raise ValueError("--seeds needs at least one, such as --seeds 0 1 2")
    if any(word.partition("=")[0] == "--seed" for word in fields):
        raise ValueError("seeds are given as --seeds 0 1 2")
    return [
        chosen_run(recipe, scale=scale, seed=seed, fields=fields, data=data, name=name, command=command)
        for recipe in dict.fromkeys(one for given in names for one in registry.family_or_own(given))
        for seed in dict.fromkeys(seeds)
    ]


def chosen_run(
    recipe: str,
    *,
    scale: Scale,
    seed: int = 0,
    fields: Sequence[str] = (),
    data: str = "",
    name: str = "",
    command: str = "run",
) -> Run:
    """The run of a recipe, with the fields that the command line changes.

    Raises:
        UsageError: a field is unknown or its value is not of its type.
        ValueError: there is no such recipe.
    """
    run = find_run(recipe, scale=scale, seed=seed)
    if data:
        run = retargeted(run, data, name=name)
    # The recipe says which kind of task and of model it is: no subcommand chooses another.
    kind = tyro.conf.AvoidSubcommands[Run]
    if fields:
        prog, before = f"reservoir {command} {recipe}", run
        about = (
            "Any of these fields can be changed, but recipe, scale, seed and base;"
            f" `reservoir {command} --help` lists the other options."
        )
        run = in_one_sentence(
            lambda: tyro.cli(kind, default=before, args=list(fields), prog=prog, description=about)
        )
    changed = {
        word.partition("=")[0].removeprefix("--").replace("-", "_") for word in fields if word[:2] == "--"
    }
    return fitted(run, keep=changed) if data else run


def train_runs(runs: Sequence[Run], *, fresh: bool = False, together: bool = False) -> None:
    """Execute runs and print what came of them.

    Args:
        runs: what to run.
        fresh: even those that are recorded; what was cut off goes on all the same.
        together: the seeds of each recipe in one set of products.

    Raises:
        ValueError: a run asks for a device that is not here, or its seeds cannot be trained together.
    """
    for run in runs:
        device_of(run)  # before the first of them is trained
    if together:
        rows: dict[str, list[Run]] = {}
        for run in runs:
            rows.setdefault(run.recipe, []).append(run)
        show_rows(
            train_many({f"{name}, {len(its)} seeds": its for name, its in rows.items()}, execute_together)
        )
        return
    with join_world() as world, StopSignal() as stop:
        if not world.same(([run.to_json() for run in runs], fresh)):
            raise ValueError("the processes were given different commands: give all of them the same")
        with world.first():
            if fresh and world.main:
                begin_afresh(runs)
        if len(runs) < MANY or world.size > 1:
            for run in runs:
                train_one(run, world, stop, fresh=fresh)
            return
        groups = {f"{run.recipe}, seed {run.seed}": [run] for run in runs}
        show_rows(train_many(groups, lambda one: [execute(one[0], fresh=fresh, stop=stop)]))


def train_many(
    groups: Mapping[str, Sequence[Run]], work: Callable[[Sequence[Run]], Sequence[Record | TrainingError]]
) -> list[Record]:
    """Execute runs under one line of progress, which says what the last ones came to.

    In a terminal it also says how long the rest will take if it goes on as so far.

    Args:
        groups: runs that are trained together, or alone, by what they are called.
        work: executes a group.

    Raises:
        TrainingError: all of them diverged; where some did, it is said which.
    """
    records: list[Record] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    quiet = not sys.stderr.isatty()
    ever = 1e9  # seconds: the time left is judged by all that was measured so far
    with Progress(*columns, console=Console(stderr=True), disable=quiet, speed_estimate_period=ever) as bar:
        line = bar.add_task("", total=len(groups))
        for number, (name, runs) in enumerate(groups.items(), start=1):
            found = work(runs)
            for error in (one for one in found if isinstance(one, TrainingError)):
                bar.console.print(str(error), soft_wrap=True)
            its = [one for one in found if isinstance(one, Record)]
            records += its
            mean = f"{statistics.fmean(one.score for one in its):.1f}" if its else "diverged"
            bar.update(line, advance=1, description=f"{name}: {mean}")
            if quiet:
                print(f"{name}: {mean} ({number} of {len(groups)})", file=sys.stderr, flush=True)
    if not records:
        raise TrainingError("every run diverged: try a lower --optimiser.lr")
    return records


def show_rows(records: Sequence[Record]) -> None:
    """Print a line for each recipe: how many runs it has, and the scores over seeds."""
    rows: dict[str, list[float]] = {}
    for record in records:
        rows.setdefault(record.recipe, []).append(record.score)
    table = new_table("recipe", "runs", "mean", "sd", "least", "most")
    for recipe, scores in rows.items():
        spread = f"{statistics.stdev(scores):.2f}" if len(scores) > 1 else "-"
        figures = (f"{value:.2f}" for value in (min(scores), max(scores)))
        table.add_row(recipe, str(len(scores)), f"{statistics.fmean(scores):.2f}", spread, *figures)
    show(table)


def train_one(run: Run, world: World, stop: StopSignal, *, fresh: bool) -> None:
    """Execute one run; the first process prints what happens."""
    if not world.main:
        execute(run, fresh=fresh, stop=stop)
        return
    listener = shown()
    if world.size > 1:
        listener(Message(f"{world.size} processes share every batch"))
    show_record(execute(run, fresh=fresh, listeners=[listener], stop=stop))
    show(f"recorded in {path_of(run)}")


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
        f" {record.cpu_seconds:.0f} s of processor time with validation and tests"
        + (f"; peak memory {record.peak_memory / 1e9:.2f} GB" if record.peak_memory else "")
    )
