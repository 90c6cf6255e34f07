"""The catalogue of recipes and of their fields, made from the registry: imports every recipe, and so torch."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from reservoir_lab import recipes
from reservoir_lab.launch.catalogue import Catalogue, Fields, sources_digest
from reservoir_lab.runs.registry import SCALES, find_run, is_recorded
from reservoir_lab.runs.run import Run, every_leaf

SAID_OTHERWISE = ("recipe", "scale", "seed", "base", "start")
"""Fields of a run that are no options: the command line sets them in other ways, or not from nothing."""


def from_registry() -> Catalogue:
    """What the recipes themselves say."""
    families: dict[str, str] = {}
    for name in recipes.names():
        module = sys.modules[recipes.RECIPES[name].__module__]
        families.setdefault(name.partition("/")[0], _first_line(module.__doc__))
    described = {name: _first_line(recipes.RECIPES[name].__doc__) for name in recipes.names()}
    return Catalogue(sources_digest(), families, described)


def fields_from_registry() -> Fields:
    """The fields of every recipe at the laptop scale."""
    return _fields(recipes.get(name) for name in recipes.names())


def fields_of_own(name: str) -> Fields:
    """The fields of a run of one's own, at the first scale at which it is recorded."""
    return _fields([find_run(name, scale=next(scale for scale in SCALES if is_recorded(name, scale)))])


def _fields(runs: Iterable[Run]) -> Fields:
    words: dict[str, list[str]] = {}
    found: dict[str, dict[str, Any]] = {}
    before: dict[str, Any] = {}
    for run in runs:
        now: dict[str, Any] = {}
        for leaf in every_leaf(run):
            if leaf.name not in SAID_OTHERWISE:
                words |= _words(leaf.part)
                now[leaf.name] = [leaf.part.__name__, leaf.value]
        changes = {field: said for field, said in now.items() if before.get(field) != said}
        found[run.recipe] = changes | dict.fromkeys(field for field in before if field not in now)
        before = now
    return Fields(sources_digest(), words, found)


@cache
def _words(kind: type) -> dict[str, list[str]]:
    """What each field of a dataclass takes, and what its docstring, or that of a class above it, says of it."""
    hints, about = get_type_hints(kind), dict[str, str]()
    for above in reversed(kind.__mro__):
        for names, said in re.findall(r"^ {8}(\w+(?:, \w+)*): (.*(?:\n {12}.*)*)", above.__doc__ or "", re.M):
            about |= dict.fromkeys(names.split(", "), " ".join(said.split()))
    return {
        f"{kind.__name__}.{entry.name}": [_takes(hints[entry.name]), about.get(entry.name, "")]
        for entry in fields(kind)
    }


def _takes(hint: Any) -> str:
    """What stands for a value: "INT", "FLOAT FLOAT", "STR ...", "refuse|skip"."""
    kinds = get_args(hint)
    if get_origin(hint) is Literal:
        return "|".join(map(str, kinds))
    if get_origin(hint) in (Union, UnionType):
        return "|".join("None" if one is NoneType else _takes(one) for one in kinds)
    if get_origin(hint) is tuple:
        return " ".join("..." if one is Ellipsis else _takes(one) for one in kinds)
    return getattr(hint, "__name__", "value").upper()


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
