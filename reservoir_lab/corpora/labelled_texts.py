"""Texts with a class each: sentiment, entailment, paraphrase, and an embedded set that only word order decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from reservoir.datasets import Labelled, grammar
from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError, shipped
from reservoir_lab.corpora import manifest
from reservoir_lab.corpora.fetching import fetch
from reservoir_lab.corpora.own import FILES, Files, own_labelled
from reservoir_lab.corpora.reading import read_lines
from reservoir_lab.typed import decode

ORDER_SIZES = {"test": 500, "valid": 300, "train": 2000}


@dataclass(frozen=True)
class LabelledCorpus:
    """Labelled texts to train on, to watch, and to test on, by the test's name; `classes` names the classes.

    `notes` and `places` are as in `ParallelCorpus`.
    """

    name: str
    classes: tuple[str, ...]
    train: Labelled
    valid: Labelled
    tests: dict[str, Labelled]
    notes: tuple[str, ...] = ()
    places: Mapping[str, Callable[[int], str]] = field(default_factory=dict, repr=False, compare=False)


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A corpus in tab-separated files: its columns, how its files write the classes, and how many texts validate.

    Args:
        archive: the .zip that the files lie in, if they do.
        broken: lines that may have another number of columns and are left out, where a corpus is known to have some.
    """

    train: str
    tests: dict[str, str]
    texts: list[str]
    label: str
    classes: dict[str, str]  # as written in the file -> as we call it
    held_out: int
    archive: str = ""
    broken: int = 0


TABLES = decode(shipped() / "labelled.toml", dict[str, _Table], remedy="restore it from the repository")
CLASSES = {
    "miniature-order": ("effect first", "cause first"),
    **{name: tuple(table.classes.values()) for name, table in TABLES.items()},
}
"""The corpora that `labelled` knows, with the names of their classes."""


def labelled(name: str, *, seed: int = 0, files: Files | None = None) -> LabelledCorpus:
    """Return a labelled corpus, fetched if need be.

    GLUE keeps the labels of its test sets to itself, so its development sets are what one tests on ("dev"), and
    validation takes some texts out of the training set. In SST-2 those are phrases, of which others from the same
    review stay in training: its validation scores flatter, its "dev" does not.

    Args:
        name: "miniature-order" (generated, needs no download: German sentences with "weil", lower-cased; which comes
            first, cause or effect? the words do not say, their order does), "sst-2" (Socher et al. 2013), "rte"
            (Dagan et al. 2005 and later), "mrpc" (Dolan & Brockett 2005, which has a test set of its own), "mnli"
            (Williams et al. 2018; "matched" tests on the genres of its training set, "mismatched" on others), "qqp"
            (Quora question pairs: do two questions ask the same?), or "files:PATH" for a table of your own, CSV or TSV,
            or a folder with train.csv and, if you like, valid.csv and any number of test*.csv.
        seed: decides which texts are generated or held out.
        files: which columns of your own are read, and how they are split.

    Raises:
        DataError: the name is unknown, or the data cannot be had or read.
    """
    if name.startswith(FILES):
        return _own(name, files or Files())
    if name not in CLASSES:
        raise manifest.unknown("labelled corpus", name, [*CLASSES, "files:PATH"])
    if name == "miniature-order":
        return _order(name, seed)
    table, folder = TABLES[name], fetch(name)
    whole = _read(folder, table.train, table)
    order = Draws(seed).shuffled(range(len(whole)))
    train, valid = _rows(whole, order[table.held_out :]), _rows(whole, order[: table.held_out])
    tests = {test: _read(folder, file, table) for test, file in table.tests.items()}
    return LabelledCorpus(name, CLASSES[name], train, valid, tests)


@lru_cache(maxsize=2)
def _order(name: str, seed: int) -> LabelledCorpus:
    reasons = (one for one in grammar.sentences(seed) if "weil" in map(str.lower, one.words))

    def take(size: int) -> Labelled:
        """Half of either class, or the order that is more frequent would be the better guess."""
        found: tuple[list[str], list[str]] = ([], [])
        while min(map(len, found)) < size // 2:
            sentence = next(reasons)
            found[sentence.words[0] == "Weil"].append(sentence.de.lower())
        pairs = [(text, label) for label in (0, 1) for text in found[label][: size // 2]]
        return Labelled([(text,) for text, _ in pairs], [label for _, label in pairs])

    parts = {part: take(size) for part, size in ORDER_SIZES.items()}
    return LabelledCorpus(name, CLASSES[name], parts["train"], parts["valid"], {"test": parts["test"]})


def _own(name: str, files: Files) -> LabelledCorpus:
    found, classes, notes = own_labelled(name, files)
    numbers = {label: number for number, label in enumerate(classes)}
    parts = {
        part: Labelled([row[:-1] for row in rows.rows], [numbers[row[-1]] for row in rows.rows])
        for part, rows in found.items()
    }
    places = {part: rows.where for part, rows in found.items()}
    return LabelledCorpus(
        name, classes, parts.pop("train"), parts.pop("valid"), parts, notes=tuple(notes), places=places
    )


def _rows(whole: Labelled, rows: list[int]) -> Labelled:
    return Labelled([whole.texts[row] for row in rows], [whole.labels[row] for row in rows])


def _read(folder: Path, file: str, table: _Table) -> Labelled:
    archive = folder / table.archive if table.archive else folder / file
    lines = read_lines(archive, member=file) if table.archive else read_lines(archive)
    where = f"{archive}, {file}" if table.archive else str(archive)
    head, *lines = lines or [""]
    names = head.split("\t")
    if missing := {*table.texts, table.label} - set(names):
        raise DataError(
            f"{where}, line 1: no column is named {', '.join(sorted(missing))}; they are {', '.join(names)}"
        )
    texts, label = [names.index(text) for text in table.texts], names.index(table.label)
    classes = list(table.classes)
    found, broken = Labelled([], []), 0
    for number, line in enumerate(lines, start=2):
        cells = line.split("\t")
        if len(cells) != len(names):
            broken += 1
            if broken > table.broken:
                few = f", and so have {table.broken} lines before it" if table.broken else ""
                raise DataError(
                    f"{where}, line {number}: there are {len(cells)} columns, not {len(names)}{few}"
                )
            continue
        if cells[label] not in classes:
            known = ", ".join(classes)
            raise DataError(
                f"{where}, line {number}: {table.label} must be one of {known}, got {cells[label]!r}"
            )
        found.texts.append(tuple(cells[column].strip() for column in texts))
        found.labels.append(classes.index(cells[label]))
    return found
