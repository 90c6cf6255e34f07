"""Which files of one's own train, validate and test; what is left out of them; a split by a seed where some lack."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.reading import read_text

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
TEXT_TOO = "write its text to a .txt file in UTF-8"
LINES = ".to_json('train.jsonl', orient='records', lines=True)"
CONVERT = {
    **dict.fromkeys(
        (".xlsx", ".xls", ".ods"), "save its sheet as .csv, in UTF-8, by the program that made it"
    ),
    ".json": f"in Python, pandas.read_json(FILE){LINES}",
    ".feather": f"in Python, pandas.read_feather(FILE){LINES}",
    ".arrow": f"in Python, pyarrow.ipc.open_stream(FILE).read_pandas(){LINES}, or open_file for open_stream",
    **dict.fromkeys((".tmx", ".xlf", ".xliff"), "write its sentences to train.de and train.en, one a line"),
    **dict.fromkeys((".npy", ".npz", ".mat"), "write it as a table, .csv, with a column of labels"),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".rtf", ".epub", ".html", ".xml", ".tex"), TEXT_TOO),
}
"""What makes other formats readable."""
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
        valid, test: shares that are taken out of the training data to validate and to test on, where no file is named
            so.
        seed: of that split.
        blank: what to do with lines without text or label: "refuse" them, or "skip" and count them.
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
    inner = path / "data"  # as the hub of Hugging Face lays a data set out, next to a README
    files = [file for file in path.iterdir() if file.is_file()] if inner.is_dir() else []
    return inner if inner.is_dir() and all(is_about(file) or hidden(file, path) for file in files) else path


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
        if (advice := conversion([path])) or path.name.lower().endswith(PICTURES):
            raise DataError(f"{path} is no {kinds[0]} file, as {what} need{advice}")
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
        raise DataError(
            f"{path} has no train{endings[0]}: {what} go there (it holds {held}){conversion(here)}"
        )
    if left := [file for file in here if file not in found.values()]:
        why = (
            "named for no part: train, valid or test" if file in fitting else f"no {kinds[0]}"
            for file in left
        )
        each = ", ".join(f"{file.name} ({reason})" for file, reason in zip(left, why, strict=True))
        notes.append(f"{path}: left out: {each}")
    return found


def conversion(files: Sequence[Path]) -> str:
    """How the first of some files that is in a format that nothing here reads becomes one that is read."""
    other = next((file for file in files if file.suffix.lower() in CONVERT), None)
    return f"; {other.name} is not read as it is: {CONVERT[other.suffix.lower()]}" if other else ""


def is_about(file: Path) -> bool:
    return file.name.lower().startswith(ABOUT)


def train_files(path: Path) -> list[Path]:
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


def own_lines(path: Path) -> list[str]:
    """The lines of a file, which a newline ends, with or without a carriage return before it; in a file without any
    newline, a carriage return does."""
    text = read_text(path)
    text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def without_blanks(part: Rows, files: Files, notes: list[str], *, unit: str) -> Rows:
    """The rows that have all they should have; the others are refused, or left out and counted.

    Rows at the end of a file that are blank throughout are no rows: they are left out and counted in any case.

    Raises:
        DataError: a row lacks something, or all do.
    """
    empty = [not all(cell.strip() for cell in row) for row in part.rows]
    end = len(part)
    while end and not any(cell.strip() for cell in part.rows[end - 1]):
        end -= 1
    names = " and ".join(map(str, dict.fromkeys(part.paths)))
    if not end:
        raise DataError(
            f"{names}: there is no text in {'them' if part.paths[1:] else 'it'}; write some, one a line"
        )
    blank = [row for row in range(end) if empty[row]]
    if blank and files.blank == "refuse":
        row = part.rows[blank[0]]
        side = next(side for side, cell in enumerate(row) if not cell.strip())
        half = "half of a" if any(cell.strip() for cell in row) else "a blank"
        more = f" ({len(blank):,} such lines: {listed([part.lines[i] for i in blank])})" if blank[1:] else ""
        raise DataError(
            f"{part.where(blank[0], side)}: {half} {unit}{more}; mend or delete the line"
            f"{' in both files' if part.paths[1:] else ''}, or leave such lines out with --task.files.blank skip"
        )
    if blank:
        notes.append(
            f"{names}: left out, without text: lines {listed([part.lines[i] for i in blank])} ({len(blank):,} in all)"
        )
    if end < len(part):
        notes.append(f"{names}: blank lines left out at the end: {len(part) - end:,}")
    return part.chosen([row for row in range(end) if not empty[row]])


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


def listed(lines: Sequence[int]) -> str:
    """The first few of some line numbers."""
    return ", ".join(map(str, lines[:FEW])) + (" …" if len(lines) > FEW else "")
