"""The commands: what each is called, what it takes, and the help that it prints.

Nothing here imports torch, so that help comes at once. The work is done by modules of this package that are imported
when a command is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from reservoir import launch
from reservoir.launch.console import in_one_sentence
from reservoir.launch.gpus import Target
from reservoir.launch.model_commands import Classify, Generate, Score, Translate
from reservoir.launch.resources import Cluster, Resources
from reservoir.runs.registry import Scale


@dataclass(frozen=True)
class List:
    """List the families of recipes and your own runs, or every recipe of some families with the scales recorded.

    examples:
      python -m reservoir list
      python -m reservoir list components universal/digits
      python -m reservoir list it-en --json
    """

    families: tyro.conf.Positional[tuple[str, ...]] = ()
    """Such as components, or universal/digits, or the name of a run of yours."""
    json: bool = False
    """Print JSON."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.catalogue.list_recipes(self.families, as_json=self.json)


@dataclass(frozen=True)
class Show:
    """Show a recipe or a run of yours: its fields, the parts of its model, and its records.

    Any field can be changed, to see what that does to the model. `show RECIPE --help` lists the fields.

    examples:
      python -m reservoir show transformer/multi30k
      python -m reservoir show transformer/multi30k --freeze.attention --model.d-model 256
    """

    recipe: tyro.conf.Positional[str]
    """Such as transformer/multi30k, or the name of a run of yours."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""
    json: bool = False
    """Print JSON."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.show.show_recipe(self.recipe, self.scale, fields, as_json=self.json)


@dataclass(frozen=True)
class Run:
    """Train, test and record. Any field of the run can be changed: --optimiser.lr 1e-3 --budget.steps 200.

    `run RECIPE --help` lists the fields with their values. A run with changed fields is recorded under
    a name of its own. `--data PATH` trains on data of your own: parallel text, running text, a labelled table, a folder
    of pictures or a table of numbers. Its run has a name of its own, by which the other commands find it and its model.
    The page "Use it on your own data" (reference/own-data.md) has an example of each.

    SIGTERM and SIGUSR1 end a run after the current step, with a checkpoint and exit status 75; the same command
    continues from there. Under torchrun the processes share every batch: the tokens per step stay the same.

    examples:
      python -m reservoir run transformer/multi30k --seeds 0 1 2
      python -m reservoir run --data it-en --task.src it
      python -m reservoir run transformer/miniature --optimiser.lr 1e-3 --budget.steps 200
      python -m reservoir run components/baseline --scale full --dry-run --gpu h200 --gpus 8 --measure
      python -m reservoir run components reservoirs --scale full --dry-run --gpus 1 8 64
      python -m reservoir run components/baseline --scale full --compiled
      torchrun --nproc-per-node 8 --max-restarts 3 -m reservoir run components/baseline --scale full
    """

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """Recipes, or families such as transformer; with --data none is needed."""
    data: str = ""
    """A file or folder of your own to train on."""
    name: str = ""
    """Of a run on data of your own; by default that of its data."""
    scale: Scale = "laptop"
    """smoke: seconds; laptop: minutes on one core; full: the papers' sizes, on GPUs."""
    seeds: tuple[int, ...] = (0,)
    """One run for each."""
    fresh: bool = False
    """Run again what is recorded, from the start."""
    tensorboard: str | None = None
    """A folder for TensorBoard's logs, if you want them."""
    dry_run: bool = False
    """Train nothing: print what the runs would take of data, operations, memory, hours and money."""
    gpu: str = Target.name
    """Of a dry run: h200, h100, a100, l4, rtx4090 or t4."""
    gpus: tuple[int, ...] = (Target.gpus,)
    """Of a dry run: how many GPUs share each batch; several numbers, such as 1 8 64, are compared."""
    price: float | None = Target.price
    """Of a dry run: dollars per hour of one GPU, instead of the built-in assumption."""
    measure: bool = False
    """Of a dry run: time a few real steps first; of the laptop scale where the full scale has no GPU here."""

    def __call__(self, fields: Sequence[str]) -> None:
        if not self.gpus:
            raise ValueError("--gpus needs a number, such as --gpus 1 8 64")
        target = Target(self.gpu, min(self.gpus), self.price)
        if self.measure and not self.dry_run:
            raise ValueError("--measure belongs to a dry run; add --dry-run, or leave it out")
        runs = launch.chosen.chosen_runs(
            self.names, self.scale, self.seeds, fields, data=self.data, name=self.name
        )
        if self.dry_run and len(self.gpus) > 1:
            launch.scale_out.scale_out({run.recipe: run for run in runs}, self.gpus, target)
        elif self.dry_run:
            launch.dry_run.dry_run(runs, target, measured=self.measure)
        else:
            launch.train.train_runs(runs, fresh=self.fresh, tensorboard=self.tensorboard)


