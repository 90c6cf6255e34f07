"""The fields of a recipe's run with their values: what `run RECIPE --help` prints, without importing torch.

They stand in `data/fields.json`, which `make catalogue` writes, with what docstrings say of them.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

from reservoir import launch
from reservoir.datasets.shipped import shipped
from reservoir.launch.catalogue import catalogue, sources_digest
from reservoir.launch.console import show
from reservoir.runs.registry import family, own_names

WIDTH = 100
ABOUT = """usage: python -m reservoir run {name} [--FIELD VALUE ...]

Any of these fields can be changed; the values are those of {name} {where}.
`run --help` lists the other options: --scale, --seeds, and --data PATH for data of your own (--task.files... too)."""


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


def stored() -> Fields:
    """The fields of all recipes as they are stored, or as the registry has them where recipes have changed since."""
    try:
        found = Fields(**json.loads((shipped() / "fields.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return launch.cataloguing.fields_from_registry()
    return found if found.digest == sources_digest() else launch.cataloguing.fields_from_registry()


def write() -> None:
    """Store the fields, a recipe a line."""
    made = asdict(launch.cataloguing.fields_from_registry())
    recipes = ",\n".join(f"{json.dumps(name)}: {json.dumps(said)}" for name, said in made["recipes"].items())
    words = json.dumps(made["words"], indent=1, ensure_ascii=False)
    text = f'{{\n"digest": "{made["digest"]}",\n"words": {words},\n"recipes": {{\n{recipes}\n}}\n}}\n'
    (shipped() / "fields.json").write_text(text, encoding="utf-8")


def show_fields(name: str) -> None:
    """Print the fields of the runs of a recipe or family, or of a run of one's own, with their values."""
    recipes = catalogue().recipes
    own = name in own_names(recipes)
    name = name if own else family(name, recipes)[0]
    known = launch.cataloguing.fields_of_own(name) if own else stored()
    show(ABOUT.format(name=name, where="as it is recorded" if own else "at the laptop scale"))
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
