"""Which files of one's own train, validate and test; how tables are read; a split by a seed where some parts lack."""

from __future__ import annotations

import csv
import io
import json
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.fetching import read_bytes, read_lines, read_text

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
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
TEXTS = (".txt", ".md", ".text")
PACKED = ("", ".gz", ".xz", ".zip")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
LANGUAGE = re.compile(r"[a-z]{2,3}([-_]\w+)?|source|target", re.IGNORECASE)
"""What a language, or a side of a translation, is called in the names of files and columns."""
NO_LANGUAGE = "py js sh bat sql log out err cfg ini yml bin pkl pth ckpt bak tmp old env sgm".split()
LABEL_NAMES = ("label", "class", "category", "target", "sentiment", "intent", "stars", "topic")
FEW = 5  # lines or files that a sentence names
PANDAS, ARROW = "in Python, pandas.", "in Python, pyarrow.ipc."
LINES = ".to_json('train.jsonl', orient='records', lines=True)"
CONVERT = dict[str, str]()
"""What makes other formats readable."""
for _endings, _how in (
    (".xlsx .xls .ods", "save its sheet as .csv, in UTF-8, by the program that made it"),
    (
        ".json",
        f"name it .jsonl if each of its lines is an object, or {PANDAS}read_json(FILE, dtype=False){LINES}",
    ),
    (".feather", f"{PANDAS}read_feather(FILE){LINES}"),
    (".arrow", f"{ARROW}open_stream(FILE).read_pandas(){LINES}, or open_file for open_stream"),
    (".tmx .xlf .xliff", "write its sentences to train.de and train.en, one a line"),
    (".npy .npz .mat", "write it as a table, .csv, with a column of labels"),
    (".pdf .doc .docx .odt .rtf .epub .html .xml .tex", "write its text to a .txt file in UTF-8"),
    (".zip .tar .tgz .gz .xz .bz2 .zst .7z .rar", "unpack it"),
):
    CONVERT |= dict.fromkeys(_endings.split(), _how)


def or_packed(*endings: str) -> tuple[str, ...]:
    """What the names of files end in that are packed or not."""
    return tuple(f"{ending}{packed}" for ending in endings for packed in PACKED)


READ = or_packed(*TABLES, *TEXTS)
"""What the names of tables and texts end in."""


def few(items: Iterable[Any], most: int = FEW) -> str:
    """The first of some items, and an ellipsis where there are more."""
    shown = [str(item) for item in items]
    return ", ".join(shown[:most]) + " …" * bool(shown[most:])


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
        return f"test{stem[4:]}"
    stem = re.sub(r"h[eo]ld[-_ ]?out", "holdout", stem.lower())
    words = re.split(r"[-_. ]+", re.sub(r"(?<=[a-z])[-_ ]?(set|data|images)$", "", stem))
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
    kinds, endings = endings, or_packed(*endings)
    if path.is_file():
        strange = path.name.lower().endswith((*PICTURES, ".parquet")) and not stem_of(path.name, endings)
        if (advice := conversion([path])) or strange:
            raise DataError(f"{path} is no {kinds[0]} file, as {what} need{advice}")
        return {path.name if whole else "train": path}
    found: dict[str, Path] = {}
    fitting = [file for file in data_files(path) if stem_of(file.name, endings)]
    for file in fitting:
        if part := part_in(file, path):
            if part in found:
                one, other = (each.relative_to(path) for each in (found[part], file))
                raise DataError(
                    f"{path} has two files for {part}, {one} and {other}: keep one; or name one of them test; or join"
                    f" them, those of Parquet by pandas.read_parquet([FILE, …]).to_parquet('train.parquet') in Python;"
                    " two languages are train.de and train.en"
                )
            found[part] = file
    if not found and len(fitting) == 1:
        found = {fitting[0].name if whole else "train": fitting[0]}
    elif "train" not in found and not (whole and found):
        held = few(sorted(file.name for file in path.iterdir() if not hidden(file, path)))
        advice = conversion(files_below(path))
        raise DataError(
            f"{path} has no train{kinds[0]}: {what} go there (it holds {held or 'nothing'}){advice}"
        )
    kept = {up for file in found.values() for up in (file, *file.parents)}
    left: dict[Path, dict[str, None]] = {}
    for file in files_below(path):
        if file not in kept:  # of a folder from which nothing is read, its name
            top = next(up for up in (*reversed(file.parents), file) if path in up.parents and up not in kept)
            fits = stem_of(file.name, endings)
            why = "named for no part: train, valid or test" if fits else f"no {kinds[0]}"
            left.setdefault(top, {})[why] = None
    if left:
        each = ", ".join(f"{file.relative_to(path)} ({'; '.join(why)})" for file, why in left.items())
        notes.append(f"{path}: left out: {each}")
    return found


