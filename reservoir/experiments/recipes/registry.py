"""The list that recipes enter themselves in."""

from __future__ import annotations

from collections.abc import Callable

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
