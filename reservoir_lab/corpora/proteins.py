"""Remote homology: which fold a protein has, from its amino acids alone (Hou et al. 2018; TAPE, Rao et al. 2019)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from reservoir.datasets.examples import Examples, Stored, padded
from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.fetching import fetch
from reservoir_lab.corpora.reading import read_text

ACIDS = "ABCDEFGHIKLMNOPQRSTUVWXYZ"
"""IUPAC's letters for amino acids, as TAPE has them: all capitals but J."""

TOKENS, FOLDS = 30, 1200
"""How many tokens and classes the released code of Lu et al. has room for: five special ones, and 1,195 folds."""

PARTS = {"train": "train", "valid": "valid", "test": "test_fold_holdout"}


def proteins(*, longest: int) -> Examples:
    """TAPE's proteins, whose test folds' families were never seen in training; fetched if need be.

    Args:
        longest: how many amino acids are read of a protein; what a longer one has more is cut off.

    Raises:
        DataError: the data cannot be had or read.
    """
    folder = fetch("tape-homology")
    parts = {
        part: read_proteins(folder / f"remote_homology_{file}.json", longest=longest)
        for part, file in PARTS.items()
    }
    classes = tuple(f"fold {n}" for n in range(FOLDS))
    return Examples("homology", classes, parts["train"], parts["valid"], parts["test"])


def read_proteins(path: Path, *, longest: int) -> Stored:
    """One of TAPE's JSON files: a list of objects with "primary", the amino acids, and "fold_label".

    Raises:
        DataError: it is something else, a letter is no amino acid, or a fold is out of range.
    """
    try:
        entries = json.loads(read_text(path))
        found = [(str(entry["primary"]), int(entry["fold_label"])) for entry in entries]
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f'{path} is no JSON list of proteins with "primary" and "fold_label": {error!r}'
        ) from None
    if not found:
        raise DataError(f"{path} holds no proteins")
    for number, (primary, fold) in enumerate(found, start=1):
        if wrong := sorted(set(primary) - set(ACIDS)) or ([] if primary else ["nothing"]):
            raise DataError(f"{path}, protein {number}: {wrong[0]!r} is none of the amino acids {ACIDS}")
        if not 0 <= fold < FOLDS:
            raise DataError(f"{path}, protein {number}: fold_label must be from 0 to {FOLDS - 1}, got {fold}")
    return padded([encode(primary)[:longest] for primary, _ in found], [fold for _, fold in found])


def encode(primary: Sequence[str]) -> list[int]:
    """The ids of amino acids, from 5 on: five are left for special tokens."""
    return [TOKENS - len(ACIDS) + ACIDS.index(letter) for letter in primary]


def made_up(n: int, *, seed: int) -> Stored:
    """Sequences that need no download: one of four folds is three letters that stand somewhere among random ones.

    Args:
        n: how many.
        seed: any integer.
    """
    draws, rows, labels = Draws(seed), [], []
    for _ in range(n):
        fold = draws.below(4)
        row = [draws.pick(ACIDS) for _ in range(12 + draws.below(12))]
        place = draws.below(len(row) - 2)
        row[place : place + 3] = ACIDS[3 * fold : 3 * fold + 3]
        rows.append(encode(row))
        labels.append(fold)
    return padded(rows, labels)
