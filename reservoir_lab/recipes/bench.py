"""The bench (Chapters 4 to 8): tasks that need a transformer's parts, and parts that are not learned.

`bench/<task>/<row>`: `TASKS` says what a task is and how long it is trained, `ROWS` what a row changes and on which
tasks it makes sense. Rows that are compared draw what they share from the same streams at the same scale: no draw
depends on depth. All are in fp32, at widths at which a run takes seconds of one core.

Every row has a learning rate of its own, the best of the same sweep (`reservoir_lab.launch.looking`, seeds 0 to 2); the
choices lie in `data/bench/rates.json`. Seeds 0 to 9 are for looking, 200 to 219 are run once and judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

from reservoir.datasets.bench import Brackets, Circle, Facts, Grammar, Recall
from reservoir.datasets.shipped import shipped
from reservoir.models import TaggerConfig
from reservoir.models.stack import LayerKind, hybrid
from reservoir.training import Budget, Optimiser, Skip
from reservoir.weights import Freeze, Mask
from reservoir_lab.runs.computation import OnPuzzle
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRun
from reservoir_lab.typed import hint

JUDGED = range(200, 220)
"""Seeds that are run once the rules are written; those below 10 are for looking."""
USUAL = 3e-3  # where nobody has swept yet


@dataclass(frozen=True)
class Task:
    """A task of the bench.

    Args:
        about: what it needs, in a few words.
        puzzle: the data.
        layers: depth of the model.
        steps, every: optimiser steps, and steps between validations.
        causal: whether the model reads from left to right.
        width, heads: of the model; its feed-forward layers are four times as wide.
    """

    about: str
    puzzle: OnPuzzle
    layers: int
    steps: int
    every: int
    causal: bool = False
    width: int = 32
    heads: int = 2


TASKS: dict[str, Task] = {
    "circle": Task("depth", OnPuzzle(Circle()), 4, 1000, 25),
    "brackets": Task("attention in order", OnPuzzle(Brackets(), tested=4000), 2, 500, 25, causal=True),
    "lines": Task("attention in order, all places at once", OnPuzzle(Brackets(), tested=4000), 2, 800, 40),
    "facts": Task("memory", OnPuzzle(Facts(), batch=128, held_out=256), 2, 1500, 50),
    "grammar": Task("the meaning of words", OnPuzzle(Grammar(), held_out=100), 2, 1500, 75, causal=True),
    "words": Task(
        "the meaning of words, some of them covered",
        OnPuzzle(Grammar(hidden=0.3), held_out=200),
        2,
        3000,
        150,
    ),
}
WIDE = (16, 32, 64, 128)
"""Widths at which the rows that sentences rest on are run."""
TABLES = {16: 72, 32: 128, 64: 192}
"""Subjects, and as many relations, of the tables that a model of each width cannot remember whole."""
SEEN = 150
"""How often each fact of such a table is shown."""


def _memory(width: int, seen: int) -> Task:
    """A table of facts that is too large for a model of this width: how many bits of it does it remember?"""
    n, batch = TABLES[width], 256 if width < 64 else 1024
    steps = round(seen * n * n / batch / 20) * 20
    puzzle = OnPuzzle(Facts(n, n, 96), batch=batch, held_out=1024)
    return Task(f"bits remembered at width {width}", puzzle, 2, steps, steps // 20, width=width, heads=4)


def _sized() -> dict[str, Task]:
    found = {f"memory-{width}": _memory(width, SEEN) for width in TABLES}
    about = "bits remembered at width 32, each fact seen 50 times"
    found["memory-32-seen-50"] = replace(_memory(32, 50), about=about)

    def at(task: str, width: int, more: str = "", **changed: Any) -> Task:
        sizes = {"width": width, "heads": 4, **changed}
        return replace(TASKS[task], about=f"{TASKS[task].about}, at width {width}{more}", **sizes)

    tasks = {f"{task}-{width}": at(task, width) for task in ("circle", "brackets") for width in WIDE}
    for heads in (2, 8):
        tasks[f"circle-64-{heads}-heads"] = at("circle", 64, f" with {heads} heads", heads=heads)
    for layers in (2, 6):
        tasks[f"circle-64-{layers}-layers"] = at("circle", 64, f" with {layers} layers", layers=layers)
    return tasks | found


MAIN_TASKS = tuple(TASKS)
TASKS["recall"] = Task("looking up, held out", OnPuzzle(Recall(), tested=4000), 2, 800, 25, causal=True)
SIZED = _sized()
"""The same tasks for models of several sizes, and tables that grow with the model."""
TASKS |= SIZED
SIZED_ROWS = (
    "trained",
    "half",
    "frozen-attention",
    "frozen-queries-keys",
    "frozen-values-output",
    "frozen-feed-forward",
    "frozen-embeddings",
    "mask",
)
"""What is run at every width."""
# Of the tables that take minutes a run, what the claims about bits ask.
MEMORY_ROWS = ("trained", "frozen-attention", "frozen-feed-forward", "frozen-embeddings", "mask")
FEW_ROWS = {
    "heads": ("trained", "frozen-attention", "frozen-queries-keys", "frozen-values-output"),
    "layers": ("trained", "frozen-feed-forward", "mask"),
    "seen-50": ("trained", "frozen-feed-forward", "mask"),
    "memory-16": tuple(row for row in SIZED_ROWS if row != "frozen-values-output"),
} | dict.fromkeys(("memory-32", "memory-64"), MEMORY_ROWS)
"""The end of a task's name -> what is run of it alone: what heads or depths may change, and what claims ask."""
MAIN = ("circle", "brackets", "facts", "grammar")
OPEN = ("circle", "lines", "words")  # whose models see all places: where transforms make sense
RECALL = (*MAIN, "recall")  # also on the task that was built after the predictions were written
STORED = ("brackets", "facts")  # where masks of several shares and rounded rivals are compared
ALL = (*MAIN_TASKS, "recall")
WIDTHS: dict[LayerKind, str] = {
    "ffn": "",
    "ffn-4": ", four times as wide",
    "ffn-16": ", sixteen times as wide",
}
"""Frozen feed-forward layers, and what is said of their width."""


