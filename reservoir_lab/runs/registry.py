"""Names: the registry of recipes, which `reservoir_lab.recipes` enters, and where the records of each lie.

It holds functions and imports no run, so that a run can look up the one it begins with. Recipes are found once
`reservoir_lab.recipes` has been imported, which entry points do.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable
from functools import cache, wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from reservoir.datasets.shipped import shipped
from reservoir.layers.arguments import check_choice
from reservoir_lab.typed import hint, parse

Scale = Literal["smoke", "laptop", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "full")
Recipe = Callable[[Scale], Any]
"""From a scale to a run. `Run` itself stands above: what it begins with is another recipe, which it finds here."""
RECIPES: dict[str, Recipe] = {}
HEAD = b'{"recipe":'
"""How a line begins that says what the records below it share."""


def recipe(name: str) -> Callable[[Recipe], Recipe]:
    """Enter a function from a scale to a run under `name`, "<family>/<row>", which becomes the name of its runs."""

    def register(function: Recipe) -> Recipe:
        if name in RECIPES:
            raise ValueError(f"there are two recipes named {name!r}")

        @wraps(function)
        def named(scale: Scale = "laptop") -> Any:
            return function(scale).evolve(recipe=name)

        RECIPES[name] = named
        return named

    return register


def enter(name: str, words: str, make: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Enter one of many recipes that differ in a few arguments: `make(*arguments, scale, **options)` under `name`.

    Args:
        name: "<family>/<row>"; the run is given it.
        words: what it is, in a sentence.
        make: makes the run.
        arguments, options: go to `make`, before and after the scale.
    """

    def run(scale: Scale) -> Any:
        return make(*arguments, scale, **options)

    run.__doc__, run.__module__ = words, make.__module__
    recipe(name)(run)


def names() -> list[str]:
    """All recipes, such as "transformer/multi30k"."""
    return sorted(RECIPES)


def family(name: str, among: Iterable[str] | None = None) -> list[str]:
    """The recipes of a family, such as "transformer", or the one recipe of that name.

    Args:
        name: of the family or recipe.
        among: the names of all recipes; those of the registry if None.

    Raises:
        ValueError: there is none; the nearest name is suggested.
    """
    known = names() if among is None else sorted(among)
    found = [recipe for recipe in known if recipe == name or recipe.startswith(f"{name}/")]
    if not found:
        raise ValueError(_unknown(name, sorted({*known, *(n.partition("/")[0] for n in known)})))
    return found


def family_or_own(name: str) -> list[str]:
    """The recipes of a family, or the one recipe or run of your own of that name.

    Raises:
        ValueError: there is none; the nearest name is suggested.
    """
    return family(name, [*RECIPES, *own_names(RECIPES)])


def get(name: str, *, scale: Scale = "laptop", seed: int = 0) -> Any:
    """The run that a recipe stands for.

    Raises:
        ValueError: no such recipe or scale; the nearest recipe is named.
    """
    if name not in RECIPES:
        raise ValueError(_unknown(name, names()))
    check_choice("scale", scale, SCALES)
    return RECIPES[name](scale).evolve(seed=seed)


def elsewhere(name: str) -> str:
    """At which scales a run of that name is recorded, as the end of a sentence; empty if at none."""
    scales = " and the ".join(recorded := [scale for scale in SCALES if is_recorded(name, scale)])
    return f"; it is recorded at the {scales} scale: add --scale {recorded[0]}" if recorded else ""


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"there is no recipe {name!r}: none has been entered yet; import reservoir_lab.recipes first"
    known = [one for one in known if one.startswith(f"{name}/")] or known  # it may be a family
    return f"there is no recipe {name!r}; {hint(name, known, otherwise='`reservoir list` shows all')}"


def results() -> Path:
    """Where new records go: `$RESERVOIR_RESULTS`, or `results` in the current folder."""
    return Path(os.environ.get("RESERVOIR_RESULTS") or "results").expanduser()


def record_path(
    folder: Path, recipe: str, scale: str, seed: int, overrides: dict[str, Any] | None = None
) -> Path:
    """`<recipe>/<scale>/seed-<n>.json` under `folder`; a run with overrides gets a name of its own."""
    name = f"seed-{seed}"
    if overrides:
        name += "-with-" + blake2b(json.dumps(overrides, sort_keys=True).encode(), digest_size=4).hexdigest()
    return folder / recipe / scale / f"{name}.json"


def shipped_rows(family: str = "", folder: Path | None = None) -> dict[str, bytes]:
    """The lines of the records that ship, by "<recipe>/<scale>", as they stand in the file of each family.

    The first line of each has what the records share, and the others a seed's record each.

    Args:
        family: one family; all if empty.
        folder: where the files lie; by default the shipped ones.
    """
    folder = folder or shipped() / "results"
    files = [folder / f"{family}.jsonl"] if family else sorted(folder.glob("*.jsonl"))
    found: dict[str, bytes] = {}
    for file in files:
        if file.is_file():
            found |= _rows(file, file.stat().st_mtime_ns)
    return found


@cache
def _rows(file: Path, changed: int) -> dict[str, bytes]:
    rows: dict[str, list[bytes]] = {}
    try:
        for line in file.read_bytes().splitlines(keepends=True):
            if line.startswith(HEAD):
                head = parse(line)
                row = rows[f"{head['recipe']}/{head['scale']}"] = []
            row.append(line)
    except (ValueError, TypeError, KeyError, UnboundLocalError) as error:
        raise ValueError(f"{file} cannot be read ({error}): restore it from the repository") from error
    return {name: b"".join(lines) for name, lines in rows.items()}


def is_recorded(recipe: str, scale: str) -> bool:
    """Whether any seed of a recipe is recorded; no record is read."""
    sys.audit("reservoir.read", str(shipped() / "results" / recipe / scale))
    found = (path.name for path in (results() / recipe / scale).glob("seed-*.json"))
    return any("-with-" not in name for name in found) or f"{recipe}/{scale}" in shipped_rows(
        recipe.partition("/")[0]
    )


def own_names(recipes: Collection[str]) -> list[str]:
    """The names in the results folder that are no recipe's, as the folders have them: no file is read."""
    folder = results()
    records = (path for path in folder.glob("**/seed-*.json") if path.parent.name in SCALES)
    found = {path.parent.parent.relative_to(folder).as_posix() for path in records}
    return sorted(found.difference(recipes))
