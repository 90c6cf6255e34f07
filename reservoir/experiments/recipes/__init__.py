"""Every run of the book by name: a recipe is a function from a scale to a run; its docstring says which row it is."""

from __future__ import annotations

import difflib

from reservoir.experiments.recipes import (
    backskipping,
    beyond,
    characters,
    combinations,
    components,
    embeddings,
    fine_tuning,
    gpt,
    masked,
    mixing,
    reservoirs,
    rivals,
    seeds,
    sentences,
    supermasks,
    transformer,
    universal,
)
from reservoir.experiments.recipes.registry import RECIPES, Recipe
from reservoir.experiments.run import SCALES, Run, Scale

__all__ = [
    "RECIPES",
    "Recipe",
    "backskipping",
    "beyond",
    "characters",
    "combinations",
    "components",
    "embeddings",
    "family",
    "fine_tuning",
    "get",
    "gpt",
    "masked",
    "mixing",
    "names",
    "reservoirs",
    "rivals",
    "seeds",
    "sentences",
    "supermasks",
    "transformer",
    "universal",
]


def names() -> list[str]:
    """All recipes, such as "transformer/multi30k"."""
    return sorted(RECIPES)


def family(name: str) -> list[str]:
    """The recipes of a family, such as "transformer", or the one recipe of that name."""
    found = [recipe for recipe in names() if recipe == name or recipe.startswith(f"{name}/")]
    if not found:
        raise ValueError(_unknown(name, sorted({*names(), *(n.partition("/")[0] for n in names())})))
    return found


def get(name: str, *, scale: Scale = "laptop", seed: int = 0) -> Run:
    """The run that a recipe stands for.

    Raises:
        ValueError: no such recipe or scale; the nearest recipe is named.
    """
    if name not in RECIPES:
        raise ValueError(_unknown(name, names()))
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return RECIPES[name](scale).but(seed=seed)


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else "`python -m reservoir list` shows all"
    return f"there is no recipe {name!r}; {hint}"
