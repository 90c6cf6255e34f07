"""What the five documents ran or describe beyond the rows of their tables, each with our recipes: who covers what.

A system is named in the source's terms. Its recipes are patterns over the names of recipes, so that a curve of nine
points is one line. What is covered by rows of tables stands in `reservoir.evidence.source_recipes`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pandas as pd

from reservoir import recipes
from reservoir.evidence import sources
from reservoir.evidence.source_recipes import COMPARISONS
from reservoir.runs.records import all_records
from reservoir.runs.registry import SCALES

CHAPTER = re.compile(r"Chapters? (\d+)")


@dataclass(frozen=True)
class System:
    """One thing that a source ran, or says that it will.

    Args:
        source: a file of `data/sources`.
        where: in the source.
        words: what it is.
        recipes: patterns over the names of recipes.
        why: where there is none, the reason.
    """

    source: str
    where: str
    words: str
    recipes: tuple[str, ...] = ()
    why: str = ""

    @property
    def names(self) -> list[str]:
        """The recipes that the patterns match."""
        return [name for name in recipes.names() if any(fnmatchcase(name, p) for p in self.recipes)]


def of(source: str, where: str, words: str, *patterns: str) -> System:
    """A system that has recipes."""
    return System(source, where, words, patterns)


SYSTEMS = (
    of("reservoir-transformers", "§1", "regular transformers, by encoder depth", "reservoirs/regular-*"),
    of("reservoir-transformers", "§1", "whole transformer layers as reservoirs", "reservoirs/transformer-*"),
    of("reservoir-transformers", "[2nd]", "feed-forward reservoirs", "reservoirs/ffn-*"),
    of("reservoir-transformers", "§1", "recurrent reservoirs", "reservoirs/gru-*"),
    of("reservoir-transformers", "§1", "convolutional reservoirs", "reservoirs/conv-*"),
    of("reservoir-transformers", "[2nd]", "LayerDrop", "reservoirs/layer-drop-*"),
    of("reservoir-transformers", "[2nd]", "WMT, with up to 24 encoder layers", "wmt-reservoirs/*"),
    of("reservoir-transformers", "Abstract", "language modelling (enwik8 [2nd])", "characters/*"),
    of("reservoir-transformers", "§1", "masked language models, frozen in pretraining", "masked/*"),
    of("reservoir-transformers", "§1", "layers frozen when fine-tuning", "fine-tune/*"),
    of("reservoir-transformers", "§1", "backskipping", "backskipping/none", "backskipping/estimated"),
    of("bair", "first paragraph", "echo state layers in a transformer", "reservoirs/*-6", "reservoirs/*-8"),
    of("bair", "last paragraph", "a synthetic gradient predictor", "backskipping/synthetic"),
    System(
        "bair",
        "last paragraph",
        "probing",
        why="announced there and not shown: `reservoir.training.probing` does it, on the models of other recipes",
    ),
    of(
        "blog",
        "first paragraph",
        "GPT-2, its attention and feed-forward layers frozen",
        "universal/*/pretrained/*",
    ),
    of("blog", "second paragraph", "the same, trained from scratch", "universal/*/full/*"),
    of("blog", "on FNet", "FNet, pretrained", "mixing/fourier*", "mixing/pre-norm/fourier*"),
    of("blog", "on FNet", "FNet, fine-tuned", "mixing/sst-2/*fourier*", "mixing/rte/*fourier*"),
    of("blog", "on FNet", "vanilla transformers beside it", "mixing/attention*", "mixing/*/attention*"),
    of("blog", "footnote 1", "MLP-Mixer's mixing", "mixing/mixer", "mixing/*/mixer"),
    of(
        "blog", "footnote 2", "a fixed recurrent network with a trained output layer", "sentences/echo-states"
    ),
    of("one-layer", "figure 2", "random layers of their own, random embeddings", "keep/layers-random-*"),
    of("one-layer", "figure 2", "one random layer, random embeddings", "keep/shared-random-*"),
    of("one-layer", "figure 2", "the fully weighted model", "keep/trained", "wmt/base-trained"),
    of("one-layer", "figure 2", "one random layer on WMT14, random embeddings", "wmt/base-random"),
    of("one-layer", "figure 3", "one random layer, pretrained embeddings", "keep/shared-pretrained-*"),
    of(
        "one-layer",
        "figure 3",
        "random layers of their own, pretrained embeddings",
        "keep/layers-pretrained-*",
    ),
    of("one-layer", "figure 4", "deeper", "keep/deep-random-*", "keep/deep-pretrained-*"),
    of("one-layer", "figure 4", "wider", "keep/wide-random-*", "keep/wide-pretrained-*"),
    of("one-layer", "figure 5", "Xavier uniform in place of kaiming uniform", "initial/xavier-*"),
    of("one-layer", "figure 6", "QQP", "pairs/qqp-*"),
    of("one-layer", "figure 7", "MNLI", "pairs/mnli-*", "fine-tune/mnli/regular-4"),
    of("one-layer", "figures 6 and 7", "RoBERTa_large", "pairs-wide/*", "masked-wide/*"),
    of("fnet", "[code]", "Linear: two learned matrices", "mixing/linear", "mixing/*/linear"),
    of("fnet", "[code]", "Random: the same two, frozen", "mixing/random", "mixing/*/random"),
    of("fnet", "[code]", "FF-only: no mixing", "mixing/feed-forward", "mixing/*/feed-forward"),
    of("fnet", "[code]", "Hybrid: attention in some layers", "mixing/hybrid-*", "mixing/*/hybrid-*"),
)


def chapter(recipe: str) -> int:
    """The chapter that a recipe belongs to: the one that the module of its family names first."""
    first = next(name for name in recipes.RECIPES if name.partition("/")[0] == recipe.partition("/")[0])
    said = sys.modules[recipes.RECIPES[first].__module__].__doc__ or ""
    return int(CHAPTER.search(said)[1])


def rows() -> list[System]:
    """The rows of the sources' tables as systems: each with its recipes, or the reason why it has none."""
    found = []
    for where, beside in COMPARISONS.items():
        source, table = where.partition("/")[::2]
        for row, *_ in sources.table(where).rows:
            cells = [(row, column) for column in beside.measures]
            names = dict.fromkeys(name for cell in cells for name in beside.recipes.get(cell, ()))
            why = "" if names else "; ".join(dict.fromkeys(beside.why[cell] for cell in cells))
            found.append(System(source, table, row, tuple(names), why))
    return found


