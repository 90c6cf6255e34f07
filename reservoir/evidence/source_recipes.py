"""Which recipe each row of the sources' tables is, or why it is none.

What chapters 4, 9 and 10 know of their tables is taken from their recipes' modules; what is left stands here. A test
fails when an entry has neither a recipe nor a reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from reservoir.evidence import sources
from reservoir.evidence.comparison import Comparison, Measure, horizon, score, setting, swept, total, trained
from reservoir.recipes.components import ROWS, in_table
from reservoir.recipes.supermasks import TABLE as TABLE_1
from reservoir.recipes.universal import BODIES, PAPERS_RATE, SWITCHES, sweep_of, switch_name

Recipes = dict[tuple[str, str], tuple[str, ...]]

POSTER = {"poster/big": "components", "poster/narrow": "narrow", "poster/lm": "language"}
"""The poster's tables -> the families that have a recipe for each of their rows."""

TASKS = {
    "BitMem": "bit-memory",
    "XOR": "bit-xor",
    "ListOps": "listops",
    "MNIST": "mnist",
    "CIFAR10": "cifar10",
    "C10-LRA": "cifar10-pixels",
    "Homology": "homology",
}
"""What two papers on frozen bodies call their tasks -> what our recipes call them."""

BODY = {words: name for name, (_, words) in BODIES.items()} | {"fully trained": "full"}
"""What they call their models -> what our recipes call them."""

SETTINGS: dict[str, Measure] = {
    "learning rate": setting(lambda run: f"{run.optimiser.lr:g}"),
    "dropout": setting(lambda run: run.model.dropout),
    "weight decay": setting(lambda run: f"{run.optimiser.weight_decay:g}"),
    "epochs": setting(lambda run: f"{run.budget.steps:,} steps"),
    "tokens a batch": setting(lambda run: run.task.max_tokens * run.budget.accumulate),
}

A_RULE = "a rule and no run: `reservoir.weights.placement`, and a test compares"
DEEPER = "36 layers: the frozen bodies of our full scale all have the 12 of the paper's other columns"
NO_LOADER = "the book has no loader for this task of GLUE"
NO_VIT = "no vision transformer's weights are among the book's data"
MISMATCHED = "the second test set of glue/mnli, whose records have both"
GLUE = {"MNLI-m": "glue/mnli", "QQP": "glue/qqp", "MRPC": "glue/mrpc"}


def _one(column: str, named: Mapping[str, str]) -> Recipes:
    """A recipe a row, beside one column."""
    return {(row, column): (name,) for row, name in named.items()}


def _poster(where: str) -> Comparison:
    """Rows by their numbers. Each reading of "diagonal zeroed" is a line."""
    family, column = POSTER[where], sources.table(where).columns[4]
    found: Recipes = {}
    for row, (number, _, _) in ROWS.items():
        if in_table(family, row):
            found[number, column] = (*found.get((number, column), ()), f"{family}/{row}")
    return Comparison(where, {column: score}, found, best="largest" if column == "BLEU" else "smallest")


def _universal(where: str, measure: Measure) -> Comparison:
    """Models by tasks, at the one rate of the first paper or at the best of all that are tried."""
    table, sweep = sources.table(where), measure is swept
    found = {
        (row, column): tuple(
            name for name in sweep_of(TASKS[column], BODY[row]) if sweep or name.endswith(f"/{PAPERS_RATE}")
        )
        for row, *_ in table.rows
        for column in table.columns[1:]
        if row in BODY
    }
    why = {(row, column): NO_VIT for row, *_ in table.rows for column in table.columns[1:] if row not in BODY}
    return Comparison(
        where, dict.fromkeys(table.columns[1:], measure), found, why, sweep=sweep, best="largest"
    )


def _added() -> Comparison:
    """What is trained, by what the body begins with; the paper's task is CIFAR-10, ours is digits."""
    where = "frozen-pretrained/cifar10-added"
    starts = sources.table(where).columns[1:]
    found = {
        (row, start): (switch_name(start, parts),)
        for (row, *_), parts in zip(sources.table(where).rows, SWITCHES, strict=False)
        for start in starts
    }
    return Comparison(where, dict.fromkeys(starts, score), found, best="largest")


COMPARISONS: dict[str, Comparison] = {
    one.where: one
    for one in (
        Comparison(
            "reservoir-transformers/placement",
            {"layers": score},
            {},
            why={(row, "layers"): A_RULE for row in ("3 of 7", "2 of 7")},
        ),
        Comparison(
            "reservoir-transformers/horizons",
            {"hours": horizon},
            _one(
                "hours",
                {
                    "IWSLT": "reservoirs/regular-6",
                    "WMT": "wmt-reservoirs/regular",
                    "enwik8": "characters/regular-6",
                    "RoBERTa": "masked/regular-6",
                },
            ),
        ),
        *(_poster(where) for where in POSTER),
        _universal("frozen-pretrained/accuracy", score),
        Comparison(
            "frozen-pretrained/cifar10-depth",
            {"CIFAR10": score},
            _one("CIFAR10", {"at the size of the other columns": "universal/cifar10/pretrained/lr-1e-3"}),
            why={("first table", "CIFAR10"): DEEPER},
        ),
        _added(),
        Comparison(
            "frozen-pretrained/trainable",
            {"parameters": trained},
            _one(
                "parameters",
                {name: f"universal/{task}/pretrained/lr-1e-3" for name, task in TASKS.items()},
            ),
        ),
        _universal("cross-modal/accuracy", swept),
        Comparison(
            "fnet/large-glue",
            {"score": score},
            {
                ("SST-2", "score"): ("mixing/sst-2/fourier-unnormalised", "mixing/sst-2/fourier"),
                ("RTE", "score"): ("mixing/rte/fourier",),
                **{(task, "score"): (name,) for task, name in GLUE.items()},
            },
            why={
                ("MNLI-mm", "score"): MISMATCHED,
                **{(task, "score"): NO_LOADER for task in ("QNLI", "CoLA", "STS-B")},
            },
        ),
        Comparison(
            "fnet/parameters",
            {"parameters": total},
            _one(
                "parameters",
                {"base": "mixing/fourier-unnormalised", "large": "mixing/fourier-unnormalised-large"},
            ),
        ),
        Comparison("one-layer/translation", {"BLEU": score}, _one("BLEU", TABLE_1), best="largest"),
        Comparison(
            "one-layer/random-embeddings",
            {"BLEU": score},
            _one("BLEU", {"IWSLT": "keep/shared-random-50", "WMT": "wmt/base-random"}),
        ),
        Comparison(
            "one-layer/settings",
            SETTINGS,
            {
                (task, column): (name,)
                for task, name in {"IWSLT": "keep/shared-random-50", "WMT": "wmt/base"}.items()
                for column in SETTINGS
            },
        ),
    )
}
"""Every table of `data/sources`, in the order of the documents."""
