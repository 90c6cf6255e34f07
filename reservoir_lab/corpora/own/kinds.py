"""What kind of data a file or folder of one's own holds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from reservoir.datasets.errors import DataError
from reservoir_lab.corpora.own.parts import PACKED, PICTURES, part_of, path_of
from reservoir_lab.corpora.own.tables import LABEL_NAMES, TABLES, read_table
from reservoir_lab.corpora.own.texts import TEXTS, languages

Kind = Literal["pairs", "text", "labels", "pictures", "numbers"]
KINDS = {
    "pairs": "parallel text: train.de and train.en in a folder, or a table with the columns de and en",
    "text": "running text: a .txt file, or train.txt in a folder",
    "labels": "labelled texts: a table, .csv or .tsv, with a column of texts and one of labels",
    "pictures": "pictures: a folder with one subfolder per class",
    "numbers": "sequences of numbers: a table with a column of labels, and numbers in the others",
}


def kind_of(name: str) -> Kind:
    """What "files:PATH" holds, by the names of its files and a table's first lines.

    Raises:
        DataError: it is not there, or is none of the kinds.
    """
    path = path_of(name)
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
    plain = {file: file.name.removesuffix(next(filter(file.name.endswith, PACKED[1:]), "")) for file in files}
    if tables := sorted(file for file, stem in plain.items() if stem.endswith(TABLES)):
        return _of_table(tables[0])
    # Running text comes last: a README stands next to data of any kind.
    parts = path.is_dir() and any(part_of(stem.partition(".")[0]) for stem in plain.values())
    if parts and any(f".{ending}" not in TEXTS for ending in languages(name)):
        return "pairs"
    if path.is_dir() and any(file.suffix.lower() in PICTURES for file in path.rglob("*")):
        return "pictures"
    if any(stem.endswith(TEXTS) for stem in plain.values()):
        return "text"
    raise DataError(f"{path} holds none of what can be trained on: " + "; ".join(KINDS.values()))


def _of_table(path: Path) -> Kind:
    table = read_table(path)
    rest = [i for i, name in enumerate(table.header) if name.lower() not in LABEL_NAMES]
    labelled = len(rest) < len(table.header)
    words = next(filter(None, ([w for i in rest for w in row[i].split()] for row in table.cells)), [])
    if words and all(map(_is_number, words)):
        return "numbers"
    codes = all(len(name) in (2, 3) and name.isalpha() for name in table.header)
    return "pairs" if codes and not labelled and len(rest) == 2 else "labels"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
