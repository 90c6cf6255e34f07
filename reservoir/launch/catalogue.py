"""The recipes by name and in a sentence, without importing them: what `list` prints.

They stand in `data/recipes.json`, made from the registry with a digest of the recipes' sources. Where the sources have
changed since, the registry itself is asked, which takes seconds. `make catalogue` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from rich.table import Column

from reservoir import launch
from reservoir.datasets.shipped import PACKAGE, shipped
from reservoir.launch.console import new_table, show
from reservoir.runs.places import is_recorded
from reservoir.runs.registry import SCALES, family


@dataclass(frozen=True)
class Catalogue:
    """What there is to run.

    Args:
        digest: of the recipes' sources.
        families: a family's name -> the first line of the module that defines it.
        recipes: a recipe's name -> the first line of its docstring.
    """

    digest: str
    families: dict[str, str]
    recipes: dict[str, str]


def file() -> Path:
    """Where the catalogue lies."""
    return shipped() / "recipes.json"


def sources_digest() -> str:
    """The digest of the files that define recipes."""
    texts = [path.read_bytes() for path in sorted((PACKAGE / "recipes").glob("*.py"))]
    return sha256(b"\0".join(text.replace(b"\r\n", b"\n") for text in texts)).hexdigest()


def catalogue() -> Catalogue:
    """The stored catalogue, or one made now where the recipes have changed since it was stored."""
    try:
        stored = Catalogue(**json.loads(file().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return launch.cataloguing.from_registry()
    return stored if stored.digest == sources_digest() else launch.cataloguing.from_registry()


def write() -> None:
    """Store the catalogue."""
    text = json.dumps(asdict(launch.cataloguing.from_registry()), indent=1, ensure_ascii=False)
    file().write_text(text + "\n", encoding="utf-8")


def list_recipes(names: Sequence[str]) -> None:
    """Print all families, or the recipes of those that are named."""
    known = catalogue()
    if names:
        table = new_table("recipe", "what it is", "recorded")
        for recipe in (recipe for name in names for recipe in family(name, known.recipes)):
            recorded = [scale for scale in SCALES if is_recorded(recipe, scale)]
            table.add_row(recipe, known.recipes[recipe], ", ".join(recorded) or "-")
        show(table)
        return
    table = new_table(
        "family", "what it is", *(Column(name, justify="right") for name in ("recipes", "recorded"))
    )
    for name, about in known.families.items():
        members = family(name, known.recipes)
        recorded_members = [
            recipe for recipe in members if any(is_recorded(recipe, scale) for scale in SCALES)
        ]
        table.add_row(name, about, str(len(members)), str(len(recorded_members)))
    show(table)
    show("python -m reservoir list FAMILY lists its recipes")
