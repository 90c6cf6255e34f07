"""The list that recipes enter themselves in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reservoir.experiments.run import Run, Scale

Recipe = Callable[[Scale], Run]
RECIPES: dict[str, Recipe] = {}


def recipe(name: str) -> Callable[[Recipe], Recipe]:
    """Enter a function from a scale to a run under `name`, "<family>/<row>"."""

    def enter(function: Recipe) -> Recipe:
        if name in RECIPES:
            raise ValueError(f"there are two recipes named {name!r}")
        RECIPES[name] = function
        return function

    return enter


def enter(name: str, words: str, make: Callable[..., Run], *arguments: Any, **options: Any) -> None:
    """Enter one of many recipes that differ in a few arguments: `make(*arguments, scale, **options)` under `name`.

    Args:
        name: "<family>/<row>"; the run is given it.
        words: what it is, in a sentence.
        make: makes the run.
        arguments, options: go to `make`, before and after the scale.
    """

    def run(scale: Scale = "laptop") -> Run:
        return make(*arguments, scale, **options).but(recipe=name)

    run.__doc__, run.__module__ = words, make.__module__
    recipe(name)(run)
