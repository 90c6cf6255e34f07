"""What the sources print: their tables and a few of their sentences, each with where it stands and how it was read.

A chapter that sets a paper's figure next to ours takes it from here, so that it is written down once, with its source.
The files lie in `data/sources`, one a source. A figure that nobody has checked has no place there.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from reservoir.datasets.shipped import shipped
from reservoir_lab.typed import hint

QUOTE_KINDS = {
    "doc": "read in the document itself",
    "2nd": "quoted from another document's quotation of it",
    "code": "read in the code that its authors released",
    "derived": "recomputed by us from sizes that it states",
}
"""How a figure was come by. What is only remembered has no kind, and is not shown."""

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")
MARKS = {"✓": True, "✗": False}


class SourceError(ValueError):
    """Nothing has the name that was asked for, or an entry is no number."""


@dataclass(frozen=True)
class Figure:
    """One entry of a source's table.

    Args:
        where: source and table, such as "poster/big".
        row, column: as the source calls them.
        printed: the text as it stands there, such as ".82".
        kind: a key of `QUOTE_KINDS`.
    """

    where: str
    row: str
    column: str
    printed: str
    kind: str

    @property
    def value(self) -> float:
        """The number that the text begins with."""
        return number(self.printed)

    def __str__(self) -> str:
        return f"{self.printed} [{self.kind}]"


@dataclass(frozen=True)
class Table:
    """A table of a source, every entry as it is printed there.

    Args:
        where: source and table, such as "poster/big".
        source: the source's title.
        kind: how its entries were come by, a key of `QUOTE_KINDS`.
        title, note: its heading, and what one has to know to read it.
        columns: their names; the first names the rows.
        rows: their entries.
        ours: what stands next to them, as `reservoir_lab.evidence.comparison` reads it.
    """

    where: str
    source: str
    kind: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    ours: Mapping[str, Any] = field(default_factory=dict)

    def figure(self, row: str, column: str) -> Figure:
        """One entry.

        Raises:
            SourceError: there is no such row or column.
        """
        entries = named("row", row, {one[0]: one for one in self.rows}, self.where)
        printed = named("column", column, dict(zip(self.columns[1:], entries[1:], strict=True)), self.where)
        return Figure(self.where, row, column, printed, self.kind)

    def frame(self) -> pd.DataFrame:
        """The table with its rows by name: columns of numbers as numbers, ✓ and ✗ as true and false."""
        frame = self.printed()
        for column in frame:
            values = list(frame[column])
            if all(value in MARKS for value in values):
                frame[column] = [MARKS[value] for value in values]
            elif all(map(NUMBER.match, values)):
                frame[column] = list(map(number, values))
        return frame

    def printed(self) -> pd.DataFrame:
        """The table as it is printed, every entry a text."""
        frame = pd.DataFrame(self.rows, columns=list(self.columns)).set_index(self.columns[0])
        return frame.rename_axis(None)


@dataclass(frozen=True)
class Claim:
    """A sentence of a source: in its own words if the kind is "doc", else in ours.

    Args:
        name: source and claim, such as "poster/width".
        kind: a key of `QUOTE_KINDS`.
        place: where in the source it stands.
        text: the words.
        source: the source's title.
    """

    name: str
    kind: str
    place: str
    text: str
    source: str

    @property
    def words(self) -> str:
        """The text, in quotation marks where it is the source's own."""
        return f"“{self.text}”" if self.kind == "doc" else self.text

    @property
    def stands(self) -> str:
        """Source and place, with the mark of how it was read."""
        return f"{self.source}, {self.place} [{self.kind}]"

    def __str__(self) -> str:
        return f"{self.words} ({self.source}, {self.place}) [{self.kind}]"

    def _repr_html_(self) -> str:
        return f"<blockquote><p>{escape(self.words)}<br><small>{escape(self.stands)}</small></p></blockquote>"


@dataclass(frozen=True)
class System:
    """One thing that a source ran or describes, beyond the rows of its tables.

    Args:
        source: a file of `data/sources`.
        where: in the source.
        words: what it is, in the source's terms.
        recipes: patterns over the names of our recipes, so that a curve of nine points is one line.
        why: where there is none, the reason.
    """

    source: str
    where: str
    words: str
    recipes: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Source:
    """A document that the book is compared with.

    Args:
        name: what our files call it, such as "poster".
        title, authors, year: of the document; the year is None where our copy does not say.
        citation: its key in the book's bibliography; empty where it has no entry there.
        number: its place in the order in which the book takes the sources.
        tables, claims: what we quote, by name.
        systems: what else it ran or describes.
    """

    name: str
    number: int
    title: str
    authors: str
    year: int | None
    citation: str
    tables: dict[str, Table]
    claims: dict[str, Claim]
    systems: tuple[System, ...] = ()


def names() -> list[str]:
    """The sources that are quoted, in the order in which the book takes them."""
    return sorted(_files(), key=lambda name: source(name).number)


def source(name: str) -> Source:
    """One source with all that is quoted from it.

    Raises:
        SourceError: there is none of that name.
    """
    return read(named("source", name, _files(), "data/sources"))


def table(where: str) -> Table:
    """A table by source and name, such as "poster/big"."""
    name, _, rest = where.partition("/")
    return named("table", rest, source(name).tables, name)


def claim(where: str) -> Claim:
    """A claim by source and name, such as "poster/width"."""
    name, _, rest = where.partition("/")
    return named("claim", rest, source(name).claims, name)


def number(printed: str) -> float:
    """The number that a printed entry begins with: "34.66 (±0.11)" is 34.66, "148MB" is 148.

    Raises:
        SourceError: it begins with none.
    """
    found = NUMBER.match(printed)
    if not found:
        raise SourceError(f"{printed!r} begins with no number")
    return float(found[0])


@functools.cache
def read(path: Path) -> Source:
    """One file of `data/sources`; tests check what lies there."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    about, tables, claims = data["source"], {}, {}
    title = about["title"]
    for entry in data.get("table", ()):
        where, columns, rows = f"{path.stem}/{entry['id']}", entry["columns"], map(tuple, entry["rows"])
        heading, note, ours = entry["title"], entry["note"], entry.get("ours", {})
        kind = entry["kind"]
        tables[entry["id"]] = Table(where, title, kind, heading, note, tuple(columns), tuple(rows), ours)
    for entry in data.get("claim", ()):
        text = entry["text"] if isinstance(entry["text"], str) else "”, “".join(entry["text"])
        name = f"{path.stem}/{entry['id']}"
        claims[entry["id"]] = Claim(name, entry["kind"], entry["where"], text, title)
    systems = tuple(
        System(path.stem, one["where"], one["words"], tuple(one.get("recipes", ())), one.get("why", ""))
        for one in data.get("system", ())
    )
    authors, year, citation = about["authors"], about.get("year"), about.get("citation", "")
    return Source(path.stem, about.get("number", 0), title, authors, year, citation, tables, claims, systems)


def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted((shipped() / "sources").glob("*.toml"))}


Named = TypeVar("Named")


def named(what: str, name: str, known: Mapping[str, Named], where: str) -> Named:
    """What has the name; a SourceError says which is near where nothing has."""
    if name not in known:
        raise SourceError(f"{where} has no {what} {name!r}; {hint(name, known)}")
    return known[name]
