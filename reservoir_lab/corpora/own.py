"""Which files of one's own train, validate and test; how tables are read; a split by a seed where some parts lack."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.fetching import read_lines, read_text

FILES = "files:"
PARTS = ("train", "valid", "test")
CALLED = {
    name: part
    for part, names in {
        "train": "train training trn",
        "valid": "valid validation validate val dev devel development eval evaluation",
        "test": "test testing tst holdout heldout",
    }.items()
    for name in names.split()
}
"""What the parts are called, alone or as the first or last word of a file's name."""
ABOUT = ("readme", "license", "licence", "changelog", "citation")
"""Files that tell of data and are none."""
TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
PACKED = ("", ".gz", ".xz", ".zip")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
FEW = 5  # lines that a sentence names


def _later(default: Any) -> Any:
    return field(default=default, metadata={"omit_if_default": True})


@dataclass(frozen=True)
class Files:
    """How files of your own are read, and split where they are not.

    Args:
        text: the columns of a table that hold the text, one or two, or the numbers; by default those with the usual
            names, or all but the label's.
        label: the column of a table that holds the class; by default the one with the usual name.
        valid: share that is taken out of the training data to validate on, where no file is named so.
        test: the same to test on.
        seed: of that split.
        blank: what to do with rows that have a text or a label and lack another: "refuse" them, or "skip" and count
            them. Wholly blank ones are left out and counted.
    """

    text: tuple[str, ...] = _later(())
    label: str = _later("")
    valid: float = _later(0.1)
    test: float = _later(0.1)
    seed: int = _later(0)
    blank: Literal["refuse", "skip"] = _later("refuse")

    def __post_init__(self) -> None:
        for name in ("valid", "test"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"files.{name} must be between 0 and 1, got {getattr(self, name)!r}")
        if self.valid + self.test >= 1:
            raise ValueError(
                f"files.valid and files.test must leave something to train on, got {self.valid} and {self.test}"
            )
        if self.blank not in ("refuse", "skip"):
            raise ValueError(f"files.blank must be 'refuse' or 'skip', got {self.blank!r}")


@dataclass
class Rows:
    """The rows of one part.

    Args:
        paths: the file that they are from, or one for each language.
        rows: the texts of each, and its label last where it has one.
        lines: where each begins, counted from 1.
    """

    paths: tuple[Path, ...]
    rows: list[tuple[str, ...]]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, row: int, side: int = 0) -> str:
        """The file and the line of a row."""
        return f"{self.paths[min(side, len(self.paths) - 1)]}, line {self.lines[row]}"

    def chosen(self, keep: Sequence[int]) -> Rows:
        """Some of the rows."""
        return type(self)(self.paths, [self.rows[i] for i in keep], [self.lines[i] for i in keep])


def path_of(name: str) -> Path:
    """The file or folder that a corpus "files:PATH" names.

    Raises:
        DataError: there is none.
    """
    path = Path(name.removeprefix(FILES)).expanduser()
    if not path.exists():
        raise DataError(f"there is no file or folder {path}, which {name!r} names: check the path")
    return path


def part_of(stem: str, *, alone: bool = False) -> str:
    """What a file of that name is for: "train", "valid", the name of a test, or "" if for none.

    Args:
        alone: the name is one word, as that of a folder has to be: a class may be called "train-station".
    """
    if stem.lower().startswith("test") and not alone:
        return stem
    words = re.split(r"[-_. ]+", re.sub(r"h[eo]ld[-_ ]?out", "holdout", stem.lower()))
    found = [CALLED[word] for word in (words[0], words[-1]) if word in CALLED]
    return found[0] if found and not (alone and words[1:]) else ""


def find(
    path: Path, endings: Sequence[str], what: str, notes: list[str], *, whole: bool = False
) -> dict[str, Path]:
    """The files of each part: those in a folder that are named train, valid and test…; or one file, which is all.

    Args:
        notes: are told which files of the folder are left out, and why.
        path: the folder or file.
        endings: what the names end in, such as ".csv".
        what: what errors call the contents.
        whole: nothing is to be trained on, so that any part will do.

    Raises:
        DataError: a folder holds no training file, or two for one part.
    """
    kinds = endings
    endings = [f"{ending}{packed}" for ending in endings for packed in PACKED]
    if path.is_file():
        if path.name.lower().endswith((*PICTURES, ".html", ".xml", ".tex", ".rtf", ".json", ".tmx")):
            raise DataError(f"{path} is no {kinds[0]} file, as {what} need")
        return {path.name if whole else "train": path}
    found: dict[str, Path] = {}
    here = sorted(file for file in path.iterdir() if not hidden(file, path))
    fitting = [file for file in here if file.is_file() and stem_of(file.name, endings) and not is_about(file)]
    for file in fitting:
        if part := part_of(stem_of(file.name, endings)):
            if part in found:
                raise DataError(
                    f"{path} has two files for {part}, {found[part].name} and {file.name}: keep one, or join them"
                )
            found[part] = file
    if not found and len(fitting) == 1:
        found = {fitting[0].name if whole else "train": fitting[0]}
    elif "train" not in found and not (whole and found):
        held = ", ".join(file.name for file in here[:FEW]) or "nothing"
        raise DataError(f"{path} has no train{endings[0]}: {what} go there (it holds {held})")
    if left := [file for file in here if file not in found.values()]:
        why = (
            "named for no part: train, valid or test" if file in fitting else f"no {kinds[0]}"
            for file in left
        )
        each = ", ".join(f"{file.name} ({reason})" for file, reason in zip(left, why, strict=True))
        notes.append(f"{path}: left out: {each}")
    return found


