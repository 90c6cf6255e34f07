"""The recipes with their fields, without importing them: what `list` and `run RECIPE --help` print.

They stand in `data/recipes.json` and `data/fields.json`, made from the registry with a digest of the recipes' sources.
Where the sources have changed since, the registry itself is asked, which takes seconds. `make generated` writes the
files anew.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Any, TypeVar

from rich.table import Column

from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_writes
from reservoir_lab import launch
from reservoir_lab.corpora.own.parts import FILES
from reservoir_lab.launch.console import new_table, show, show_json
from reservoir_lab.runs.registry import SCALES, family, is_recorded, own_names, results
from reservoir_lab.typed import decode

WIDTH = 100
ABOUT = """usage: reservoir {command} {name} [--FIELD VALUE ...]

Any of these fields can be changed; the values are those of {name} {where}.
`{command} --help` lists the other options."""


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


@dataclass(frozen=True)
class Fields:
    """The fields of some runs.

    Args:
        digest: of the recipes' sources.
        words: a class and its field, such as "Budget.steps" -> what it takes, and what it is.
        recipes: a run's name -> what differs from the run before it: a field by its dotted name -> the class that has
            it and its value, or None where there is no such field any more.
    """

    digest: str
    words: dict[str, list[str]]
    recipes: dict[str, dict[str, Any]]

    def of(self, name: str) -> dict[str, Any]:
        """The fields of a run, part by part."""
        found: dict[str, Any] = {}
        for recipe, changes in self.recipes.items():
            found |= changes
            if recipe == name:
                break
        parts = list(dict.fromkeys(field.partition(".")[0] for field in found))
        names = sorted(found, key=lambda f: (parts.index(f.partition(".")[0]), f.rpartition(".")[0]))
        return {field: found[field] for field in names if found[field]}


def sources_digest() -> str:
    """The digest of the files that define recipes."""
    texts = [
        path.read_bytes() for path in sorted((Path(__file__).resolve().parents[1] / "recipes").glob("*.py"))
    ]
    return sha256(b"\0".join(text.replace(b"\r\n", b"\n") for text in texts)).hexdigest()


T = TypeVar("T", Catalogue, Fields)


def catalogue() -> Catalogue:
    """The stored catalogue, or one made now where the recipes have changed since it was stored."""
    return _stored(Catalogue, "recipes.json", from_registry)


def fields() -> Fields:
    """The stored fields, or those made now where the recipes have changed since they were stored."""
    return _stored(Fields, "fields.json", fields_from_registry)


def from_registry() -> Catalogue:
    """What the recipes themselves say."""
    return Catalogue(sources_digest(), *launch.cataloguing.from_registry())


def fields_from_registry() -> Fields:
    """The fields of every recipe at the laptop scale."""
    return Fields(sources_digest(), *launch.cataloguing.fields_from_registry())


def _stored(kind: type[T], name: str, make: Callable[[], T]) -> T:
    try:
        found = decode(shipped() / name, kind, remedy="make generated")
    except ValueError:
        return make()
    return found if found.digest == sources_digest() else make()


def write() -> None:
    """Store the catalogue, and the fields with a recipe a line."""
    listed = json.dumps(asdict(from_registry()), indent=1, ensure_ascii=False) + "\n"
    made = fields_from_registry()
    recipes = ",\n".join(f"{json.dumps(name)}: {json.dumps(said)}" for name, said in made.recipes.items())
    words = json.dumps(made.words, indent=1, ensure_ascii=False)
    text = f'{{\n"digest": "{made.digest}",\n"words": {words},\n"recipes": {{\n{recipes}\n}}\n}}\n'
    atomic_writes({shipped() / "recipes.json": listed.encode(), shipped() / "fields.json": text.encode()})


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


def show_fields(name: str, command: str = "run") -> None:
    """Print the fields of the runs of a recipe or family, or of a run of one's own, with their values.

    Args:
        name: of the recipe, family or run.
        command: that takes the fields.
    """
    recipes = catalogue().recipes
    own = name in own_names(recipes)
    name = name if own else family(name, recipes)[0]
    known = Fields(sources_digest(), *launch.cataloguing.fields_of_own(name)) if own else fields()
    where = "as it is recorded" if own else "at the laptop scale"
    show(ABOUT.format(command=command, name=name, where=where))
    for field, (kind, value) in known.of(name).items():
        takes, about = known.words[f"{kind}.{field.rpartition('.')[2]}"]
        *parts, last = field.replace("_", "-").split(".")
        option = f"--{'.'.join([*parts, last])}"
        if isinstance(value, bool):  # as the command line has it
            option, takes = f"{option}, --{'.'.join([*parts, f'no-{last}'])}", "yes" if value else "no"
        else:
            takes += f" = {shlex.join(map(str, value if isinstance(value, list) else [value]))}"
        show(f"\n{option} {takes}".rstrip())
        if about:
            show(fill(about, WIDTH, initial_indent="    ", subsequent_indent="    "))