def coverage() -> pd.DataFrame:
    """Every system of the sources, a line each: its recipes, how many are recorded, and where the book has it.

    "laptop" and "full" count the recipes that have a record at the scale, of those that there are.
    """
    recorded = {(record.recipe, record.scale) for record in all_records()}
    lines = []
    for one in (*rows(), *SYSTEMS):
        names = one.names
        run = {scale: sum((name, scale) in recorded for name in names) for scale in SCALES}
        lines.append(
            {
                "source": one.source,
                "where": one.where,
                "system": one.words,
                "recipes": _shown(names) if names else one.why,
                "chapter": ", ".join(str(number) for number in sorted({chapter(name) for name in names})),
                "laptop": f"{run['laptop']} of {len(names)}" if names else "",
                "full": f"{run['full']} of {len(names)}" if names else "",
            }
        )
    return pd.DataFrame(lines)


def _shown(names: list[str]) -> str:
    if len(names) < 3:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"


def unclaimed() -> list[str]:
    """Recipes that stand for nothing in the sources: the book's own questions and controls."""
    taken = {name for one in (*rows(), *SYSTEMS) for name in one.names}
    return [name for name in recipes.names() if name not in taken]


def cost() -> pd.DataFrame:
    """What the records took: for each chapter and family their number and processor hours, laptop and full scale."""
    lines = []
    for record in all_records():
        if record.recipe in recipes.RECIPES and record.scale != "smoke":
            lines.append(
                {
                    "chapter": chapter(record.recipe),
                    "family": record.recipe.partition("/")[0],
                    "records": 1,
                    "recipes": record.recipe,
                    "core-hours": record.cpu_seconds / 3600,
                }
            )
    if not lines:
        return pd.DataFrame(columns=["recipes", "records", "core-hours"])
    grouped = pd.DataFrame(lines).groupby(["chapter", "family"])
    return grouped.agg({"recipes": "nunique", "records": "sum", "core-hours": "sum"})
