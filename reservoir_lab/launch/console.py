"""What a terminal shows: tables as wide as they need to be, text as it is given, and wrong usage in one sentence.

And what `list` shows: the recipes, in half a second. Importing them takes seconds, since it imports PyTorch, so what
they say is kept in the cache until a source file changes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console, RenderableType
from rich.table import Column, Table

import reservoir
import reservoir_lab as lab
from reservoir.datasets.shipped import cache_dir
from reservoir.files import WriteError, atomic_write
from reservoir_lab.corpora.own import FILES
from reservoir_lab.runs.registry import SCALES, family, is_recorded, own_names, results
from reservoir_lab.typed import decode

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves a terminal's cursor, changes its colours or turns its writing round; tabs and line ends apart."""
UNLIMITED = 10_000
"""Columns of what is no terminal, so that a name in a file or a pipe is never cut or broken."""


def console() -> Console:
    """The console that commands print to. Text is never read as markup: a name may hold any character."""
    limited = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(markup=False, highlight=False, emoji=False, width=None if limited else UNLIMITED)


def printable(text: str) -> str:
    """Text in which control characters, which others may have written, are escaped."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


class _Cells(Table):
    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*(printable(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def new_table(*columns: Any, **options: Any) -> Table:
    """A table whose cells are broken where a terminal is too narrow, and never cut; control characters are escaped."""
    table = _Cells(*columns, **options)
    for column in table.columns:
        column.overflow = "fold"
    return table


def show(*things: RenderableType) -> None:
    """Print tables, and text without breaking its lines."""
    for thing in things:
        is_text = isinstance(thing, str)
        console().print(printable(str(thing)) if is_text else thing, soft_wrap=is_text)


def show_json(found: Any) -> None:
    """Print data for programs."""
    print(printable(json.dumps(found, ensure_ascii=False, indent=1)))


T = TypeVar("T")


class UsageError(ValueError):
    """The command line cannot be understood."""


def in_one_sentence(parse: Callable[[], T]) -> T:
    """Call `parse`, which calls `tyro.cli`, and return what it returns.

    Raises:
        UsageError: tyro refused the command line. It prints why in a frame of several lines; this is one sentence.
        SystemExit: tyro printed help.
        BrokenPipeError: it did, and nobody reads it.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            return parse()
    except SystemExit as end:
        if not end.code:
            sys.stdout.flush()  # help is in the buffer, and its reader may have gone
            raise
    raise UsageError(sentence(printed.getvalue()))


def sentence(frame: str) -> str:
    """Turn a frame of tyro's, with sections between rules, into a sentence: the fault, what would do, where help is."""
    # Without the title; rules are of - where the output is not UTF-8.
    body = "\n".join(frame.splitlines()[1:])
    parts = [" ".join(re.sub("[│╰╯]", " ", part).split()) for part in re.split("[─-]{4,}", body)]
    sections = [part for part in parts if part]
    fault = re.sub("^Error parsing (__tyro-dummy-inner__.*?: )?", "", sections[0]).removesuffix("(required)")
    parts = [fault]
    if option := re.search(r"(--[\w.-]+)(?: \[?([A-Z]+))?", " ".join(sections[1:-1])):
        parts.append(f"it takes {option[2]}" if option[1] in fault else f"did you mean {option[1]}?")
    parts.append(sections[-1].replace("For full helptext", "for help"))
    message = "; ".join(part.strip().rstrip(".") for part in parts)
    return message[0].lower() + message[1:]


@dataclass(frozen=True)
class Catalogue:
    """What there is to run.

    Args:
        digest: of the sources that it was made from.
        families: a family's name -> the first line of the module that defines it.
        recipes: a recipe's name -> the first line of its docstring.
    """

    digest: str
    families: dict[str, str]
    recipes: dict[str, str]


def sources_digest() -> str:
    """The digest of all that recipes import of ours: some are named after what the library offers."""
    digest = sha256()
    for house in (reservoir, lab):
        root = Path(house.__path__[0])
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def catalogue() -> Catalogue:
    """The catalogue in the cache, or a new one where there is none or the sources have changed."""
    digest, name = sources_digest(), "recipes.json"
    # There is none yet, or it is damaged, or no home for a cache: then every call takes as long as the first.
    with contextlib.suppress(ValueError, RuntimeError):
        found = decode(cache_dir() / name, Catalogue, remedy="delete it")
        if found.digest == digest:
            return found
    made = Catalogue(digest, *lab.recipes.described())
    with contextlib.suppress(WriteError, RuntimeError):
        atomic_write(cache_dir() / name, json.dumps(asdict(made)).encode())
    return made


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