@dataclass(frozen=True)
class Submit:
    """Submit runs as jobs to SLURM, one for each recipe and seed, or run them as processes on this machine.

    A job whose time is nearly up writes a checkpoint, goes back into the queue, and continues from there. What is
    already recorded is left out. Any field of the runs can be changed, as with `run`.

    examples:
      python -m reservoir submit components --scale full --seeds 0 1 2 --gpus 8 --hours 12 --partition gpu
      python -m reservoir submit transformer/miniature --seeds 0 1 --cluster local --gpus 0
    """

    names: tyro.conf.Positional[tuple[str, ...]]
    """Recipes, or families such as components."""
    scale: Scale = "full"
    """smoke, laptop or full."""
    seeds: tuple[int, ...] = (0,)
    """One job for each."""
    fresh: bool = False
    """Run again what is recorded, from the start."""
    cluster: Cluster = "auto"
    """slurm; local: processes on this machine; auto: SLURM where there is one."""
    folder: str = ""
    """For the jobs' logs; by default `jobs` in the results folder, which all nodes must share."""
    resources: Annotated[Resources, tyro.conf.OmitArgPrefixes] = field(default_factory=Resources)

    def __call__(self, fields: Sequence[str]) -> None:
        runs = launch.chosen.chosen_runs(self.names, self.scale, self.seeds, fields)
        folder = Path(self.folder) if self.folder else None
        launch.submit.submit_runs(runs, self.resources, cluster=self.cluster, folder=folder, fresh=self.fresh)


@dataclass(frozen=True)
class Table:
    """Print a table of recorded runs, or a source's table next to ours: means over seeds, with their spread.

    examples:
      python -m reservoir table components
      python -m reservoir table poster/big
      python -m reservoir table one-layer --scale full
    """

    name: tyro.conf.Positional[str]
    """A family of recipes, such as transformer, or one recipe or run of yours; or a source, such as poster, or one of
    its tables."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""
    json: bool = False
    """Print JSON."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.tables.show_table(self.name, self.scale, as_json=self.json)


@dataclass(frozen=True)
class Export:
    """Write the model of a finished run to a folder that stands alone.

    The folder holds seeds, bits and trained tensors, which restore the model bit for bit; the weights of a language
    model are rounded to half precision.

    examples:
      python -m reservoir export seeds/miniature --to my-translator
      python -m reservoir export gpt/wikipedia --to my-gpt --scale laptop --seed 0
    """

    recipe: tyro.conf.Positional[str]
    """Such as seeds/miniature or gpt/wikipedia, or the name of a run of yours."""
    to: str
    """The folder: missing, empty, or an earlier export, which is replaced."""
    scale: Scale = "laptop"
    """smoke, laptop or full."""
    seed: int = 0
    """Of the run."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.show.export_run(self.recipe, self.to, scale=self.scale, seed=self.seed)


@dataclass(frozen=True)
class Data:
    """List the datasets and where they are, or fetch some.

    examples:
      python -m reservoir data
      python -m reservoir data multi30k
    """

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """Datasets to fetch; none lists all."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.data.fetch_or_list(self.names)


