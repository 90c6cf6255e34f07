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
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from reservoir.datasets.shipped import DataError
from reservoir_lab import corpora, launch, runs
from reservoir_lab.launch.console import UsageError, in_one_sentence, new_table, printable, show
from reservoir_lab.launch.gpus import Cluster, Resources, Target
from reservoir_lab.launch.model_commands import Classify, Generate, Score, Translate
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
        launch.catalogue.list_recipes(self.families, as_json=self.json)


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
        tensorboard: A folder for TensorBoard's logs, if you want them; each run has one of its own inside.
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
    tensorboard: str | None = None
    dry_run: bool = False
    gpu: str = Target.name
    gpus: tuple[int, ...] = (Target.gpus,)
    price: float | None = Target.price
    measure: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        for option in () if self.dry_run else ("gpu", "gpus", "price", "measure"):
            if getattr(self, option) != getattr(Run, option):
                raise ValueError(f"--{option} belongs to a dry run; add --dry-run, or leave it out")
        for option in ("fresh", "tensorboard", "together") if self.dry_run else ():
            if getattr(self, option):
                raise ValueError(
                    f"--{option} is for training, and a dry run trains nothing; leave one of them out"
                )
        if self.together and (self.fresh or self.tensorboard):
            raise ValueError("--together goes without --fresh and --tensorboard: leave them out")
        if self.tensorboard is not None and not self.tensorboard.strip():
            raise ValueError("--tensorboard must name a folder, such as --tensorboard logs, got ''")
        runs = launch.train.chosen_runs(
            self.names, self.scale, self.seeds, fields, data=self.data, name=self.name
        )
        if not self.dry_run:
            launch.train.train_runs(
                runs, fresh=self.fresh, tensorboard=self.tensorboard, together=self.together
            )
            return
        if not self.gpus:
            raise ValueError("--gpus needs a number, such as --gpus 1 8 64")
        target = Target(self.gpu, min(self.gpus), self.price)
        launch.dry_run.dry_run(runs, self.gpus, target, measured=self.measure)


@dataclass(frozen=True)
class Submit:
    """Submit runs as jobs to SLURM, one for each recipe and seed, or run them as processes on this machine.

    A job whose time is nearly up writes a checkpoint, goes back into the queue, and continues from there. What is
    already recorded is left out. Any field of the runs can be changed, as with `run`.

    examples:
      reservoir submit components --scale full --seeds 0 1 2 --gpus 8 --hours 12 --partition gpu
      reservoir submit transformer/miniature --seeds 0 1 --cluster local --gpus 0

    Args:
        names: Recipes, or families such as components.
        scale: smoke, laptop or full.
        seeds: One job for each.
        fresh: Run again what is recorded. What was cut off goes on, with --fresh or without.
        cluster: slurm; local: processes on this machine; auto: SLURM where there is one.
        folder: For the jobs' logs; by default `jobs` in the results folder, which all nodes must share.
    """

    names: tyro.conf.Positional[tuple[str, ...]]
    scale: Scale = "full"
    seeds: tuple[int, ...] = (0,)
    fresh: bool = False
    cluster: Cluster = "auto"
    folder: str = ""
    resources: Annotated[Resources, tyro.conf.OmitArgPrefixes] = field(default_factory=Resources)

    def __call__(self, fields: Sequence[str]) -> None:
        runs = launch.train.chosen_runs(self.names, self.scale, self.seeds, fields, command="submit")
        folder = Path(self.folder) if self.folder else None
        launch.submit.submit_runs(runs, self.resources, cluster=self.cluster, folder=folder, fresh=self.fresh)


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

    The folder holds seeds, bits and trained tensors, which restore the model bit for bit; the weights of a language
    model are rounded to half precision.

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
        show("\n".join(runs.pack_records(self.folder)) or "no record is newer than those that ship")


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
        ValueError: a range is empty or the wrong way round.
    """
    found: list[str] = []
    option = ""
    for word in words:
        option = word if word.startswith("-") else option
        ends = re.fullmatch(r"(\d+):(\d+)", word)
        if option != "--seeds" or ends is None:
            found.append(word)
            continue
        first, end = int(ends[1]), int(ends[2])
        if not first < end <= first + LONGEST_RANGE:
            raise ValueError(
                f"--seeds {word} must go up, from the first seed to the one after the last, at most"
                f" {LONGEST_RANGE:,} of them: 200:220 are twenty"
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
    if takes_fields and {"--help", "-h"} & set(rest) and not rest[0].startswith("-"):
        launch.show.show_fields(rest[0], name)
        return
    kinds: Any = Union[*(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in COMMANDS.items())]
    options: Any = {"prog": "reservoir", "description": __doc__, "return_unknown_args": True}
    command, fields = in_one_sentence(lambda: tyro.cli(kinds, args=words, **options))
    if fields and not takes_fields:
        raise UsageError(f"unknown argument {fields[0]!r}; see reservoir {name} --help")
    command(fields)


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
