"""Tables of one's own, CSV or TSV with a first line that names the columns: labelled texts, labelled numbers."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.fetching import read_lines, read_text
from reservoir_lab.corpora.own.parts import (
    Files,
    Rows,
    find,
    path_of,
    split,
    without_blanks,
)

TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
RECORDS = re.compile(r"\.(jsonl|parquet)\b", re.IGNORECASE)
TEXT_NAMES = ("text", "sentence", "review", "comment", "message", "content", "utterance", "document")
LABEL_NAMES = ("label", "class", "category", "target", "sentiment", "intent", "stars", "topic")


@dataclass
class Table:
    """A file's columns, its rows, and the line on which each begins."""

    path: Path
    header: list[str]
    cells: list[list[str]]
    lines: list[int]
    blank: int

    def rows(self, names: tuple[str, ...], notes: list[str]) -> Rows:
        """Some columns.

        Raises:
            DataError: there is no such column.
        """
        if missing := [name for name in names if name not in self.header]:
            raise DataError(
                f"{self.path}, line 1: no column is named {', '.join(map(repr, missing))}; they are"
                f" {', '.join(map(repr, self.header))}"
            )
        if self.blank:
            notes.append(f"{self.path}: {self.blank:,} blank lines left out")
        at = [self.header.index(name) for name in names]
        return Rows((self.path,), [tuple(row[i] for i in at) for row in self.cells], self.lines)


def read_table(path: Path) -> Table:
    """Read a table in UTF-8, or in UTF-16 with a byte-order mark; commas, semicolons or tabs stand between cells.

    Or one of JSON Lines or Parquet, whose rows need not have the same columns.

    Raises:
        DataError: the file is missing, damaged or empty, names a column twice, or a row has another number of cells.
    """
    if RECORDS.search(path.name):
        return _of_records(path)
    csv.field_size_limit(2**31 - 1)
    text = read_text(path)
    first = text.lstrip().splitlines()[0] if text.strip() else ""
    marks = {mark: first.count(mark) for mark in ("\t", ";", ",")}
    mark = max(marks, key=marks.__getitem__)
    # As Python's own spreadsheet dialect, and every kind of line end, also within quotation marks.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True, skipinitialspace=True)
    cells, lines, blank, begins = [], [], 0, 1
    try:
        for row in reader:
            if not any(map(str.strip, row)) and len(row) < 2:
                blank += 1
            else:
                cells.append(row)
                lines.append(begins)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}, line {begins}: {error}; a cell that holds a quotation mark, a line end or {mark!r} stands in"
            ' quotation marks, and marks within it are doubled: "he said ""yes"""'
        ) from None
    if len(cells) < 2:
        raise DataError(
            f"{path}: there are no rows; the first line names the columns, and each other one is a row"
        )
    header = [name.strip() for name in cells.pop(0)]
    del lines[0]
    if twice := [name for name, times in Counter(header).items() if times > 1]:
        raise DataError(f"{path}, line 1: two columns are named {twice[0]!r}; give each a name of its own")
    for line, row in zip(lines, cells, strict=True):
        if len(row) != len(header):
            raise DataError(
                f"{path}, line {line}: {len(row)} cells, but line 1 names {len(header)} columns; put a text that holds"
                f" {mark!r} in quotation marks"
            )
    return Table(path, header, cells, lines, blank)


def _of_records(path: Path) -> Table:
    parquet, lines = path.suffix.lower() == ".parquet", list[int]()
    rows: list[dict[str, Any]] = []
    try:
        if parquet:
            rows = cast("list[dict[str, Any]]", pd.read_parquet(path).to_dict("records"))
            lines = list(range(1, len(rows) + 1))
        for number, line in enumerate([] if parquet else read_lines(path), start=1):
            if line.strip():
                lines.append(number)
                rows.append(dict(json.loads(line)))
    except ImportError:
        raise DataError(f"{path} needs pyarrow: pip install pyarrow") from None
    except (ValueError, TypeError, OSError) as error:
        what = "it is damaged, or no Parquet" if parquet else "each line is an object of JSON"
        raise DataError(f"{path}, line {lines[-1] if lines else 1}: {error}; {what}") from error
    if not rows:
        raise DataError(f"{path}: there are no rows; write some")
    header = list(dict.fromkeys(name for row in rows for name in row))
    if any(isinstance(cell, bytes) for row in rows for cell in row.values()):
        raise DataError(f"{path}: a cell holds bytes; store pictures as files, in one folder per class")
    return Table(path, header, [[_cell(row.get(name)) for name in header] for row in rows], lines, 0)


def _cell(value: Any) -> str:
    if isinstance(value, list | np.ndarray):
        return " ".join(map(str, value))
    return "" if value is None or value != value else str(value)


def _columns(table: Table, files: Files, *, numbers: bool = False) -> tuple[tuple[str, ...], str]:
    """The columns of the text, or of the numbers, and that of the label."""
    header = table.header
    label = files.label or _usual(header, LABEL_NAMES)
    texts = files.text or (() if numbers else tuple(filter(None, [_usual(header, TEXT_NAMES)])))
    if not label and len(header) == 2 and len(texts) == 1:
        label = next((name for name in header if name not in texts), "")
    rest = tuple(name for name in header if name != label)
    if label and not texts and (numbers or len(rest) == 1):
        texts = rest
    if not texts or not label:
        raise DataError(
            f"{table.path}, line 1: which columns hold the text and the label? They are"
            f" {', '.join(map(repr, header))}: name them with --task.files.text NAME --task.files.label NAME"
        )
    return texts, label


def _usual(header: list[str], names: tuple[str, ...]) -> str:
    found = [name for name in header if name.lower() in names]
    return found[0] if len(found) == 1 else ""


