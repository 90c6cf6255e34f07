"""The recipes, without importing them: what `list` prints.

They stand in `data/recipes.json`, made from the registry with a digest of the recipes' sources. Where the sources have
changed since, the registry itself is asked, which takes seconds. `make generated` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.table import Column

import reservoir_lab as lab
from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_write
from reservoir_lab.corpora.own.parts import FILES
from reservoir_lab.launch.console import new_table, show, show_json
from reservoir_lab.runs.registry import SCALES, family, is_recorded, own_names, results
from reservoir_lab.typed import decode

FILE = "recipes.json"


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


def sources_digest() -> str:
    """The digest of the files that define recipes."""
    texts = [
        path.read_bytes() for path in sorted((Path(__file__).resolve().parents[1] / "recipes").glob("*.py"))
    ]
    return sha256(b"\0".join(text.replace(b"\r\n", b"\n") for text in texts)).hexdigest()


def catalogue() -> Catalogue:
    """The stored catalogue, or one made now where the recipes have changed since it was stored."""
    try:
        found = decode(shipped() / FILE, Catalogue, remedy="make generated")
    except ValueError:
        return from_registry()
    return found if found.digest == sources_digest() else from_registry()


def from_registry() -> Catalogue:
    """What the recipes themselves say."""
    return Catalogue(sources_digest(), *lab.recipes.described())


def write() -> None:
    """Store the catalogue."""
    text = json.dumps(asdict(from_registry()), indent=1, ensure_ascii=False) + "\n"
    atomic_write(shipped() / FILE, text.encode(), advice="the catalogue is written into the checkout")


def list_recipes(names: Sequence[str], *, as_json: bool = False) -> None:
    """Print all families and the runs of one's own, or the recipes and runs of those that are named."""
    known = catalogue()
    own = {name: _about(name) for name in own_names(known.recipes)}
    if names:
        described = known.recipes | own
        found = _listed({one: described[one] for name in names for one in family(name, described)})
        show_json(found) if as_json else _show(found, "recipe")
        return
    families = []
    for name, about in known.families.items():
        members = family(name, known.recipes)
        recorded = [one for one in members if any(is_recorded(one, scale) for scale in SCALES)]
        families.append({"family": name, "about": about, "recipes": len(members), "recorded": len(recorded)})
    if as_json:
        show_json({"families": families, "own": _listed(own)})
        return
    table = new_table(
        "family", "what it is", *(Column(name, justify="right") for name in ("recipes", "recorded"))
    )
    for row in families:
        table.add_row(*map(str, row.values()))
    show(table)
    if own:
        _show(_listed(own), "run of your own")
    show("reservoir list FAMILY lists its recipes")


def _listed(described: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"recipe": name, "about": about, "recorded": [scale for scale in SCALES if is_recorded(name, scale)]}
        for name, about in described.items()
    ]


def _show(found: Sequence[Mapping[str, Any]], kind: str) -> None:
    table = new_table(kind, "what it is", "recorded")
    for row in found:
        table.add_row(row["recipe"], row["about"], ", ".join(row["recorded"]) or "-")
    show(table)


def _about(name: str) -> str:
    """What a run of one's own is, as its newest record says: "own/translator on it-en"."""
    path = max((results() / name).glob("*/seed-*.json"), key=lambda path: path.stat().st_mtime)
    try:
        run = json.loads(path.read_text(encoding="utf-8"))["run"]
        task = run["task"]
        data = next(task[field] for field in ("corpus", "text", "images", "kind") if field in task)
        return f"{run.get('base') or 'a run without a recipe'} on {data.removeprefix(FILES)}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return f"its record is damaged: {path}"
