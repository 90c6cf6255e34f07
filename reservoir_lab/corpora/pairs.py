"""Sentence pairs in three parts, two files that translate each other, and the test sets of the WMT news tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reservoir.datasets import DataError, Pairs
from reservoir_lab.corpora import manifest
from reservoir_lab.corpora.fetching import fetch
from reservoir_lab.corpora.reading import read_lines


@dataclass(frozen=True)
class ParallelCorpus:
    """Sentence pairs to train on, to choose by, and to test on, by the test's name.

    Args:
        tokenised: the text is cut already, into tokens with spaces between; pieces do not cross them, and BLEU counts
            them as they are.
        notes: what is to be said of how it was read: sizes, splits, what was left out.
        places: where a sentence of one's own stands, by part: a function of its row and its side.
    """

    name: str
    src: str
    tgt: str
    train: Pairs
    valid: Pairs
    tests: dict[str, Pairs]
    tokenised: bool = False
    notes: tuple[str, ...] = ()
    places: Mapping[str, Callable[[int, int], str]] = field(default_factory=dict, repr=False, compare=False)

    def place(self, part: str, row: int, side: int) -> str:
        """Where a sentence stands, for an error."""
        if part in self.places:
            return self.places[part](row, side)
        return f"{self.name}, {part}.{(self.src, self.tgt)[side]}, line {row + 1}"


def read_pairs(src_path: str | Path, tgt_path: str | Path) -> Pairs:
    """Read two files whose lines translate each other, empty ones included.

    Raises:
        DataError: a file is missing, damaged or not UTF-8, or the line counts differ.
    """
    src, tgt = read_lines(src_path), read_lines(tgt_path)
    if len(src) != len(tgt):
        raise DataError(
            f"{src_path} has {len(src)} lines but {tgt_path} has {len(tgt)}: "
            "line n of the one must translate line n of the other"
        )
    return Pairs(src, tgt)


def test_set(name: str, *, src: str, tgt: str) -> Pairs:
    """Return a test set of the WMT news tasks: "newstest2014" with "de" and "en", "newstest2017" with "tr" and "en".

    Raises:
        DataError: the languages or the name are unknown, or the data cannot be had.
    """
    codes = {"de": "deu", "en": "eng", "tr": "tur"}
    if sorted((src, tgt)) not in (["de", "en"], ["en", "tr"]):
        raise DataError(f"there are test sets between 'en' and 'de' or 'tr', got src={src!r}, tgt={tgt!r}")
    source = f"newstest-{'tur' if 'tr' in (src, tgt) else 'deu'}-eng"
    known = sorted({Path(file.name).stem for file in manifest.dataset(source).files})
    if name not in known:
        raise manifest.unknown(f"test set between {src!r} and {tgt!r} named", name, known)
    folder = fetch(source)
    return read_pairs(folder / f"{name}.{codes[src]}", folder / f"{name}.{codes[tgt]}")


# pytest would take the name for a test wherever it is imported.
test_set.__test__ = False  # type: ignore[attr-defined]