def is_about(file: Path) -> bool:
    return file.name.lower().startswith(ABOUT)


def training_files(path: Path) -> list[Path]:
    """The files below a folder that are of a part, or all of them if none is: what the corpus's digest is of."""
    files = sorted(file for file in path.rglob("*") if file.is_file() and not hidden(file, path))
    tops = [file.relative_to(path).parts for file in files]
    ours = [
        file
        for file, (top, *below) in zip(files, tops, strict=True)
        if part_of(top if below else top.partition(".")[0], alone=bool(below))
    ]
    return ours or files


def hidden(file: Path, below: Path) -> bool:
    """Whether a file, or a folder that it lies in, is one that systems leave behind."""
    return any(
        name.startswith((".", "__MACOSX")) or name == "Thumbs.db" for name in file.relative_to(below).parts
    )


def stem_of(name: str, endings: Sequence[str]) -> str:
    return next((name[: -len(end)] for end in endings if end and name.lower().endswith(end)), "")


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
    if re.search(r"\.(jsonl|parquet)\b", path.name, re.IGNORECASE):
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
            import pandas as pd  # which takes longer to import than all the rest

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
    if any(isinstance(cell, bytes | dict) for row in rows for cell in row.values()):
        raise DataError(
            f"{path}: a cell holds bytes or an object; store pictures as files, in one folder per class, and what"
            " stands in an object as columns of its own"
        )
    return Table(path, header, [[_cell(row.get(name)) for name in header] for row in rows], lines, 0)


def _cell(value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):  # numbers, say
        return " ".join(map(str, value))
    return "" if value is None or value != value else str(value)


def without_blanks(part: Rows, files: Files, notes: list[str], *, unit: str) -> Rows:
    """The rows that have all they should have. Blank ones are left out and counted, half of one is refused or skipped.

    Raises:
        DataError: a row lacks something, or all do.
    """
    whole = [i for i, row in enumerate(part.rows) if all(cell.strip() for cell in row)]
    names = " and ".join(map(str, dict.fromkeys(part.paths)))
    for i, row in enumerate(part.rows if files.blank == "refuse" else ()):
        filled = [bool(cell.strip()) for cell in row]
        if any(filled) and not all(filled):
            raise DataError(
                f"{part.where(i, filled.index(False))}: half of a {unit}; mend or delete the line"
                f"{' in both files' if part.paths[1:] else ''}, or leave such lines out with --task.files.blank skip"
            )
    if not whole:
        raise DataError(f"{names}: there is no text; write some, one a line")
    if left := sorted({*part.lines} - {part.lines[i] for i in whole}):
        listed = ", ".join(map(str, left[:FEW])) + (" …" if left[FEW:] else "")
        notes.append(
            f"{names}: left out, since text or label is blank: lines {listed} ({len(left):,} in all)"
        )
    return part.chosen(whole)


def split(
    parts: dict[str, Rows],
    files: Files,
    notes: list[str],
    *,
    unit: str,
    key: Callable[[tuple[str, ...]], Hashable] = lambda row: row[0],
    stratum: Callable[[tuple[str, ...]], Hashable] = lambda row: None,
) -> dict[str, Rows]:
    """The three parts and their sizes in words: what is lacking is taken out of the training rows by the seed.

    Args:
        parts: by name, "train" among them.
        unit: what the rows are, in the plural.
        key: rows of one key stay together, so that no text that trains also tests.
        stratum: each of these is split by itself: the classes.

    Raises:
        DataError: there are too few rows to split.
    """
    lacking = [part for part in ("test", "valid") if not any(name.startswith(part) for name in parts)]
    whole = parts["train"]
    chosen: dict[str, list[int]] = {part: [] for part in ("train", *lacking)}
    grouped: dict[Hashable, dict[Hashable, list[int]]] = defaultdict(lambda: defaultdict(list))
    of: dict[Hashable, Hashable] = {}
    for i, row in enumerate(whole.rows):
        grouped[of.setdefault(key(row), stratum(row))][key(row)].append(i)
    for groups in grouped.values():
        total = sum(map(len, groups.values()))
        order = Draws(files.seed).shuffled(list(groups.values()))
        for part in lacking:
            wanted = max(round(getattr(files, part) * total), 1)
            while order[len(lacking) :] and len(order) > 1 and wanted > 0:
                group = order.pop()
                chosen[part] += group
                wanted -= len(group)
        chosen["train"] += [i for group in order for i in group]
    parts = {**parts, **{part: whole.chosen(sorted(held)) for part, held in chosen.items()}}
    for part in lacking:
        if not len(parts[part]):
            raise DataError(
                f"{whole.paths[0]} has {len(whole):,} {unit}, too few to split off a {part} part: write until"
                f" {2 * len(lacking)} of them differ, of one class where there are classes, or give files named"
                f" {' and '.join(sorted(lacking))}"
            )
    seen = {key(row) for row in parts["train"].rows}
    for part, rows in sorted(parts.items(), key=lambda item: (item[0] != "train", item[0] != "valid")):
        how = (
            f"split off by seed {files.seed} (--task.files.{part} {getattr(files, part):g} --task.files.seed"
            f" {files.seed})"
            if part in lacking
            else "from " + " and ".join(map(str, rows.paths))
        )
        notes.append(f"{part}: {len(rows):,} {unit} {how}")
        if part != "train" and (again := sum(key(row) in seen for row in rows.rows)):
            notes.append(f"{part}: {again:,} of its {unit} also stand in the training data")
    return parts
