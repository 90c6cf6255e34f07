"""Every run of the book by name: a recipe is a function from a scale to a run; its docstring says which row it is.

Importing this package imports each module in it, so a new module needs no line here. A module's docstring begins with
what its family is; one that holds several has `FAMILIES`, from the name of each to that sentence.
"""

import importlib
import pkgutil
import sys

from reservoir_lab.runs.registry import RECIPES, Recipe, family, get, names

__all__ = ["RECIPES", "Recipe", "described", "family", "get", "names"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def described() -> tuple[dict[str, str], dict[str, str]]:
    """A sentence on each family, and one on each recipe."""
    families: dict[str, str] = {}
    for name in names():
        family, module = name.partition("/")[0], sys.modules[RECIPES[name].__module__]
        families.setdefault(
            family, getattr(module, "FAMILIES", {}).get(family) or _first_line(module.__doc__)
        )
    return families, {name: _first_line(RECIPES[name].__doc__) for name in names()}


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