def conversion(files: Sequence[Path]) -> str:
    """How the first of some files that is in a format that nothing here reads becomes one that is read."""
    others = [file for file in files if file.suffix.lower() in CONVERT and not stem_of(file.name, READ)]
    # A .json may tell of the others.
    other = min(others, key=lambda file: file.suffix.lower() == ".json", default=None)
    return f"; {other.name} is not read as it is: {CONVERT[other.suffix.lower()]}" if other else ""


def is_table(file: Path) -> bool:
    return bool(stem_of(file.name, or_packed(*TABLES)))


def is_read(file: Path) -> bool:
    """Whether a table, a text or one side of a translation can be in a file of that name."""
    return bool(stem_of(file.name, READ) or language_of(file)[1])


def language_of(file: Path) -> tuple[str, str]:
    """The name of a text in one language, and the language, that train.de.gz has in its name; "" twice if none."""
    stem, _, language = (stem_of(file.name, PACKED[1:]) or file.name).rpartition(".")
    other = f".{language}".lower() in (*TABLES, *TEXTS, *PICTURES, *CONVERT)
    if not stem or other or language.lower() in NO_LANGUAGE or not LANGUAGE.fullmatch(language):
        return "", ""
    return stem, language.lower()


def is_picture(file: Path) -> bool:
    return file.suffix.lower() in PICTURES


def files_below(path: Path) -> list[Path]:
    """All files below a folder but those that systems leave behind."""
    return sorted(file for file in path.rglob("*") if file.is_file() and not hidden(file, path))


def part_in(file: Path, path: Path) -> str:
    """What a file below a folder is for, as its folder or else its name says: train/a.csv, train.csv; "" if for none.

    A folder `data` counts for nothing: data sets of Hugging Face have one.
    """
    *folders, name = file.relative_to(path).parts
    folders = folders[folders[:1] == ["data"] :]
    if folders:
        return part_of(folders[0], alone=True)
    plain = stem_of(name, PACKED[1:]) or name
    return part_of(plain.rpartition(".")[0] or plain)


def data_files(path: Path) -> list[Path]:
    """The files of a folder that may be data, or the file itself: those in the folder or in its folder `data`, and
    those in a folder there that is named for a part; but no .md next to others, which tells of them."""
    if path.is_file():
        return [path]
    tops = [path, path / "data"]
    files = [
        file
        for file in files_below(path)
        if not file.name.lower().startswith(ABOUT)
        and (file.parent in tops or (file.parent.parent in tops and part_in(file, path)))
    ]
    others = [file for file in files if not stem_of(file.name, or_packed(".md"))]
    return others if any(map(is_read, others)) else files


def telling_files(path: Path) -> list[Path]:
    """The data files that say of which kind a folder's data are: those of its parts, if it has any to train on."""
    files = [*filter(is_read, data_files(path))]
    parts = [file for file in files if part_in(file, path)] if path.is_dir() else []
    return parts if any(part_in(file, path) == "train" for file in parts) else files


