"""Every run of the book by name: a recipe is a function from a scale to a run; its docstring says which row it is.

Importing this package imports each module in it, so a new module needs no line here.
"""

import importlib
import pkgutil

from reservoir_lab.runs.registry import RECIPES, Recipe, family, get, names

__all__ = ["RECIPES", "Recipe", "family", "get", "names"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
