"""Text of one's own, parallel, running or labelled, and labelled sequences of numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora import own
from reservoir_lab.corpora.fetching import read_lines
from reservoir_lab.corpora.own import Files, Rows, Table

TEXT_NAMES = ("text", "sentence", "review", "comment", "message", "content", "utterance", "document")
SIDES = (("source", "target"), ("src", "tgt"), ("src", "trg"))
"""What the two sides of a translation are called that are not called by their languages."""
WORDS = 4
"""The longest groups of words that BLEU counts; where there are none, it is 0."""
STRETCHES = 100
"""What running text is cut into where it has no file to validate and to test on: neighbouring lines stay together."""


def languages(name: str) -> list[str]:
    """The languages of a parallel text of one's own: the endings of its training files, or a table's columns."""
    path = own.path_of(name)
    if tables := _tables(path):
        return own.read_table(tables[0]).header
    return sorted(by_language(path).get("train", {}))


def sides(names: Sequence[str]) -> tuple[str, str] | None:
    """The source and the target, if two languages or columns are called so."""
    lower = {name.lower(): name for name in names}
    return next(((lower[src], lower[tgt]) for src, tgt in SIDES if {src, tgt} == lower.keys()), None)


def own_pairs(
    name: str, src: str, tgt: str, files: Files, *, whole: bool = False
) -> tuple[dict[str, Rows], list[str]]:
    """Sentence pairs: a folder with train.de and train.en, or a table with the columns de and en; `whole` if none of
    them is to be trained on, so that nothing is split.

    Returns:
        the rows of each part, source and target, and what is to be said of them.

    Raises:
        DataError: a file is missing or damaged, two files are out of step, or a pair is half empty.
    """
    path, notes = own.path_of(name), list[str]()
    if _tables(path):
        tables = own.find(path, own.TABLES, "pairs", notes, whole=whole)
        found = {part: own.read_table(file).rows((src, tgt), notes) for part, file in tables.items()}
    else:
        parts = {part: files for part, files in by_language(path).items() if {src, tgt} & files.keys()}
        there = languages(name)
        if (lacking := [one for one in (src, tgt) if one not in there]) and not (whole and parts):
            held = (
                f"the languages with training files are {', '.join(there)}"
                if there
                else "one sentence a line"
            )
            raise DataError(
                f"{path} has no train.{lacking[0]}: {name} needs train.{src} and train.{tgt}; {held}"
            )
        ordered = sorted(parts, key=lambda part: (part not in own.PARTS, part))
        found = {part: _aligned(parts[part], src, tgt) for part in ordered}
        used = {file for rows in found.values() for file in rows.paths}
        if left := [str(file.relative_to(path)) for file in own.files_below(path) if file not in used]:
            notes.append(
                f"{path}: left out, as no part in {src} or {tgt}: {own.few(left)} ({len(left):,} in all)"
            )
    found = {part: own.without_blanks(rows, files, notes, unit="pair") for part, rows in found.items()}
    if max(len(row[1].split()) for rows in found.values() for row in rows.rows) < WORDS:
        notes.append(
            f"no text in {tgt} has {WORDS} words with spaces between, as BLEU counts them: it will be 0, unless"
            " --task.tokenise cuts texts otherwise; char counts characters"
        )
    return found if whole else own.split(found, files, notes, unit="pairs"), notes


def own_text(name: str, files: Files, *, whole: bool = False) -> tuple[dict[str, str], list[str]]:
    """Running text: one file, or a folder with train.txt, and valid.txt and test.txt if there are any.

    Where a part has no file, stretches of neighbouring lines are taken out of the training text by the seed; nothing
    is if the text is wanted `whole`.

    Raises:
        DataError: a file is missing, damaged or without text, or too short to split.
    """
    notes = list[str]()
    found = own.find(own.path_of(name), own.TEXTS, "texts", notes, whole=whole)
    texts = {}
    for part, file in found.items():
        lines = read_lines(file)
        if not any(line.strip() for line in lines):
            raise DataError(f"{file}: there is no text in it; write some")
        if all("\t" in line for line in lines if line.strip()):
            notes.append(
                f"{file}: all lines have a tab; a table is called .tsv, and its line 1 names the columns"
            )
        texts[part] = "".join(f"{line}\n" for line in lines)
        blank = sum(not line.strip() for line in lines)
        notes.append(
            f"{part}: {len(lines):,} lines from {file}" + (f", {blank:,} of them blank" if blank else "")
        )
    if whole:
        return texts, notes
    if tests := [part for part in texts if part.startswith("test")]:
        if tests[1:]:
            raise DataError(
                f"{own.path_of(name)} has the tests {', '.join(tests)}: a language model takes one; keep one"
            )
        texts["test"] = texts.pop(tests[0])
    if lacking := [part for part in ("test", "valid") if part not in texts]:
        pieces = texts["train"].splitlines(keepends=True)
        if len(pieces) < STRETCHES:
            pieces = re.findall(r"\S+\s*", texts["train"])
        cuts = [len(pieces) * i // STRETCHES for i in range(STRETCHES + 1)]
        stretches = ["".join(pieces[i:j]) for i, j in pairwise(cuts) if j > i]
        wanted = {part: max(round(getattr(files, part) * len(stretches)), 1) for part in lacking}
        if sum(wanted.values()) >= len(stretches):
            raise DataError(f"{found['train']} has {len(pieces)} words, too few to split: write more")
        order = Draws(files.seed).shuffled(range(len(stretches)))
        for part in lacking:
            taken, order = sorted(order[: wanted[part]]), order[wanted[part] :]
            texts[part] = "".join(stretches[i] for i in taken)
            notes.append(
                f"{part}: {len(taken)} of {len(stretches)} stretches of it, split off by seed {files.seed}"
                f" (--task.files.{part} {getattr(files, part):g} --task.files.seed {files.seed})"
            )
        texts["train"] = "".join(stretches[i] for i in sorted(order))
    return texts, notes


def _tables(path: Path) -> list[Path]:
    """The file itself, or the tables in a folder, unless other files are of its parts: those for training first."""
    if path.is_file():
        return [path]
    tables = [file for file in own.data_files(path) if own.is_table(file)]
    parts = [file for file in tables if own.part_in(file, path)]
    return sorted(parts, key=lambda file: own.part_in(file, path) != "train") or (
        [] if by_language(path) else tables
    )


def by_language(path: Path) -> dict[str, dict[str, Path]]:
    """The files of each part by their language, as their names say: "test.news" and "de" of test.news.de.gz.

    Raises:
        DataError: two are of one part in one language.
    """
    found: dict[str, dict[str, Path]] = {}
    for file in own.data_files(path):
        (stem, language), part = own.language_of(file), own.part_in(file, path)
        if not (part and language):
            continue
        first = found.setdefault(part, {}).setdefault(language, file)
        if first.with_name(own.language_of(first)[0]) != file.with_name(
            stem
        ):  # of one text, that not packed is read
            one, other = first.relative_to(path), file.relative_to(path)
            raise DataError(
                f"{path} has two files for {part} in {language}, {one} and {other}: join them, and those in the other"
                " languages in the same order, or keep one"
            )
    return found


def _aligned(files: dict[str, Path], src: str, tgt: str) -> Rows:
    for language, other in ((src, tgt), (tgt, src)):
        if language not in files:
            stem = own.language_of(files[other])[0]
            raise DataError(
                f"{files[other].parent} has no {stem}.{language}, which must translate the other {stem} file: add it"
            )
    paths = (files[src], files[tgt])
    if own.language_of(paths[0])[0] != own.language_of(paths[1])[0]:
        raise DataError(
            f"{paths[0]} and {paths[1]} have names that differ in more than the language: if the one translates the"
            " other, name them alike, such as train.de and train.en"
        )
    sides = [read_lines(file) for file in paths]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{paths[0]} has {len(sides[0]):,} lines but {paths[1]} has {len(sides[1]):,}: line n of the one must"
            f" translate line n of the other{_apart(sides)}"
        )
    rows = list(zip(*sides, strict=True))
    return Rows(paths, rows, list(range(1, len(rows) + 1)))


def _apart(sides: list[list[str]]) -> str:
    """Where two files may have fallen out of step: the first line whose lengths are nothing like each other."""
    for number, (one, other) in enumerate(zip(*sides, strict=False), start=1):
        if bool(one.strip()) != bool(other.strip()):
            return f"; look at line {number}, which is blank in one of them"
        if max(len(one), len(other)) > 40 and max(len(one), len(other)) > 4 * min(len(one), len(other)):
            return f"; look at line {number}, whose lengths are {len(one)} and {len(other)} characters"
    return "; the longer one has more at its end"


def _columns(table: Table, files: Files, *, numbers: bool = False) -> tuple[tuple[str, ...], str]:
    """The columns of the text, or of the numbers, and that of the label."""
    header = table.header
    label = files.label or _usual(header, own.LABEL_NAMES)
    texts = files.text or (() if numbers else tuple(filter(None, [_usual(header, TEXT_NAMES)])))
    if not label and len(header) == 2 and len(texts) == 1:
        label = next((name for name in header if name not in texts), "")
    rest = tuple(name for name in header if name != label)
    if label and not texts and (numbers or len(rest) == 1):
        texts = rest
    if not texts or not label:
        raise DataError(
            f"{table.path}, line 1: which columns hold the text and the label? They are"
            f" {', '.join(map(repr, header))}: name them with --task.files.text NAME --task.files.label NAME; of"
            " translations, with own/translator and --task.src NAME --task.tgt NAME. If line 1 does not name the"
            " columns, put a line above it that does. A column of running text goes to a .txt file"
        )
    return texts, label


def _usual(header: list[str], names: tuple[str, ...]) -> str:
    found = [name for name in header if name.lower() in names]
    return found[0] if len(found) == 1 else ""


def _check_few(rows: Rows, label: str) -> None:
    """Refuse labels that are no classes: nearly every row has one of its own."""
    several = len({row[-1] for row in rows.rows})
    if len(rows) >= 10 and several > max(len(rows) // 2, 2):
        raise DataError(
            f"{rows.paths[0]}: {label!r} has {several:,} different values in {len(rows):,} rows, which are no classes."
            " Name another column with --task.files.label, or round the numbers to a few: nothing here learns to"
            " predict a number. Columns of translations are called by their languages, or source and target"
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
                    f" labels are {', '.join(map(repr, classes[:20]))}; add examples of it there, mend the label, or"
                    " take the row away"
                )
    if known:
        return known
    each = ", ".join(f"{label} {counts[label]:,}" for label in classes[:10])
    notes.append(f"{len(classes)} classes: {each}{' …' if classes[10:] else ''}")
    return classes


def own_labelled(
    name: str, files: Files, known: tuple[str, ...] = (), *, numbers: bool = False
) -> tuple[dict[str, Rows], tuple[str, ...], list[str]]:
    """Texts with a class each, of a table or of a folder with train.csv and the like.

    Args:
        name: "files:PATH".
        files: which columns are read, and how they are split.
        known: the classes of a model that is to be scored: then nothing is split.
        numbers: all columns are numbers but the label's.

    Returns:
        the rows of each part, the texts and the label of each; the classes; what is to be said of them.

    Raises:
        DataError: a file is missing or damaged, a cell is empty, or a label is not in the training data.
    """
    unit = "sequences" if numbers else "texts"
    left: list[str] = []
    found_files = own.find(own.path_of(name), own.TABLES, unit, left, whole=bool(known))
    tables = {part: own.read_table(file) for part, file in found_files.items()}
    texts, label = _columns(next(iter(tables.values())), files, numbers=numbers)
    shown = texts if len(texts) < 5 else (*texts[:2], "…", texts[-1])
    notes = [f"{unit} in {', '.join(map(repr, shown))}, labels in {label!r}", *left]
    found = {part: table.rows((*texts, label), notes) for part, table in tables.items()}
    for rows in found.values():
        rows.rows = [(*row[:-1], row[-1].strip()) for row in rows.rows]
    if not numbers:
        found = {part: own.without_blanks(rows, files, notes, unit="row") for part, rows in found.items()}
    if not known:
        _check_few(found["train"], label)
        found = own.split(
            found, files, notes, unit=unit, key=lambda row: row[:-1], stratum=lambda row: row[-1]
        )
    return found, checked_classes(found, notes, known), notes


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
    parts, classes, notes = own_labelled(name, files, known, numbers=True)
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