def trained(task: str, scale: Scale) -> Run:
    """A model of a task, everything trained."""
    found = TASKS[task]
    steps, every = (8, 4) if scale == "smoke" else (found.steps, found.every)
    puzzle = found.puzzle
    if scale == "smoke":
        puzzle = replace(puzzle, **SMALL.get(task.partition("-")[0], {}), batch=8, held_out=8, tested=16)
    sizes: dict[str, Any] = {"layers": found.layers, "causal": found.causal, "n_heads": found.heads}
    return Run(
        f"bench/{task}",
        scale,
        puzzle,
        TaggerConfig(**sizes, d_model=found.width, d_ff=4 * found.width),
        Budget(steps, validate_every=every, checkpoint_every=0),
        optimiser=Optimiser(lr=USUAL, weight_decay=0.0, schedule="trapezoid", warmup=min(30, steps // 4)),
    )


SMALL: dict[str, dict[str, Any]] = {
    "facts": {"puzzle": Facts(8, 8, 8)},
    "memory": {"puzzle": Facts(8, 8, 8)},
    "grammar": {"puzzle": Grammar(sentences=200, held_out=50)},
    "words": {"puzzle": Grammar(sentences=200, held_out=50, hidden=0.3)},
}
"""What a task is at the smoke scale, where it is smaller."""


def _depth(run: Run) -> int:
    return run.model.layers  # type: ignore[union-attr,return-value]


def kinds(run: Run, names: tuple[LayerKind, ...]) -> Run:
    """The same with a stack of these layers."""
    return run.evolve(model={"layers": len(names), "kinds": names})


def only(run: Run, kind: LayerKind) -> Run:
    """The same with layers of one kind, as many."""
    return kinds(run, (kind,) * _depth(run))


def half(run: Run, times: int = 1) -> Run:
    """Half of the layers, trained for `times` times the steps."""
    return longer(run.evolve(model={"layers": _depth(run) // 2}), times)


def longer(run: Run, times: int) -> Run:
    """The same for `times` times the steps, with as many validations."""
    budget = run.budget
    return run.evolve(budget={"steps": times * budget.steps, "validate_every": times * budget.validate_every})


def frozen(run: Run, **plan: Any) -> Run:
    """The same with what a freezing plan names left as the seed drew it."""
    return run.evolve(freeze=Freeze(**plan))


def split(run: Run, *parts: str) -> Run:
    """Attention whose halves can be frozen apart, with these of its maps frozen."""
    run = run.evolve(model={"mixing": ("split-attention",) * _depth(run)})
    return frozen(run, patterns=tuple(f"*.attention.{part}*" for part in parts))


def narrow(run: Run, *, freeze: bool) -> Run:
    """Feed-forward layers of a quarter of the width, trained or frozen."""
    run = run.evolve(model={"d_ff": 32})
    return frozen(run, feed_forward=True) if freeze else run


def stacked(run: Run, letters: str, kind: LayerKind) -> Run:
    """A stack of trained transformer layers, L, and frozen layers of a kind, R, from the bottom up."""
    run = kinds(run, tuple("transformer" if letter == "L" else kind for letter in letters))
    return frozen(run, layers=tuple(f"encoder.{at}" for at, letter in enumerate(letters) if letter == "R"))


def alternate(run: Run, kind: LayerKind) -> Run:
    """Every second layer frozen, and of this kind."""
    return stacked(run, "LR" * (_depth(run) // 2), kind)


def between(run: Run, kind: LayerKind) -> Run:
    """All trained layers, with a frozen one of this kind between any two."""
    return stacked(run, "R".join("L" * _depth(run)), kind)


def placed(run: Run, where: str) -> Run:
    """Half of the layers frozen, at the bottom or at the top."""
    n = _depth(run) // 2
    return stacked(run, "R" * n + "L" * n if where == "bottom" else "L" * n + "R" * n, "transformer")


def late(run: Run) -> Run:
    """Every second layer learns for half of the steps and is frozen then."""
    layers = tuple(f"encoder.{at}" for at in range(1, _depth(run), 2))
    return frozen(run, layers=layers, after=run.budget.steps // 2)


def skipping(run: Run) -> Run:
    """Every second layer frozen, its backward pass estimated and left out more and more often (Shen et al. 2021)."""
    run = alternate(run, "transformer")
    fifth = run.budget.steps // 5
    return run.evolve(skip=Skip(layers=run.freeze.layers, most=0.9, warmup=fifth, anneal=2 * fifth, width=16))


def mixed(
    run: Run, name: str, *, post: bool = False, attention: int = 0, freeze: tuple[str, ...] = ()
) -> Run:
    """Another mixing than attention, which the top `attention` layers keep; the norms after each sum if `post`."""
    names = hybrid(_depth(run), attention, where="top", other=name) if name != "attention" else ()
    run = run.evolve(model={"mixing": names, "norm_first": not post})
    return frozen(run, patterns=freeze) if freeze else run


def masked(
    run: Run,
    keep: float = 0.5,
    drawn: str = "signed-constant",
    patterns: tuple[str, ...] = ("encoder.*",),
    **model: Any,
) -> Run:
    """Layers that stay as drawn, and a mask over each that is learned; embeddings, norms and readout are trained."""
    plan = Mask(keep=keep, drawn=drawn, patterns=patterns)  # type: ignore[arg-type]
    return run.evolve(mask=plan, model=model)


def rounded(run: Run, width: int) -> Run:
    """A model of another width, tested at 8 and 4 bits a weight as well."""
    return run.evolve(model={"d_model": width, "d_ff": 4 * width}, task={"rounded": (8, 4)})


def pruned(run: Run) -> Run:
    """The trained model with its layers pruned by magnitude to one half, and trained for a fifth of the steps more."""
    run = run.evolve(
        start=InitFromRun(f"{run.recipe}/trained", streams=("*",), same_seed=True),
        mask=Mask(keep=0.5, by="weight", patterns=("encoder.*",), scaled=False),
    )
    return run.evolve(budget={"steps": max(4, run.budget.steps // 5)})


def over_embeddings(run: Run) -> Run:
    """Masks over a model whose embeddings were trained with all the rest, and are frozen."""
    start = InitFromRun(f"{run.recipe}/trained", streams=("embedding", "positions"), same_seed=True)
    return masked(run).evolve(start=start, freeze=Freeze(embeddings=True))


def body(run: Run, how: str) -> Run:
    """Layers that were trained on another task: frozen, drawn anew with the same means and spreads, or trained on."""
    donor = DONORS[run.recipe.removeprefix("bench/")]
    layers, matched = ("encoder.*",), how == "matched"
    start = InitFromRun(f"bench/{donor}/trained", streams=layers, matched=matched, same_seed=True)
    run = run.evolve(start=start)
    return run if how == "fine-tuned" else frozen(run, attention=True, feed_forward=True)


class Row(NamedTuple):
    """What a row is: in words, on which tasks it makes sense, and what it makes of the trained model."""

    about: str
    tasks: tuple[str, ...]
    make: Callable[..., Run]


ATTENTION, FEED_FORWARD, EMBEDDINGS = ({part: True} for part in ("attention", "feed_forward", "embeddings"))
BODY = ATTENTION | FEED_FORWARD
NORMS = {"patterns": ("*norm*",)}
IDENTITY, HOLLOW = ({"drawn": drawn} for drawn in ("identity", "hollow"))
BARE: dict[str, Any] = {"patterns": ("*",), "bare": True}
WIDER = {"d_model": 64, "d_ff": 256}

CHANGED: dict[str, tuple[str, tuple[str, ...], Callable[..., Run] | dict[str, Any]]] = {
    "trained": ("everything trained", ALL, lambda run: run),
    # Removed.
    "no-attention": ("no attention: feed-forward layers alone", ALL, partial(only, kind="ffn")),
    "no-feed-forward": ("no feed-forward layers: attention alone", ALL, partial(only, kind="attention")),
    "half": ("half of the layers", RECALL, half),
    "half-longer": ("half of the layers, twice the steps", RECALL, partial(half, times=2)),
    "three-layers": ("three of four layers", ("circle",), lambda run: run.evolve(model={"layers": 3})),
    "identity-attention": ("identities in place of attention's maps", MAIN, ATTENTION | IDENTITY),
    "identity-feed-forward": (
        "identities in place of the feed-forward layers' maps",
        MAIN,
        FEED_FORWARD | IDENTITY,
    ),
    # Frozen at random.
    "frozen-attention": ("attention frozen at random", ALL, ATTENTION),
    "frozen-queries-keys": ("queries and keys frozen at random", ALL, lambda run: split(run, "queries_keys")),
    "frozen-values-output": (
        "values and output frozen at random",
        RECALL,
        lambda run: split(run, "values", "out"),
    ),
    "frozen-feed-forward": ("feed-forward layers frozen at random", ALL, FEED_FORWARD),
    "frozen-embeddings": ("embeddings frozen at random", ALL, EMBEDDINGS),
    "frozen-attention-feed-forward": ("attention and feed-forward layers frozen at random", ALL, BODY),
    "frozen-attention-embeddings": (
        "attention and embeddings frozen at random",
        MAIN,
        ATTENTION | EMBEDDINGS,
    ),
    "frozen-feed-forward-embeddings": (
        "feed-forward layers and embeddings frozen at random",
        MAIN,
        FEED_FORWARD | EMBEDDINGS,
    ),
    "hollow-attention": ("attention frozen at random, its diagonals zero", MAIN, ATTENTION | HOLLOW),
    "hollow-feed-forward": (
        "feed-forward layers frozen at random, their diagonals zero",
        MAIN,
        FEED_FORWARD | HOLLOW,
    ),
    "narrow": ("feed-forward layers of a quarter of the width", MAIN, partial(narrow, freeze=False)),
    "narrow-frozen": ("the same, frozen at random", MAIN, partial(narrow, freeze=True)),
    "only-norms": ("the norms alone are trained", MAIN, BODY | EMBEDDINGS | {"patterns": ("readout*",)}),
    "only-norms-readout": ("norms and readout alone are trained", MAIN, BODY | EMBEDDINGS),
    "only-embeddings": ("embeddings and readout alone are trained", RECALL, BODY | NORMS),
    "only-readout": ("the readout alone is trained", MAIN, BODY | EMBEDDINGS | NORMS),
    # Reservoirs.
    "reservoir-ffn": (
        "every second layer a frozen feed-forward layer",
        (*RECALL, "words"),
        partial(alternate, kind="ffn"),
    ),
    "trained-ffn": (
        "every second layer a trained feed-forward layer",
        MAIN,
        lambda run: kinds(run, ("transformer", "ffn") * (_depth(run) // 2)),
    ),
    "reservoir-transformer": (
        "every second layer frozen",
        (*RECALL, "words"),
        partial(alternate, kind="transformer"),
    ),
    "reservoir-gru": ("every second layer a frozen GRU", ("circle", "facts"), partial(alternate, kind="gru")),
    "reservoir-conv": (
        "every second layer a frozen dynamic convolution",
        ("circle", "facts"),
        partial(alternate, kind="conv"),
    ),
    **{
        f"between-{kind}": (
            f"frozen feed-forward layers between the trained ones{width}",
            ("facts", "grammar"),
            partial(between, kind=kind),
        )
        for kind, width in WIDTHS.items()
    },
    **{
        f"reservoir-{where}": (
            f"the {what} half of the layers frozen",
            ("circle",),
            partial(placed, where=where),
        )
        for where, what in (("bottom", "lower"), ("top", "upper"))
    },
    "layer-drop": (
        "every layer left out of a step with a chance of 20 %",
        ("circle", "brackets"),
        lambda run: run.evolve(model={"layer_drop": 0.2}),
    ),
    "late": ("every second layer frozen after half of the steps", ("circle", "brackets"), late),
    "backskipping": (
        "every second layer frozen, and its backward pass left out ever more often",
        ("circle", "brackets"),
        skipping,
    ),
}
"""Row -> what it is, on which tasks it makes sense, and what it makes of the trained model; or what it freezes."""
DRAWN = {"xavier": "xavier-uniform", "kaiming": "kaiming-uniform", "usual": "as-trained"}
MASKED: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    **{
        f"mask-{percent}": (f"masks of {percent} % over random layers", STORED, {"keep": percent / 100})
        for percent in (10, 30, 70, 90)
    },
    "mask": ("masks of 50 % over random layers", ALL, {}),
    "mask-attention": ("masks of 50 % over random attention", MAIN, {"patterns": ("*.attention.*",)}),
    "mask-feed-forward": (
        "masks of 50 % over random feed-forward layers",
        MAIN,
        {"patterns": ("*.feed_forward.*",)},
    ),
    "mask-embeddings": (
        "masks of 50 % over random embeddings",
        MAIN,
        {"patterns": ("embedding", "positions")},
    ),
    "mask-shared": ("one random layer and a mask of 50 % for each depth", RECALL, {"share_layers": True}),
    "mask-shared-everything": (
        "one random layer and a mask of 50 % for each depth, and one over all the rest; nothing else is trained",
        MAIN,
        {**BARE, "share_layers": True},
    ),
    "mask-shared-wider": (
        "one random layer, twice as wide, and a mask of 50 % for each depth",
        STORED,
        {**WIDER, "share_layers": True},
    ),
    "mask-shared-deeper": (
        "one random layer and a mask of 50 % for each of twice as many depths",
        STORED,
        {"share_layers": True, "layers": 4},
    ),
    **{
        f"mask-{name}-90": (
            f"masks of 90 % over layers drawn {DRAWN[name]}",
            STORED,
            {"keep": 0.9, "drawn": DRAWN[name]},
        )
        for name in ("xavier", "kaiming")
    },
    "mask-everything": (
        "masks of 50 % over everything, embeddings and readout too; nothing else is trained",
        MAIN,
        BARE,
    ),
    **{
        f"mask-{name}": (f"masks of 50 % over layers drawn {drawn}", STORED, {"drawn": drawn})
        for name, drawn in DRAWN.items()
    },
    "mask-wider": ("masks of 50 %, twice as wide", STORED, WIDER),
    "mask-deeper": ("masks of 50 %, twice as deep", STORED, {"layers": 4}),
}
"""Row -> what it is, on which tasks it makes sense, and the options of `masked`."""
MIXED: dict[str, tuple[str, dict[str, Any]]] = {
    "fourier": ("FNet's transform", {"name": "fourier"}),
    "fourier-scaled": ("FNet's transform, scaled", {"name": "fourier-normalised"}),
    "random-linear": ("fixed random maps", {"name": "linear", "freeze": ("*.linear.*",)}),
    "random-mixing": ("attention at fixed random weights", {"name": "random-mixing"}),
    "linear": ("trained linear maps", {"name": "linear"}),
    "mixer": ("MLP-Mixer's networks", {"name": "mlp"}),
    "hybrid": ("FNet's transform in all layers but the last", {"name": "fourier", "attention": 1}),
}
"""Row -> what stands in the place of attention, and the options of `mixed`."""


DONORS = {"lines": "words", "words": "lines", "facts": "words"}
"""Task -> the one on which the body was trained that it gets."""
HOWS = {
    "frozen": "layers that were trained on another task, frozen",
    "matched": "random layers with the same means and spreads as trained ones of another task, frozen",
    "fine-tuned": "layers that were trained on another task, and are trained on",
}


def _rows() -> dict[str, Row]:
    rows = {
        name: Row(about, tasks, partial(frozen, **make) if isinstance(make, dict) else make)
        for name, (about, tasks, make) in CHANGED.items()
    }
    for name, (about, tasks, options) in MASKED.items():
        rows[name] = Row(about, tasks, partial(masked, **options))
    rows["mask-longer"] = Row(
        "masks of 50 %, four times the steps", STORED, lambda run: longer(masked(run), 4)
    )
    unlearned = "masks of 50 % that stay as drawn, over random layers"
    rows["mask-random"] = Row(unlearned, RECALL, lambda run: frozen(masked(run), patterns=("*.scores",)))
    for width in (8, 16, 24, 32):
        about = f"everything trained at width {width}, then rounded to 8 and 4 bits"
        tasks = (*STORED, "recall") if width == 16 else STORED
        rows[f"rounded-{width}"] = Row(about, tasks, partial(rounded, width=width))
    for name, (what, options) in MIXED.items():
        about, make = f"{what} in place of attention", partial(mixed, **options)
        rows[f"mix-{name}"] = Row(about, OPEN, make)
        rows[f"mix-{name}-post"] = Row(f"{about}, norms after each sum", OPEN, partial(make, post=True))
    post = partial(mixed, name="attention", post=True)
    rows["post"] = Row("everything trained, norms after each sum", OPEN, post)
    about = "the trained model pruned to one half of its layers' weights, and trained on"
    rows["pruned"] = Row(about, MAIN, pruned)
    rows["mask-over-embeddings"] = Row("masks of 50 % over layers, trained embeddings", MAIN, over_embeddings)
    for name, row in rows.items():
        if not set(row.tasks) <= set(TASKS):
            raise ValueError(f"tasks of {name!r} must be a tuple of {', '.join(ALL)}, got {row.tasks!r}")
    return rows | {
        f"body-{how}": Row(words, tuple(DONORS), partial(body, how=how)) for how, words in HOWS.items()
    }


ROWS = _rows()
"""Name of a row -> what it is."""


@cache
def rates() -> dict[str, float]:
    """Chosen learning rates, by "<task>/<row>"."""
    return json.loads((shipped() / "bench" / "rates.json").read_text(encoding="utf-8"))


def make(task: str, row: str, scale: Scale, *, lr: float | None = None) -> Run:
    """A row of a task at its chosen learning rate, or at another.

    Raises:
        ValueError: there is no such task or row.
    """
    for what, name, known in (("task", task, TASKS), ("row", row, ROWS)):
        if name not in known:
            raise ValueError(f"the bench has no {what} {name!r}; {hint(name, known)}")
    run = ROWS[row].make(trained(task, scale))
    return run.evolve(optimiser={"lr": lr or rates().get(f"{task}/{row}", USUAL)})


def about(task: str, row: str) -> str:
    """What a row is, in words."""
    return ROWS[row].about + (f" ({DONORS[task]})" if row.startswith("body-") else "")


def table() -> list[tuple[str, str]]:
    """All (task, row): those of several sizes last."""
    found = [(task, name) for name, row in ROWS.items() for task in row.tasks]
    for task in SIZED:
        rows = next((rows for end, rows in FEW_ROWS.items() if task.endswith(end)), SIZED_ROWS)
        found += [(task, row) for row in rows]
    return found


for _task, _row in table():
    _about = f"{TASKS[_task].about.capitalize()}: {about(_task, _row)}."
    enter(f"bench/{_task}/{_row}", _about, make, _task, _row)
