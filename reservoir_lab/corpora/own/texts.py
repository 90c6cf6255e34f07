"""Parallel and running text of one's own."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.fetching import read_lines
from reservoir_lab.corpora.own.parts import (
    PACKED,
    PARTS,
    Files,
    Rows,
    find,
    hidden,
    part_of,
    path_of,
    split,
    stem_of,
    without_blanks,
)
from reservoir_lab.corpora.own.tables import TABLES, read_table

TEXTS = (".txt", ".md", ".text")
WORDS = 4
"""The longest groups of words that BLEU counts; where there are none, it is 0."""
STRETCHES = 100
"""What running text is cut into where it has no file to validate and to test on: neighbouring lines stay together."""


def languages(name: str) -> list[str]:
    """The languages of a parallel text of one's own: the endings of its training files, or a table's columns."""
    path = path_of(name)
    if tables := _tables(path):
        return read_table(tables[0]).header
    return sorted(_by_language(path).get("train", {}))


def own_pairs(
    name: str, src: str, tgt: str, files: Files, *, whole: bool = False
) -> tuple[dict[str, Rows], list[str]]:
    """Sentence pairs: a folder with train.de and train.en, or a table with the columns de and en; `whole` if none of
    them is to be trained on, so that nothing is split.

    Returns:
        the rows of each part, source and target, and what is to be said of them.

    Raises:
        DataError: a file is missing or damaged, or two files are out of step.
    """
    path, notes = path_of(name), list[str]()
    if _tables(path):
        tables = find(path, TABLES, "pairs", notes, whole=whole)
        found = {part: read_table(file).rows((src, tgt), notes) for part, file in tables.items()}
    else:
        parts = {part: files for part, files in _by_language(path).items() if {src, tgt} & files.keys()}
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
        ordered = sorted(parts, key=lambda part: (part not in PARTS, part))
        found = {part: _aligned(path, parts[part], src, tgt) for part in ordered}
        used = {file for rows in found.values() for file in rows.paths}
        if left := [
            file.name for file in sorted(path.iterdir()) if file not in used and not hidden(file, path)
        ]:
            notes.append(f"{path}: left out, as no part in {src} or {tgt}: {', '.join(left)}")
    found = {part: without_blanks(rows, notes, unit="pair") for part, rows in found.items()}
    if max(len(row[1].split()) for rows in found.values() for row in rows.rows) < WORDS:
        notes.append(
            f"no text in {tgt} has {WORDS} words with spaces between, as BLEU counts them: it will be 0, unless"
            " --task.tokenise cuts texts otherwise; char counts characters"
        )
    return found if whole else split(found, files, notes, unit="pairs"), notes


def own_text(name: str, files: Files, *, whole: bool = False) -> tuple[dict[str, str], list[str]]:
    """Running text: one file, or a folder with train.txt, and valid.txt and test.txt if there are any.

    Where a part has no file, stretches of neighbouring lines are taken out of the training text by the seed; nothing
    is if the text is wanted `whole`.

    Raises:
        DataError: a file is missing, damaged or without text, or too short to split.
    """
    notes = list[str]()
    found = find(path_of(name), TEXTS, "texts", notes, whole=whole)
    texts = {}
    for part, file in found.items():
        lines = read_lines(file)
        if not any(line.strip() for line in lines):
            raise DataError(f"{file}: there is no text in it; write some")
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
                f"{path_of(name)} has the tests {', '.join(tests)}: a language model takes one; keep one"
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
    """The file itself, or the tables in a folder."""
    endings = tuple(f"{kind}{packed}" for kind in TABLES for packed in PACKED)
    return (
        [path]
        if path.is_file()
        else sorted(file for file in path.iterdir() if file.name.lower().endswith(endings))
    )


def _by_language(path: Path) -> dict[str, dict[str, Path]]:
    """The files of each part by their language, as their names say: "test.news" and "de" of test.news.de.gz."""
    found: dict[str, dict[str, Path]] = {}
    for file in sorted(path.iterdir()):
        plain = stem_of(file.name, PACKED[1:]) or file.name
        stem, _, language = plain.rpartition(".")
        if part := part_of(stem):
            found.setdefault(part, {}).setdefault(
                language.lower(), file
            )  # of two, the one that is not packed
    return found


def _aligned(path: Path, files: dict[str, Path], src: str, tgt: str) -> Rows:
    for language, other in ((src, tgt), (tgt, src)):
        if language not in files:
            stem = files[other].name.partition(f".{other}")[0]
            raise DataError(
                f"{path} has no {stem}.{language}, which must translate the other {stem} file: add it"
            )
    paths = (files[src], files[tgt])
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
