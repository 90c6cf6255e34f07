"""What kind of data a file or folder of one's own holds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.own.parts import PACKED, conversion, hidden, is_about, part_of, path_of, stem_of
from reservoir_lab.corpora.own.tables import LABEL_NAMES, TABLES, are_pictures, read_table, sides
from reservoir_lab.corpora.own.texts import TEXTS, languages

Kind = Literal["pairs", "text", "labels", "pictures", "numbers"]
KINDS = {
    "pairs": "parallel text: train.de and train.en in a folder, or a table with the columns de and en",
    "text": "running text: a .txt file, or train.txt in a folder",
    "labels": "labelled texts: a table, .csv, .tsv, .jsonl or .parquet, with a column of texts and one of labels",
    "pictures": "pictures: a folder with one subfolder per class, or with a table of their names and labels",
    "numbers": "sequences of numbers: a table with a column of labels, and numbers in the others",
}


def kind_of(name: str) -> Kind:
    """What "files:PATH" holds, by the names of its files and a table's first lines.

    Raises:
        DataError: it is not there, or is none of the kinds.
    """
    path = path_of(name)
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file())
    files = [file for file in files if not (path.is_dir() and (is_about(file) or hidden(file, path)))]
    plain = {file: stem_of(file.name, PACKED[1:]) or file.name for file in files}
    plain = {file: name.lower() for file, name in plain.items()}
    tables = [file for file, stem in plain.items() if stem.endswith(TABLES)]
    tables.sort(key=lambda file: part_of(stem_of(file.name, TABLES)) != "train")
    if path.is_dir() and are_pictures(path, tables):
        return "pictures"
    if tables:
        return _of_table(tables[0])
    parts = path.is_dir() and any(part_of(stem.partition(".")[0]) for stem in plain.values())
    if parts and any(f".{ending}" not in TEXTS for ending in languages(name)):
        return "pairs"
    if any(stem.endswith(TEXTS) for stem in plain.values()):
        return "text"
    raise DataError(
        f"{path} holds none of what can be trained on: {'; '.join(KINDS.values())}{conversion(files)}"
    )


def _of_table(path: Path) -> Kind:
    table = read_table(path)
    rest = [i for i, name in enumerate(table.header) if name.lower() not in LABEL_NAMES]
    labelled = len(rest) < len(table.header)
    if sides(table.header):
        return "pairs"
    words = [word for row in table.cells for i in rest for word in row[i].split()]
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