def _labelled(
    name: str, files: Files, known: tuple[str, ...], *, unit: str, numbers: bool = False
) -> tuple[dict[str, Rows], tuple[str, ...], list[str]]:
    """Rows of cells with the label last, by part; the classes; and what is to be said."""
    left: list[str] = []
    found_files = find(path_of(name), TABLES, unit, left, whole=bool(known))
    tables = {part: read_table(file) for part, file in found_files.items()}
    texts, label = _columns(next(iter(tables.values())), files, numbers=numbers)
    shown = texts if len(texts) < 5 else (*texts[:2], "…", texts[-1])
    notes = [f"{unit} in {', '.join(map(repr, shown))}, labels in {label!r}", *left]
    found = {part: table.rows((*texts, label), notes) for part, table in tables.items()}
    for rows in found.values():
        rows.rows = [(*row[:-1], row[-1].strip()) for row in rows.rows]
    if not numbers:
        found = {part: without_blanks(rows, notes, unit="row") for part, rows in found.items()}
    if not known:
        _check_few(found["train"], label)
        found = split(found, files, notes, unit=unit, key=lambda row: row[:-1], stratum=lambda row: row[-1])
    return found, checked_classes(found, notes, known), notes


def _check_few(rows: Rows, label: str) -> None:
    """Refuse labels that are no classes: nearly every row has one of its own."""
    several = len({row[-1] for row in rows.rows})
    if len(rows) >= 10 and several > max(len(rows) // 2, 2):
        raise DataError(
            f"{rows.paths[0]}: {label!r} has {several:,} different values in {len(rows):,} rows, which are no classes."
            " Name another column with --task.files.label, or round the numbers to a few: nothing here learns to"
            " predict a number. Columns of translations are called by their languages, such as de and en"
        )


def checked_classes(parts: dict[str, Rows], notes: list[str], known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The classes of the training rows, whose last cell is the label, numbers in their order; or those that are known.

    Raises:
        DataError: there is but one, or another part has a label that training has not.
    """
    counts = Counter(known or (row[-1] for row in parts["train"].rows))
    whole = all(label.isdecimal() for label in counts)
    classes = known or tuple(sorted(counts, key=lambda label: (int(label), label) if whole else label))
    if len(classes) < 2:
        raise DataError(
            f"{parts['train'].paths[0]}: all labels are {classes[0]!r}; a classifier needs two or more"
        )
    for part, rows in parts.items():
        for i, row in enumerate(rows.rows):
            if row[-1] not in counts:
                raise DataError(
                    f"{rows.where(i)}: the label {row[-1]!r} stands in {part} and not in the training data, whose"
                    f" labels are {', '.join(map(repr, classes[:20]))}; add examples of it there, or mend the label"
                )
    if known:
        return known
    each = ", ".join(f"{label} {counts[label]:,}" for label in classes[:10])
    notes.append(f"{len(classes)} classes: {each}{' …' if classes[10:] else ''}")
    return classes


def own_labelled(
    name: str, files: Files, known: tuple[str, ...] = ()
) -> tuple[dict[str, Rows], tuple[str, ...], list[str]]:
    """Texts with a class each, of a table or of a folder with train.csv and the like.

    Args:
        name: "files:PATH".
        files: which columns are read, and how they are split.
        known: the classes of a model that is to be scored: then nothing is split.

    Returns:
        the rows of each part, the texts and the label of each; the classes; what is to be said of them.

    Raises:
        DataError: a file is missing or damaged, or a label is not in the training data.
    """
    return _labelled(name, files, known, unit="texts")


def own_sequences(
    name: str, files: Files, known: tuple[str, ...] = (), *, features: int = 1
) -> tuple[dict[str, tuple[list[list[float]], list[int]]], tuple[str, ...], list[str]]:
    """Sequences of numbers with a class each: numbers with spaces between in one column, or a number a column.

    A row may end early: empty cells at its end make a shorter sequence.

    Args:
        features: numbers of a position.

    Returns:
        the numbers of each sequence and the classes, by part; the names of the classes; what is to be said of them.

    Raises:
        DataError: as `own_labelled`; or a cell is no number, or a sequence is empty or ends within a position.
    """
    parts, classes, notes = _labelled(name, files, known, unit="sequences", numbers=True)
    numbers = {label: number for number, label in enumerate(classes)}
    found = {
        part: (
            [numbers_of(row[:-1], rows.where(i), features) for i, row in enumerate(rows.rows)],
            [numbers[row[-1]] for row in rows.rows],
        )
        for part, rows in parts.items()
    }
    lengths = [len(row) // features for rows, _ in found.values() for row in rows]
    range_ = " to ".join(map(str, sorted({min(lengths), max(lengths)})))
    notes.append(f"{range_} positions of {features} number{'s' * (features > 1)}")
    return found, classes, notes


def numbers_of(cells: Sequence[str], where: str, features: int) -> list[float]:
    """The numbers of some cells, with spaces between; `where` is what errors call them."""
    words = " ".join(cells).split()
    if len(cells) > 1 and any(cell.strip() for cell in cells[len(words) :]):
        raise DataError(
            f"{where}: a cell is empty before the end of the sequence; write a number, or delete the row"
        )
    found = []
    for word in words:
        try:
            found.append(float(word))
        except ValueError:
            raise DataError(
                f"{where}: {word!r} is no number; sequences are numbers with spaces between"
            ) from None
        if not math.isfinite(found[-1]):
            raise DataError(f"{where}: {word!r} is not finite; write a number, or leave the row out")
    if not found or len(found) % features:
        raise DataError(
            f"{where}: {len(found)} numbers are no whole number of positions of {features} numbers"
        )
    return found
