"""Every run of the book by name: a recipe is a function from a scale to a run; its docstring says which row it is."""

from __future__ import annotations

from reservoir.recipes import (
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
from reservoir.runs.registry import RECIPES, Recipe, family, get, names

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
