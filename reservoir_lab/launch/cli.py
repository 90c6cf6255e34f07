"""The command line of the library: recipes and data of your own, trained, shown, and their models used.

examples:
  reservoir list
  reservoir list components
  reservoir show transformer/multi30k
  reservoir run transformer/miniature
  reservoir run transformer/multi30k --scale laptop --seeds 0 1 2
  reservoir run transformer/miniature --optimiser.lr 1e-3 --budget.steps 200
  reservoir run components --scale full --dry-run --gpu h100 --price 2.20
  torchrun --nproc-per-node 8 --max-restarts 3 -m reservoir_lab run components/baseline --scale full
  reservoir submit components narrow --scale full --seeds 0 1 2 --gpus 8 --hours 12
  reservoir table transformer
  reservoir table poster/big
  reservoir export seeds/miniature --to my-translator
  reservoir data multi30k
  reservoir records
  reservoir run --data it-en --task.src it
  reservoir translate it-en "tre due uno"
  reservoir check handed-in.ipynb

The page "Use it on your own data" (reference/own-data.md) has a command and its output for each kind of data.

exit status:
  0   done
  1   it failed, and the last line says why
  2   the command line cannot be understood
  75  a signal asked the run to stop: the same command continues from the checkpoint
  130 interrupted with Ctrl-C
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Union

import tyro
from rich.console import Console
from rich.progress import track

from reservoir.datasets.shipped import DataError
from reservoir_lab import corpora, launch, runs
from reservoir_lab.launch.console import (
    UsageError,
    in_one_sentence,
    list_recipes,
    new_table,
    printable,
    show,
    show_json,
)
from reservoir_lab.runs.preemption import EXIT_STATUS, Preempted
from reservoir_lab.runs.registry import Scale
from reservoir_lab.typed import hint


@dataclass(frozen=True)
class List:
    """List the families of recipes and your own runs, or every recipe of some families with the scales recorded.

    examples:
      reservoir list
      reservoir list components universal/digits
      reservoir list it-en --json

    Args:
        families: Such as components, or universal/digits, or the name of a run of yours.
        json: Print JSON.
    """

    families: tyro.conf.Positional[tuple[str, ...]] = ()
    json: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        list_recipes(self.families, as_json=self.json)


@dataclass(frozen=True)
class Show:
    """Show a recipe or a run of yours: its fields, the parts of its model, and its records.

    Any field can be changed, to see what that does to the model. `show RECIPE --help` lists the fields.

    examples:
      reservoir show transformer/multi30k
      reservoir show transformer/multi30k --freeze.attention --model.d-model 256

    Args:
        recipe: Such as transformer/multi30k, or the name of a run of yours.
        scale: smoke, laptop or full.
        json: Print JSON.
    """

    recipe: tyro.conf.Positional[str]
    scale: Scale = "laptop"
    json: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        launch.show.show_recipe(self.recipe, self.scale, fields, as_json=self.json)


@dataclass(frozen=True)
class Run:
    """Train, test and record. Any field of the run can be changed: --optimiser.lr 1e-3 --budget.steps 200.

    `run RECIPE --help` lists the fields with their values. A run with changed fields is recorded under
    a name of its own. `--data PATH` trains on data of your own: parallel text, running text, a labelled table, a folder
    of pictures or a table of numbers. Its run has a name of its own, by which the other commands find it and its model.
    The page "Use it on your own data" (reference/own-data.md) has an example of each.

    SIGTERM, SIGUSR1 and a closed terminal end a run after the current step, with a checkpoint and exit status 75; the
    same command continues from there. Under torchrun the processes share every batch: the tokens per step stay as
    they are.

    examples:
      reservoir run transformer/multi30k --seeds 0 1 2
      reservoir run bench/circle/trained --seeds 0:10 --together
      reservoir run --data it-en --task.src it
      reservoir run transformer/miniature --optimiser.lr 1e-3 --budget.steps 200
      reservoir run components/baseline --scale full --dry-run --gpu h200 --gpus 8 --measure
      reservoir run components reservoirs --scale full --dry-run --gpus 1 8 64
      reservoir run components/baseline --scale full --compiled
      torchrun --nproc-per-node 8 --max-restarts 3 -m reservoir_lab run components/baseline --scale full

    Args:
        names: Recipes, or families such as transformer; with --data none is needed.
        data: A file or folder of your own to train on.
        name: Name of a run on data of your own; by default the name of the file or folder.
        scale: smoke: seconds; laptop: minutes on one core; full: the papers' sizes, on GPUs.
        seeds: One run for each: numbers, or ranges such as 200:220, which are twenty.
        together: Train the seeds of a recipe in one set of products: 64 cost a GPU about what one does. For the bench.
        fresh: Run again what is recorded. What was cut off goes on, with --fresh or without.
        dry_run: Train nothing: print what the runs would take of data, operations, memory, hours and money.
        gpu: With --dry-run: h200, h100, a100, l4, rtx4090 or t4.
        gpus: With --dry-run: how many GPUs share each batch; several numbers, such as 1 8 64, are compared.
        price: With --dry-run: dollars per hour of one GPU, instead of the built-in assumption.
        measure: With --dry-run: time a few real steps first; without a GPU, those of the laptop scale.
    """

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    data: str = ""
    name: str = ""
    scale: Scale = "laptop"
    seeds: tuple[int, ...] = (0,)
    together: bool = False
    fresh: bool = False
    dry_run: bool = False
    gpu: str = "h200"
    gpus: tuple[int, ...] = (1,)
    price: float | None = None
    measure: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        for option in () if self.dry_run else ("gpu", "gpus", "price", "measure"):
            if getattr(self, option) != getattr(Run, option):
                raise ValueError(f"--{option} belongs to a dry run; add --dry-run, or leave it out")
        for option in ("fresh", "together") if self.dry_run else ():
            if getattr(self, option):
                raise ValueError(
                    f"--{option} is for training, and a dry run trains nothing; leave one of them out"
                )
        if self.together and self.fresh:
            raise ValueError("--together goes without --fresh: leave one of them out")
        runs = launch.train.chosen_runs(
            self.names, self.scale, self.seeds, fields, data=self.data, name=self.name
        )
        if not self.dry_run:
            launch.train.train_runs(runs, fresh=self.fresh, together=self.together)
            return
        if not self.gpus:
            raise ValueError("--gpus needs a number, such as --gpus 1 8 64")
        launch.dry_run.dry_run(runs, self.gpus, self.gpu, price=self.price, measured=self.measure)


@dataclass(frozen=True)
class Resources:
    """What each job asks for.

    Args:
        hours: Wall-clock time of a job, after which it goes back into the queue.
        nodes: Machines per job.
        gpus: GPUs per machine, with one process each; 0 for one process without a GPU.
        cpus: Processors per process.
        lead: Seconds before the end at which the run is asked to stop: more than a step and a validation take.
        partition: As your cluster calls it; empty for the cluster's own choice.
        account: As your cluster calls it; empty for the cluster's own choice.
        parallel: Jobs that run at once.
    """

    hours: float = 24.0
    nodes: int = 1
    gpus: int = 1
    cpus: int = 8
    lead: int = 300
    partition: str = ""
    account: str = ""
    parallel: int = 8

    def __post_init__(self) -> None:
        for name, least in (("nodes", 1), ("gpus", 0), ("cpus", 1), ("lead", 1), ("parallel", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"--{name} must be at least {least}, got {getattr(self, name)}")
        if not (math.isfinite(self.hours) and self.hours > 0):
            raise ValueError(f"--hours must be a positive number of hours, got {self.hours}")
        if not self.lead < self.hours * 3600:
            raise ValueError(
                f"--lead must be shorter than --hours, {self.hours * 3600:.0f} s, got {self.lead} s: a job that is"
                " asked to stop when it begins never ends"
            )


@dataclass(frozen=True)
class Submit:
    """Submit runs as jobs to SLURM, one for each recipe and seed.

    A job whose time is nearly up writes a checkpoint, goes back into the queue, and continues from there. What is
    already recorded is left out. Any field of the runs can be changed, as with `run`.

    examples:
      reservoir submit components --scale full --seeds 0 1 2 --gpus 8 --hours 12 --partition gpu
      reservoir submit transformer/miniature --seeds 0 1 --gpus 0

    Args:
        names: Recipes, or families such as components.
        scale: smoke, laptop or full.
        seeds: One job for each.
        fresh: Run again what is recorded. What was cut off goes on, with --fresh or without.
        folder: For the jobs' logs; by default `jobs` in the results folder, which all nodes must share.
    """

    names: tyro.conf.Positional[tuple[str, ...]]
    scale: Scale = "full"
    seeds: tuple[int, ...] = (0,)
    fresh: bool = False
    folder: str = ""
    resources: Annotated[Resources, tyro.conf.OmitArgPrefixes] = field(default_factory=Resources)

    def __call__(self, fields: Sequence[str]) -> None:
        runs = launch.train.chosen_runs(self.names, self.scale, self.seeds, fields, command="submit")
        folder = Path(self.folder) if self.folder else None
        launch.submit.submit_runs(runs, folder, fresh=self.fresh, **asdict(self.resources))


@dataclass(frozen=True)
class Table:
    """Print a table of recorded runs, or a source's table next to ours: means over seeds, with their spread.

    examples:
      reservoir table components
      reservoir table poster/big
      reservoir table one-layer --scale full

    Args:
        name: A family of recipes, such as transformer, or one recipe or run of yours; or a source, such as poster, or
            one of its tables.
        scale: smoke, laptop or full.
        json: Print JSON.
    """

    name: tyro.conf.Positional[str]
    scale: Scale = "laptop"
    json: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        launch.show.show_table(self.name, self.scale, as_json=self.json)


@dataclass(frozen=True)
class Export:
    """Write the model of a finished run to a folder that stands alone.

    The folder holds seeds, bits and trained tensors, which restore the model bit for bit; the weights of a recipe's
    language model are rounded to half precision.

    examples:
      reservoir export seeds/miniature --to my-translator
      reservoir export gpt/wikipedia --to my-gpt --scale laptop --seed 0

    Args:
        recipe: Such as seeds/miniature or gpt/wikipedia, or the name of a run of yours.
        to: The folder: missing, empty, or an earlier export, which is replaced.
        scale: smoke, laptop or full.
        seed: Of the run.
    """

    recipe: tyro.conf.Positional[str]
    to: str
    scale: Scale = "laptop"
    seed: int = 0

    def __call__(self, fields: Sequence[str]) -> None:
        launch.show.export_run(self.recipe, self.to, scale=self.scale, seed=self.seed)


@dataclass(frozen=True)
class Data:
    """List the datasets and where they are, or fetch some.

    examples:
      reservoir data
      reservoir data multi30k

    Args:
        names: Datasets to fetch; none lists all.
    """

    names: tyro.conf.Positional[tuple[str, ...]] = ()

    def __call__(self, fields: Sequence[str]) -> None:
        for name in self.names:
            show(f"{name}: {corpora.fetch(name)}")
        if not self.names:
            table = new_table("dataset", "state", "MB", "licence", "for")
            for row in corpora.status():
                size = f"{row.bytes / 1e6:.1f}" if row.bytes else "-"
                table.add_row(row.name, row.state, size, row.licence, row.purpose)
            show(table)


@dataclass(frozen=True)
class Records:
    """Put records into the files that ship with the book, a line a run, in place of older ones.

    What could not ship, such as a run of a checkout with uncommitted changes, is left out with a warning.

    examples:
      reservoir records
      reservoir records sent-back

    Args:
        folder: Where they lie, a file each or many in .jsonl or .jsonl.gz; the results folder if none is given.
    """

    folder: tyro.conf.Positional[Path | None] = None

    def __call__(self, fields: Sequence[str]) -> None:
        launch.show.ship(self.folder)


AT_ONCE = 64
"""Lines that are answered together."""


@dataclass(frozen=True)
class _Answer:
    """A command that answers texts.

    Args:
        model: The name of a run of yours, or a folder that export wrote.
        texts: What is asked; without any, the lines of --file, or of standard input.
        file: A file, a text a line.
        scale: Of the run.
        seed: Of the run.
    """

    model: tyro.conf.Positional[str]
    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    file: str = ""
    scale: Scale = "laptop"
    seed: int = 0

    does: ClassVar[str]  # the method of a trained model that answers
    options: ClassVar[tuple[str, ...]] = ()  # of that method

    def __call__(self, fields: Sequence[str]) -> None:
        """Print an answer to each text, in the order given; a blank line gets a blank line."""
        model = runs.open_model(self.model, scale=self.scale, seed=self.seed)
        method: Callable[..., list[Any]] = getattr(model, self.does)
        options = {name: getattr(self, name) for name in self.options}
        lines = self._lines()
        starts = range(0, len(lines), AT_ONCE)
        quiet = not sys.stderr.isatty() or len(starts) < 2
        for start in track(starts, self.does, console=Console(stderr=True), disable=quiet):
            part = lines[start : start + AT_ONCE]
            asked = [line for line in part if line.strip()]
            answers: Iterator[Any] = iter(method(asked, **options) if asked else ())
            for line in part:
                answer = str(next(answers)) if line.strip() else ""
                print(printable(answer) if sys.stdout.isatty() else answer, flush=True)

    def _lines(self) -> list[str]:
        if self.texts and self.file:
            raise ValueError("--file has texts, and there are others before it: give one of the two")
        if self.texts:
            return list(self.texts)
        if self.file:
            return corpora.read_lines(self.file)
        if sys.stdin.isatty():
            print("a text a line; Ctrl-D ends the last one (on Windows Ctrl-Z and Enter)", file=sys.stderr)
        return [line.rstrip("\r\n") for line in sys.stdin]


@dataclass(frozen=True)
class Translate(_Answer):
    """Translate sentences with a stored model: a line for each.

    examples:
      reservoir translate it-en "tre due uno"
      reservoir translate it-en --file news.it > news.en
    """

    does: ClassVar[str] = "translate"


@dataclass(frozen=True)
class Classify(_Answer):
    """Print the class of texts, of pictures by their paths, or of sequences of numbers: a line for each.

    examples:
      reservoir classify reviews "A lovely film."
      reservoir classify shapes one.png two.png
    """

    does: ClassVar[str] = "classify"


@dataclass(frozen=True)
class Generate(_Answer):
    """Go on after texts with a stored language model.

    examples:
      reservoir generate story "The old man" --tokens 20

    Args:
        tokens: How many are added.
        temperature: 0 always takes the most probable token; 1 draws as the model says.
    """

    tokens: int = 60
    temperature: float = 0.8

    does: ClassVar[str] = "generate"
    options: ClassVar[tuple[str, ...]] = ("tokens", "temperature")


@dataclass(frozen=True)
class Score:
    """Score a stored model on files laid out like those that were trained on: BLEU, accuracy or perplexity.

    examples:
      reservoir score it-en --data more-it-en
      reservoir score reviews --data new.csv --json

    Args:
        model: The name of a run of yours, or a folder that export wrote.
        data: A file, or a folder whose parts are scored one by one.
        scale: Of the run.
        seed: Of the run.
        json: Print JSON.
    """

    model: tyro.conf.Positional[str]
    data: str
    scale: Scale = "laptop"
    seed: int = 0
    json: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        found = runs.open_model(self.model, scale=self.scale, seed=self.seed).score(self.data)
        if self.json:
            show_json(found)
            return
        for part, metrics in found.items():
            for name, value in metrics.items():
                print(f"{part}\t{name}\t{value if isinstance(value, str | int) else f'{value:.4g}'}")


@dataclass(frozen=True)
class Check:
    """Run the exercises' checks of notebooks that were handed in, and print passed or failed and why.

    All cells run, in a fresh kernel and an empty folder, with your rights: check what you do not trust as a user who
    may do little. A notebook that hangs, crashes or prints megabytes is one line. The exit status is 1 if an exercise
    failed or a notebook was stopped.

    examples:
      reservoir check ada.ipynb
      reservoir check handed-in --json

    Args:
        notebooks: Files, or folders of them.
        limit: Seconds for all cells of a notebook.
        json: Print JSON, for a gradebook.
    """

    notebooks: tyro.conf.Positional[tuple[Path, ...]]
    limit: float = 600.0
    json: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        if not launch.handed_in.check_all(self.notebooks, limit=self.limit, as_json=self.json):
            raise SystemExit(1)


COMMANDS = {
    "list": List,
    "show": Show,
    "run": Run,
    "submit": Submit,
    "table": Table,
    "export": Export,
    "data": Data,
    "records": Records,
    "translate": Translate,
    "classify": Classify,
    "generate": Generate,
    "score": Score,
    "check": Check,
}
TAKE_FIELDS = ("show", "run", "submit")
"""Commands on which any field of a run can be changed."""


LONGEST_RANGE = 10_000  # seeds in one range of a command
EXTRAS = {
    "tyro": "cli",
    "sacremoses": "data",
    "PIL": "pictures",
    "sklearn": "pictures",
    "plotly": "pages",
    "anywidget": "pages",
    "submitit": "cluster",
    "nbclient": "class",
    "nbformat": "class",
}
"""Module -> the extra of the package that installs it."""


def with_ranges(words: Sequence[str]) -> list[str]:
    """The words of a command in which ranges of seeds, such as `--seeds 200:220`, are written out.

    Raises:
        ValueError: a range is empty, the wrong way round, or not of two numbers.
    """
    found: list[str] = []
    option = ""
    words = [part for word in words for part in (word.split("=") if word.startswith("--seeds=") else [word])]
    for word in words:
        option = word if word.startswith("-") else option
        if option != "--seeds" or ":" not in word:
            found.append(word)
            continue
        ends = re.fullmatch(r"(\d+):(\d+)", word)
        first, end = map(int, ends.groups()) if ends else (0, 0)
        if not first < end <= first + LONGEST_RANGE:
            raise ValueError(
                f"--seeds {word} must be the first seed and a larger number, the one after the last, for at most"
                f" {LONGEST_RANGE:,} seeds: 200:220 are twenty"
            )
        found += map(str, range(first, end))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return the exit status, which the docstring of this module lists."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    message: str | None
    try:
        run_command(with_ranges(words) or ["--help"])
        sys.stdout.flush()  # a reader who has gone is noticed here, where it can be said, and not as Python ends
        return 0
    except Preempted as signal:
        status, message = EXIT_STATUS, f"{signal}; {CONTINUES}"
    except KeyboardInterrupt:
        status, message = 130, f"stopped; {CONTINUES}" if "run" in words[:1] else "stopped"
    except BrokenPipeError:  # whoever read the output has had enough, as `head` has: rich ends so too
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # where Python writes what is left as it ends
        status, message = 1, None
    except UsageError as error:
        status, message = 2, str(error)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(error.name or "")
        install = f"this needs the package {error.name}: python -m pip install 'reservoir-book[{extra}]'"
        status, message = 1, install if extra else _unexpected(error)
    except (DataError, OSError, ValueError) as error:
        status, message = 1, str(error)
    except Exception as error:
        known = isinstance(error, RuntimeError) and isinstance(error, launch.train.EXPLAINED)
        status, message = 1, str(error) if known else _unexpected(error)
    if message is not None:
        with contextlib.suppress(OSError):  # of a terminal that was closed
            print(f"error: {printable(' '.join(message.split()))[:LONGEST]}", file=sys.stderr)
    if "reservoir_lab.runs.distribution" in sys.modules:  # without it, this process has joined no others
        launch.train.leave_world(status)
    return status


def run_command(words: list[str]) -> None:
    """Parse the words of a command line and do what they ask for.

    Raises:
        UsageError: there is no such command, an argument is missing or has a wrong value, or it takes no such one.
        SystemExit: help was printed.
    """
    name, *rest = words
    if not name.startswith("-") and name not in COMMANDS:
        raise UsageError(f"there is no command {name!r}; {hint(name, COMMANDS, cutoff=0.6)}")
    takes_fields = name in TAKE_FIELDS
    # `run RECIPE --help` is about the fields of that recipe, which only parsing them knows.
    asked = {"--help", "-h"} & set(rest) if takes_fields and rest and not rest[0].startswith("-") else set()
    words = [word for word in words if word not in asked]
    kinds: Any = Union[*(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in COMMANDS.items())]
    options: Any = {"prog": "reservoir", "description": __doc__, "return_unknown_args": True}
    command, fields = in_one_sentence(lambda: tyro.cli(kinds, args=words, **options))
    if fields and not takes_fields:
        raise UsageError(f"unknown argument {fields[0]!r}; see reservoir {name} --help")
    command([*fields, *asked])


def _unexpected(error: Exception) -> str:
    """A sentence about an error that nobody foresaw; where it came from goes to a file."""
    what = f"{type(error).__name__}: {str(error)[:200]}"
    try:
        held, path = tempfile.mkstemp(prefix="reservoir-", suffix=".log")
        with open(held, "w", encoding="utf-8", errors="backslashreplace") as log:
            traceback.print_exception(error, file=log)
    except OSError:
        path = ""
    return f"something that nobody foresaw went wrong ({what})" + (f"; {path} says where" if path else "")


LONGEST = 2000
"""Characters of the longest sentence about an error."""
CONTINUES = "the same command goes on from the last checkpoint, if there is one"
