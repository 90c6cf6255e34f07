"""Read the ledger of claims in `data/claims`, check it, and put it together with the quotations of the sources.

A file holds claims, and the margins and lists that they refer to; `data/claims/README.md` describes every field.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, get_args

from reservoir.datasets.shipped import shipped
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.claims import budgets
from reservoir_lab.evidence.claims.measures import OPERATIONS, RELATIONS, Measure, Vocabulary, check
from reservoir_lab.evidence.claims.schema import (
    OF_A_BLOCK,
    Block,
    Compared,
    Entry,
    Ledger,
    Mark,
    Order,
)
from reservoir_lab.evidence.claims.special import JUDGES, check_arguments
from reservoir_lab.evidence.comparison import comparisons

CLAIM = {
    *("id", "rule", "formerly", "says", "where", "mark", "part_of", "scale", "compare"),
    *("order", "special", "arguments", "recipes", "needs", "why"),
}
BLOCK = {*OF_A_BLOCK, "shown"}
TELLING = {field.name for field in fields(Block)} - {"comparisons"}
"""The fields of a claim, and of a block of its comparisons: what is compared, and how it is put together and told."""

MARKS: tuple[Mark, ...] = get_args(Mark)


class LedgerError(ValueError):
    """A file of claims is wrong; the message names the file, the line and the claim."""


def ledger() -> Ledger:
    """The ledger that ships with the book."""
    return read(shipped() / "claims")


@functools.cache
def read(folder: Path) -> Ledger:
    """Read and check every file of a ledger.

    Raises:
        LedgerError: something in it is wrong.
    """
    files = {path: _parsed(path) for path in sorted(folder.glob("*.toml"))}
    found = Ledger({}, {}, {}, {})
    for path, data in files.items():
        for name, written in data.get("measure", {}).items():
            _add(path, "[measure.{}]", name, found.measures, partial(_measure, name, written))
        found.margins[path.stem] = {}
        for name, written in data.get("margin", {}).items():
            _add(path, "[margin.{}]", name, found.margins[path.stem], partial(_margin, written))
    for path, data in files.items():
        words = Vocabulary(frozenset(found.measures), found.margins[path.stem], data.get("list", {}))
        for written in data.get("claim", ()):
            entry = partial(_entry, written, words, found.measures)
            _add(path, 'id = "{}"', written.get("id", "?"), found.entries, entry, found.descriptions)
        for written in data.get("description", ()):
            instead = partial(_description, written)
            _add(path, 'id = "{}"', written.get("id", "?"), found.descriptions, instead, found.entries)
    return found


def _parsed(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LedgerError(f"{path.name} is no TOML: {error}") from error
    _only({"measure", "margin", "list", "claim", "description"}, data, path.name)
    return data


def _add(
    path: Path,
    place: str,
    name: str,
    known: dict[str, Any],
    make: Callable[[], Any],
    others: Container[str] = (),
) -> None:
    """Enter what `make` makes of an entry, or say in which line of its file it is wrong."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    there = [number for number, text in lines if text.startswith(place.format(name))]
    at = f"{path.name}, line {there[-1] if there else 1}"  # the last: that of the second of two
    try:
        if name in known or name in others:
            raise ValueError("there are two of that name")
        known[name] = made = make()
        if isinstance(made, Entry):
            known[name] = dataclasses.replace(made, place=at)
    except (ValueError, TypeError, KeyError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise LedgerError(f"{at}: {name!r}: {why}") from error


def _only(known: set[str], written: Mapping[str, Any], what: str) -> None:
    if unknown := written.keys() - known:
        raise LedgerError(
            f"{what} has no field {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
        )


def _measure(name: str, written: Mapping[str, Any]) -> Measure:
    made = Measure(name, **written)
    for idle in made.idle.values():
        if isinstance(idle, str):
            _check_recipe(made, idle)
    return made


def _check_recipe(measure: Measure, name: str) -> None:
    """Refuse a recipe that is not registered, or a figure that no source prints."""
    if measure.reads == "printed":
        measure.figure(name)
    for one in measure.needs(name):
        check("recipe", one, recipes.RECIPES)


def _check_patterns(patterns: Iterable[str]) -> None:
    """Refuse a pattern that no recipe's name matches; one that excludes, after its "!", as well."""
    for pattern in patterns:
        wanted = pattern.removeprefix("!")
        if not any(_matches(name, [wanted]) for name in recipes.names()):
            check("recipe", wanted, recipes.RECIPES)


def _margin(written: Mapping[str, Any]) -> float:
    _only({"value", "why"}, written, "a margin")
    if not written.get("why", "").strip():
        raise ValueError("a margin needs a reason: say why")
    return float(written["value"])


def _description(written: Mapping[str, Any]) -> str:
    _only({"id", "instead"}, written, "a description")
    sources.claim(written["id"])  # it must be quoted
    return written["instead"]


def _entry(written: Mapping[str, Any], words: Vocabulary, measures: Mapping[str, Measure]) -> Entry:
    """One claim, checked."""
    _only(CLAIM, written, "a claim")
    name = written["id"]
    for block in (written, written.get("order", {}), *written.get("compare", ())):
        if blank := [
            key for key in ("rule", "budgets", "tuning", "why") if key in block and not block[key].strip()
        ]:
            raise ValueError(f"{blank[0]} is blank: say it, or leave it out")
    _check_patterns(written.get("recipes", ()))
    says, where, mark = _quoted(written)
    if "needs" in written:
        return Entry(*(name, says, where, mark, f"it would take {written['needs']}"), why=written["why"])
    scale = written.get("scale", "laptop")
    blocks = tuple(_block(one, words) for one in written.get("compare", ()))
    for block in blocks:
        for leaf in block.leaves():
            _check_recipe(measures[leaf.measure], leaf.recipe)
        budgets.check(block, measures, scale)
    plain = {key: written[key] for key in ("rule", "scale", "special", "arguments") if key in written}
    entry = Entry(
        *(name, says, where, mark),
        recipes=tuple(dict.fromkeys(_recipes(written, blocks, measures))),
        blocks=blocks,
        order=_order(written["order"], words, scale) if "order" in written else None,
        **plain,
    )
    if sum(map(bool, (entry.blocks, entry.order, entry.special))) != 1:
        raise ValueError("a claim needs one of compare, order, special and needs")
    if entry.special:
        check("special judge", entry.special, JUDGES)
        check_arguments(entry.special, entry.arguments)
    for name in entry.recipes:
        check("recipe", name, recipes.RECIPES)
    return entry


def _quoted(written: Mapping[str, Any]) -> tuple[str, str, Mark]:
    """The words of a claim, their place, and whose words they are."""
    if "says" not in written:
        quoted = sources.claim(written["id"])
        return quoted.words, quoted.stands, "quotation" if quoted.kind == "doc" else "paraphrase"
    says, where, mark = written["says"], written["where"], written.get("mark")
    if mark not in MARKS:
        raise ValueError(f"words that are not quoted need a mark, one of {', '.join(MARKS)}, got {mark!r}")
    if mark == "quotation" and says.strip("“”") not in sources.claim(written["part_of"]).text:
        raise ValueError(f"{says} is no part of {written['part_of']!r}")
    return says, where, mark


def _order(written: Mapping[str, Any], words: Vocabulary, scale: str) -> Order:
    _only({field.name for field in fields(Order)}, written, "an order")
    check("table", written["table"], comparisons())
    words.quantity("", written["measure"], {})  # the measure must exist
    made = Order(**{**written, "margin": words.margin(written["margin"])})
    budgets.check_order(
        made, (line.recipe for line in comparisons()[made.table].lines() if line.recipe), scale
    )
    return made


def _block(written: Mapping[str, Any], words: Vocabulary) -> Block:
    """The comparisons that a block stands for, one for each choice of its selection."""
    _only(BLOCK | TELLING, written, "a comparison")
    if (rival := written.get("rival", "b")) not in ("a", "b"):
        raise ValueError(f"the rival must be a or b, got {rival!r}")
    compared = tuple(_comparison(written, names, words) for names in words.choices(written.get("each", {})))
    return Block(compared, **{key: written[key] for key in TELLING & written.keys()})


def _comparison(written: Mapping[str, Any], names: dict[str, Any], words: Vocabulary) -> Compared:
    measure, relation = written.get("measure", ""), written["is"]
    gap = written.get("gap", "difference" if "b" in written else "value")
    check("relation", relation, RELATIONS)
    check("operation", gap, OPERATIONS)
    if relation == "between":
        limits = tuple(words.margin(written[end]) for end in ("low", "high"))
    else:
        limits = (words.margin(written["margin"], names) if "margin" in written else 0.0,)
    if "around" in written:  # a number that the source states, which the margin lies on both sides of
        stated, relation = float(written["around"].format(**names)), "between"
        limits = (stated - limits[0], stated + limits[0])
    return Compared(
        words.quantity(written["a"], measure, names),
        words.quantity(written["b"], measure, names) if "b" in written else None,
        gap,
        relation,
        limits,
        names,
        {key: words.quantity(value, measure, names) for key, value in written.get("shown", {}).items()},
    )


def _recipes(
    written: Mapping[str, Any], blocks: Iterable[Block], measures: Mapping[str, Measure]
) -> Iterator[str]:
    """The recipes whose records decide a claim: those that its comparisons read, or that it names by patterns."""
    patterns = written.get("recipes", ())
    without = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    yield from (name for name in recipes.names() if _matches(name, patterns) and not _matches(name, without))
    if "order" in written:
        yield from comparisons()[written["order"]["table"]].names
    for leaf in (leaf for block in blocks for leaf in block.leaves()):
        yield from measures[leaf.measure].needs(leaf.recipe)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
