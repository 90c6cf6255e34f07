"""Read the ledger of claims in `data/claims`, check it, and put it together with the quotations of the sources.

A file holds claims, and the margins and lists that they refer to; `data/claims/README.md` describes every field.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, get_args

from reservoir import recipes
from reservoir.datasets import shipped
from reservoir.evidence import sources
from reservoir.evidence.claims.measures import Measure
from reservoir.evidence.claims.quantities import OPERATIONS, Vocabulary, leaves
from reservoir.evidence.claims.ranges import RELATIONS
from reservoir.evidence.claims.schema import Block, Comparison, Condition, Entry, Ledger, Mark, Order
from reservoir.evidence.claims.special import JUDGES
from reservoir.evidence.comparison import comparisons

CLAIM = {
    *("id", "rule", "says", "where", "mark", "part_of", "late", "scale", "compare", "unless"),
    *("order", "special", "arguments", "recipes", "needs", "why"),
}
BLOCK = {
    *("a", "b", "gap", "is", "margin", "around", "low", "high", "measure", "each", "shown", "verdicts"),
    *("any", "on_means", "weak", "fewest", "label", "digits", "seen", "lowest_only", "intro"),
}
"""The fields of a claim and of a block of its comparisons."""

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
            _add(path, f"[measure.{name}]", name, found.measures, partial(_measure, name, written))
        found.margins[path.stem] = {}
        for name, written in data.get("margin", {}).items():
            _add(path, f"[margin.{name}]", name, found.margins[path.stem], partial(_margin, written))
    for path, data in files.items():
        margins, lists = found.margins[path.stem], data.get("list", {})
        words = Vocabulary(frozenset(found.measures), margins, lists)
        for written in data.get("claim", ()):
            name = written.get("id", "?")
            place = f'id = "{name}"'
            _add(path, place, name, found.entries, partial(_entry, written, words, found.measures))
            if name in found.descriptions:
                raise _wrong(path, place, name, "it is a description as well")
        for written in data.get("description", ()):
            name = written.get("id", "?")
            _add(path, f'id = "{name}"', name, found.descriptions, partial(_description, written))
            if name in found.entries:
                raise _wrong(path, f'id = "{name}"', name, "it is a claim as well")
    for entry in list(found.entries.values()):
        parts = [name for block in entry.blocks for group in block.verdicts.values() for name in group]
        if missing := set(parts) - found.entries.keys():
            raise LedgerError(f"{entry.name!r} rests on {', '.join(sorted(missing))}, which is no claim")
        if parts:
            names = dict.fromkeys(name for part in parts for name in found.entries[part].recipes)
            found.entries[entry.name] = replace(entry, recipes=tuple(names))
    return found


def _parsed(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LedgerError(f"{path.name} is no TOML: {error}") from error
    _only({"measure", "margin", "list", "claim", "description"}, data, path.name)
    return data


def _add(path: Path, place: str, name: str, known: dict[str, Any], make: Callable[[], Any]) -> None:
    """Enter what `make` makes of an entry, or say where in its file the entry is wrong."""
    if name in known:
        raise _wrong(path, place, name, "there are two of that name")
    try:
        known[name] = make()
    except KeyError as error:
        raise _wrong(path, place, name, f"it lacks {error}") from error
    except (ValueError, TypeError) as error:
        raise _wrong(path, place, name, str(error)) from error


def _wrong(path: Path, place: str, name: str, why: str) -> LedgerError:
    """An error that says on which line the entry stands; the last such line, as that is the second of two."""
    lines = path.read_text(encoding="utf-8").splitlines()
    at = max((number for number, line in enumerate(lines, 1) if line.strip().startswith(place)), default=1)
    return LedgerError(f"{path.name}, line {at}: {name!r}: {why}")


def _only(known: set[str], written: Mapping[str, Any], what: str) -> None:
    if unknown := written.keys() - known:
        raise LedgerError(
            f"{what} has no field {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
        )


def _measure(name: str, written: Mapping[str, Any]) -> Measure:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in written.items()
    }
    return Measure(name, **values)


def _margin(written: Mapping[str, Any]) -> float:
    _only({"value", "why"}, written, "a margin")
    if not written.get("why"):
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
    says, where, mark = _quoted(written)
    if "needs" in written:
        return Entry(name, says, where, mark, f"it would take {written['needs']}", why=written["why"])
    blocks = tuple(_block(one, words) for one in written.get("compare", ()))
    order = _order(written["order"], words) if "order" in written else None
    entry = Entry(
        name,
        says,
        where,
        mark,
        rule=written["rule"],
        recipes=tuple(dict.fromkeys(_recipes(written, blocks, measures))),
        late=written.get("late", False),
        scale=written.get("scale", "laptop"),
        blocks=blocks,
        conditions=tuple(one for each in written.get("unless", ()) for one in _conditions(each, words)),
        order=order,
        special=written.get("special", ""),
        arguments=written.get("arguments", {}),
    )
    if sum(map(bool, (entry.blocks, entry.order, entry.special))) != 1:
        raise ValueError("a claim needs one of compare, order, special and needs")
    if entry.special and entry.special not in JUDGES:
        raise ValueError(f"special must be one of {', '.join(JUDGES)}, got {entry.special!r}")
    if missing := set(entry.recipes) - set(recipes.RECIPES):
        raise ValueError(f"there is no recipe {', '.join(sorted(missing))}")
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


def _order(written: Mapping[str, Any], words: Vocabulary) -> Order:
    _only({"table", "margin", "measure", "contests"}, written, "an order")
    if written["table"] not in comparisons():
        raise ValueError(f"there is no table {written['table']!r}; there are {', '.join(comparisons())}")
    words.quantity("", written["measure"], {})  # the measure must exist
    margin = words.margin(written["margin"])
    return Order(written["table"], margin, written["measure"], written.get("contests", ""))


def _block(written: Mapping[str, Any], words: Vocabulary) -> Block:
    """The comparisons that a block stands for, one for each choice of its selection."""
    _only(BLOCK, written, "a comparison")
    texts = {key: written[key] for key in ("label", "digits", "seen", "intro", "fewest") if key in written}
    flags = {key: written[key] for key in ("any", "on_means", "weak", "lowest_only") if key in written}
    choices = words.choices(written.get("each", {}))
    if "verdicts" in written:
        groups = {
            texts["label"].format(**names): tuple(name.format(**names) for name in written["verdicts"])
            for names in choices
        }
        return Block((), verdicts=groups)
    return Block(tuple(_comparison(written, names, words) for names in choices), **texts, **flags)


def _comparison(written: Mapping[str, Any], names: dict[str, Any], words: Vocabulary) -> Comparison:
    measure, relation = written.get("measure", ""), written["is"]
    gap = written.get("gap", "difference" if "b" in written else "value")
    if relation not in (*RELATIONS, "between"):
        raise ValueError(f"is must be one of {', '.join(RELATIONS)} and between, got {relation!r}")
    if gap not in OPERATIONS:
        raise ValueError(f"gap must be one of {', '.join(OPERATIONS)}, got {gap!r}")
    if relation == "between":
        limits = tuple(words.margin(written[end]) for end in ("low", "high"))
    else:
        limits = (words.margin(written["margin"].format(**names)) if "margin" in written else 0.0,)
    if "around" in written:  # a number that the source states, which the margin lies on both sides of
        stated, relation = float(written["around"].format(**names)), "between"
        limits = (stated - limits[0], stated + limits[0])
    return Comparison(
        words.quantity(written["a"], measure, names),
        words.quantity(written["b"], measure, names) if "b" in written else None,
        gap,
        relation,
        limits,
        names,
        {key: words.quantity(value, measure, names) for key, value in written.get("shown", {}).items()},
    )


def _conditions(written: Mapping[str, Any], words: Vocabulary) -> Iterator[Condition]:
    _only({"of", "measure", "least", "seen", "each"}, written, "a condition")
    for names in words.choices(written.get("each", {})):
        of = words.quantity(written["of"], written.get("measure", ""), names)
        yield Condition(of, words.margin(written["least"]), written["seen"], names)


def _recipes(
    written: Mapping[str, Any], blocks: Iterable[Block], measures: Mapping[str, Measure]
) -> Iterator[str]:
    """The recipes whose records decide a claim: those that its comparisons read, or that it names by patterns."""
    patterns = written.get("recipes", ())
    without = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    for name in recipes.names():
        if _matches(name, patterns) and not _matches(name, without):
            yield name
    if "order" in written:
        yield from comparisons()[written["order"]["table"]].names
    for comparison in (one for block in blocks for one in block.comparisons):
        for quantity in (comparison.a, comparison.b, *comparison.shown.values()):
            for leaf in leaves(quantity) if quantity else ():
                yield from measures[leaf.measure].needs(leaf.recipe)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