@dataclass(frozen=True)
class Queue:
    """Run what a file lists and nobody has recorded, in its order, and say what is left and how long that takes.

    It can be cut off anywhere and goes on with the same command; the file may be edited meanwhile.

    examples:
      python -m reservoir queue data/queue.toml --dry-run
      nice python -m reservoir queue data/queue.toml
    """

    file: tyro.conf.Positional[Path]
    """Entries [[runs]] with recipes, seeds and why, in TOML."""
    dry_run: bool = False
    """Only say what is left."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.queue.work_through(self.file, dry_run=self.dry_run)


@dataclass(frozen=True)
class Audit:
    """Begin recorded runs again, and compare what they measure first with their records, to the last digit.

    Where a record does not say in which precision it was computed, both are tried.

    examples:
      python -m reservoir audit --sample 10 --draw 1
      python -m reservoir audit language initial/kaiming-50 --sample 0
    """

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """Recipes or families; none for all."""
    sample: int = 10
    """How many of their records, drawn by a seed; 0 for all."""
    draw: int = 0
    """The seed of that."""
    points: int = 1
    """How many validations are compared."""
    to: Path = Path("data/results/audits.json")
    """Where the results are kept; what is there is not audited again."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.audits.audit_records(
            self.names, sample=self.sample, draw=self.draw, points=self.points, file=self.to
        )


@dataclass(frozen=True)
class Gpu:
    """Spend some minutes of a GPU: compare its bits, measure speed beside peers, then run what decides most.

    First the bits that the GPU, numba, the compiler and Triton draw are compared with the processor's. Then, in a third
    of the time at most, benchmarks beside other libraries; then the runs of a queue, several at a time. It can be
    cut off anywhere: the same command does what is left. Records, benchmarks, logs and the checkpoints that fit go to 8
    files of at most 16 MiB.

    For a machine without a network, `--pack` collects data and packages here, `--cargo` uses them there, and `--unpack`
    puts what came back into the results folder; `make records` promotes the records.

    examples:
      python -m reservoir gpu --device cpu --scale smoke --minutes 5
      python -m reservoir gpu --minutes 50
      python -m reservoir gpu --pack .gpu
      PYTHONPATH=.gpu/site python3 -m reservoir gpu --minutes 9 --cargo .gpu --to back
      python -m reservoir gpu --unpack back
    """

    minutes: float = 10.0
    """To spend in all."""
    device: str = "cuda"
    """cuda, or cpu to rehearse."""
    scale: Scale | None = None
    """Of the runs and benchmarks; by default what the queue says. smoke rehearses everything in minutes."""
    queue: Path = Path("data/gpu.toml")
    """The runs, in the order of what they decide: entries [[runs]] with recipes, seeds, scale and why."""
    stages: tuple[str, ...] = ("bits", "speed", "queue")
    """Which of them."""
    parallel: int = 3
    """Runs that share the GPU: small models leave it idle most of the time."""
    to: Path = Path("results/back")
    """Where the files go that come back."""
    cargo: Path | None = None
    """The folder that --pack wrote, on the machine that it was brought to."""
    pack: Path | None = None
    """Only collect data, packages and what came back before in this folder, at most 64 MiB."""
    unpack: Path | None = None
    """Only put the files of this folder, which came back, into the results folder."""

    def __call__(self, fields: Sequence[str]) -> None:
        if self.unpack:
            launch.cargo.unpack(self.unpack)
        elif self.pack:
            runs = [run for run, *_ in launch.queue.all_runs(self.queue, scale=self.scale)]
            launch.cargo.pack(runs, self.pack)
        else:
            hour = launch.gpu_hour.Hour(
                self.minutes, self.device, self.scale, self.queue, self.parallel, self.to, self.cargo
            )
            launch.gpu_hour.spend(hour, self.stages)


COMMANDS = {
    "list": List,
    "show": Show,
    "run": Run,
    "submit": Submit,
    "table": Table,
    "export": Export,
    "data": Data,
    "queue": Queue,
    "audit": Audit,
    "gpu": Gpu,
    "translate": Translate,
    "classify": Classify,
    "generate": Generate,
    "score": Score,
}
TAKE_FIELDS = ("show", "run", "submit")
"""Commands on which any field of a run can be changed."""


def parse(words: Sequence[str], *, description: str) -> tuple[Callable[[Sequence[str]], None], list[str]]:
    """The command that a command line asks for, and the words that it does not know, which may be fields of a run.

    Raises:
        UsageError: an argument is missing or has a wrong value.
        SystemExit: help was printed.
    """
    kinds: Any = Union[*(Annotated[kind, tyro.conf.subcommand(name)] for name, kind in COMMANDS.items())]
    options: Any = {"prog": "python -m reservoir", "description": description, "return_unknown_args": True}
    return in_one_sentence(lambda: tyro.cli(kinds, args=words, **options))