def training_files(path: Path) -> list[Path]:
    """The files below a folder that a kind of data may be read from: its tables, texts and pictures, and those of a
    part in one language: what the corpus's digest is of. Results that are written below it are none of them."""
    files = files_below(path)
    read = {file for file in data_files(path) if stem_of(file.name, READ)}
    parts = {file for file in files if part_in(file, path) and is_read(file)}
    return sorted({*read, *parts, *filter(is_picture, files)}) or files


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
    """Read a table in UTF-8, or in UTF-16 with a byte-order mark; commas, semicolons, tabs or | stand between cells.

    Or one of JSON Lines or Parquet, whose rows need not have the same columns, and in which an object within a row,
    such as {"de": …, "en": …}, is columns of its own.

    Raises:
        DataError: the file is missing, damaged or empty, names a column twice, or a row has another number of cells.
    """
    if stem_of(path.name, or_packed(".jsonl", ".ndjson", ".parquet")):
        return _of_records(path)
    csv.field_size_limit(2**31 - 1)
    text = read_text(path)
    first = text.lstrip().splitlines()[0] if text.strip() else ""
    marks = {mark: first.count(mark) for mark in ("\t", ";", ",", "|")}
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
    parquet, lines = bool(stem_of(path.name, or_packed(".parquet"))), list[int]()
    rows: list[dict[str, Any]] = []
    try:
        if parquet:
            import pandas as pd  # which takes longer to import than all the rest

            found: Any = pd.read_parquet(io.BytesIO(read_bytes(path))).to_dict("records")
        else:
            found = read_lines(path)
        for number, line in enumerate(found, start=1):
            if parquet or line.strip():
                lines.append(number)
                rows.append(_flat(line if parquet else dict(json.loads(line))))
    except ImportError:
        raise DataError(f"{path} needs pyarrow: pip install pyarrow") from None
    except (ValueError, TypeError, OSError) as error:
        what = "it is damaged, or no Parquet" if parquet else "each line is an object of JSON"
        raise DataError(f"{path}, line {lines[-1] if lines else 1}: {error}; {what}") from error
    # A null is in no column of its own: where other rows have an object, its columns are those within.
    header = list(dict.fromkeys(name for row in rows for name, cell in row.items() if cell is not None))
    if not header:
        raise DataError(f"{path}: there are no rows; write some")
    for line, row in zip(lines, rows, strict=True):
        for name, cell in row.items():
            inner = [*cell] if isinstance(cell, Iterable) and not isinstance(cell, str | bytes) else []
            if any(isinstance(one, bytes) for one in (cell, *inner)):
                raise DataError(
                    f"{path}, line {line}: a cell holds bytes; store pictures as files, in one folder per class"
                )
            if any(one is None or (isinstance(one, Iterable) and not isinstance(one, str)) for one in inner):
                raise DataError(
                    f"{path}, line {line}: {name!r} is a list of lists, objects or nulls; write what is to be read of"
                    " it as one text, or as one list of numbers"
                )
    return Table(path, header, [[_cell(row.get(name)) for name in header] for row in rows], lines, 0)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row in which what stands within an object is columns of their own."""
    cells = dict[str, Any]()
    for name, cell in row.items():
        for inner, its in (_flat(cell) if isinstance(cell, dict) else {name: cell}).items():
            if inner in cells:
                raise ValueError(f"two of its columns are named {inner!r}")
            cells[inner] = its
    return cells


def picture_name(cell: str) -> str:
    """What a cell calls a picture, however its path is written: images/1.png for .\\images\\1.png."""
    return posixpath.normpath(cell.strip().replace("\\", "/"))


def mostly(table: Table, column: int, said: Callable[[str], bool]) -> bool:
    """Whether most cells of a column are so."""
    return 2 * sum(said(picture_name(row[column])) for row in table.cells) > len(table.cells)


def named_pictures(table: Table, top: Path) -> tuple[int, dict[str, Path]] | None:
    """Which column of a table names pictures, and what they are called; None if none does.

    A picture is called by its path or its name, with or without the ending, where no other one is called so. It lies
    below the table's folder, or else elsewhere in the data's folder `top`. The name of a column of labels is no
    picture's unless it has a picture's ending: 0 is a class rather than 0.png.

    Raises:
        DataError: several columns do.
    """
    folder = table.path.parent
    beside = folder / table.path.name.partition(".")[0]  # the folder train of train.csv
    for below, start in dict.fromkeys([(beside if beside.is_dir() else folder, folder), (top, top)]):
        called: dict[str, set[Path]] = defaultdict(set)
        for file in filter(is_picture, files_below(below)):
            path = file.relative_to(start)
            for name in (path.as_posix(), path.with_suffix("").as_posix(), file.name, file.stem):
                called[name].add(file)
        only = {name: next(iter(those)) for name, those in called.items() if len(those) == 1}
        found = [i for i in range(len(table.header)) if mostly(table, i, only.__contains__)]
        whole = [i for i in found if mostly(table, i, lambda name: is_picture(Path(name)))]
        found = whole or [i for i in found if table.header[i].lower() not in LABEL_NAMES]
        if found[1:]:
            raise DataError(
                f"{table.path}, line 1: which column names the pictures? {few(repr(table.header[i]) for i in found)}"
                f" may: write their names with the ending there, such as {next(iter(only.values())).name}, or leave"
                " one of these columns"
            )
        if found:
            return found[0], only
    return None


def are_pictures(path: Path) -> bool:
    """Whether a folder is one of pictures: in folders of classes, or named by a table."""
    folders = {file.parent for file in files_below(path) if is_picture(file)}
    data = [file for file in data_files(path) if stem_of(file.name, READ)]
    if len(folders - {path}) > 1 or (folders - {path} and not data):
        return True
    return bool(folders) and any(named_pictures(read_table(file), path) for file in data if is_table(file))


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
        notes.append(
            f"{names}: left out, since text or label is blank: lines {few(left)} ({len(left):,} in all)"
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
                f"{whole.paths[0]} has too few {unit} ({len(whole):,}) to split off a {part} part: write until"
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
