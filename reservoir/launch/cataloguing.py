"""The catalogue of recipes, made from the registry: imports every recipe, and so torch."""

from __future__ import annotations

import sys

from reservoir import recipes
from reservoir.launch.catalogue import Catalogue, sources_digest


def from_registry() -> Catalogue:
    """What the recipes themselves say."""
    families: dict[str, str] = {}
    for name in recipes.names():
        module = sys.modules[recipes.RECIPES[name].__module__]
        families.setdefault(name.partition("/")[0], _first_line(module.__doc__))
    described = {name: _first_line(recipes.RECIPES[name].__doc__) for name in recipes.names()}
    return Catalogue(sources_digest(), families, described)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
