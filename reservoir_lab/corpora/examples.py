"""What is fetched and is no text: pictures, handwritten digits (MNIST) and CIFAR-10; and proteins with their fold."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.batches import Examples, Stored, padded
from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora import fetching, pictures
from reservoir_lab.corpora.fetching import fetch
from reservoir_lab.corpora.reading import read_bytes, read_text

NAMES = ("digits", "mnist", "cifar10", "cifar10-sample")
SIDE, EACH = 32, 1000  # CIFAR's pictures; how many are in a file of the sample
TEST_FILE = 50  # of the sample; those before it are for training
Part = tuple[Tensor, Tensor]  # (n, rows, columns, channels) uint8 and (n,) classes
CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def images(name: str) -> pictures.ImageCorpus:
    """Return pictures with labels, fetched if need be.

    Args:
        name: "digits" (`pictures.digits`, embedded), "mnist" (LeCun et al. 1998), "cifar10" (Krizhevsky
            2009), or "cifar10-sample" (ten of its fifty thousands for training and one for testing).

    Raises:
        DataError: the name is unknown, or the data cannot be had or read.
    """
    if name not in NAMES:
        raise fetching.unknown("image dataset", name, list(NAMES))
    if name == "digits":
        return pictures.digits()
    folder = fetch(name)
    if name == "mnist":
        parts = [
            (
                read_idx(folder / f"{part}-images-idx3-ubyte.gz", 3)[..., None],
                read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 1).long(),
            )
            for part in ("train", "t10k")
        ]
        for pixels, labels in parts:
            if len(pixels) != len(labels):
                raise DataError(f"{folder} has {len(pixels)} pictures but {len(labels)} labels")
    elif name == "cifar10":
        parts = _cifar(folder / "cifar-10-binary.tar.gz")
    else:
        shown = _labels(folder / "cifar10_labels.js")
        parts = [_sample(folder, number, shown) for number in (*range(10), TEST_FILE)]
    *train, test = parts
    whole = pictures.Images(*(torch.cat(tensors) for tensors in zip(*train, strict=True)))
    return pictures.ImageCorpus(
        name, pictures.DIGITS if name == "mnist" else CIFAR, whole, pictures.Images(*test)
    )


def _cifar(path: Path) -> list[Part]:
    """The published archive: five files to train on, one to test on."""
    names = (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch")
    try:
        with tarfile.open(fileobj=io.BytesIO(read_bytes(path)), mode="r:") as archive:
            files = [archive.extractfile(f"cifar-10-batches-bin/{name}.bin").read() for name in names]  # type: ignore[union-attr]
    except (tarfile.TarError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path} is damaged, or not the archive of CIFAR-10's binary files: {error}"
        ) from error
    return [_records(f"{path}, {name}", content) for name, content in zip(names, files, strict=True)]


def _records(where: str, content: bytes) -> Part:
    """A byte for the label, then a picture's red, green and blue, row after row."""
    size = 1 + SIDE * SIDE * 3
    if not content or len(content) % size:
        raise DataError(f"{where} is cut off: {len(content):,} bytes are no number of records of {size:,}")
    table = torch.from_numpy(np.frombuffer(content, dtype=np.uint8).reshape(-1, size).copy())
    if int(table[:, 0].max()) >= len(CIFAR):
        raise DataError(f"{where}: a label must be from 0 to 9, got {int(table[:, 0].max())}")
    pixels = table[:, 1:].reshape(-1, 3, SIDE, SIDE).permute(0, 2, 3, 1).contiguous()
    return pixels, table[:, 0].long()


def read_idx(path: Path, dimensions: int) -> Tensor:
    """Read an IDX file of bytes: two zeros, the type, the number of dimensions, their sizes, then the numbers.

    Raises:
        DataError: the file is damaged, or is not what its head says.
    """
    content = read_bytes(path)
    head = bytes([0, 0, 8, dimensions])
    if content[:4] != head:
        raise DataError(
            f"{path} is no IDX file of bytes in {dimensions} dimensions: it begins with {content[:4].hex()}"
        )
    start = 4 + 4 * dimensions
    shape = tuple(np.frombuffer(content[4:start], dtype=">u4").tolist())
    if len(shape) != dimensions or len(content) - start != int(np.prod(shape)):
        raise DataError(
            f"{path} is truncated: its header gives {shape}, but {len(content) - start} numbers follow"
        )
    return torch.from_numpy(np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape).copy())


def _sample(folder: Path, number: int, labels: list[int]) -> Part:
    from PIL import Image

    path = folder / f"cifar10_batch_{number}.png"
    try:
        with Image.open(io.BytesIO(read_bytes(path))) as opened:
            table = np.asarray(opened.convert("RGB"))
    except (OSError, SyntaxError) as error:
        raise DataError(f"{path} is damaged, or no picture: {error}") from error
    if table.shape != (EACH, SIDE * SIDE, 3):
        raise DataError(
            f"{path} is {table.shape[1]} × {table.shape[0]} pixels, not {SIDE * SIDE} × {EACH}: a row is a picture"
        )
    shown = labels[number * EACH : (number + 1) * EACH]
    return torch.from_numpy(table.reshape(EACH, SIDE, SIDE, 3).copy()), torch.tensor(shown)


def _labels(path: Path) -> list[int]:
    """The labels of all files, a JavaScript array."""
    found = re.fullmatch(
        r"\s*var labels\s*=\s*(\[[\d,\s]*\]);?\s*", read_bytes(path).decode("utf-8", "replace")
    )
    labels = json.loads(found[1]) if found else []
    if len(labels) != (TEST_FILE + 1) * EACH or max(labels) > 9:
        raise DataError(
            f"{path} should be 'var labels=[…];' with {(TEST_FILE + 1) * EACH} classes from 0 to 9"
        )
    return labels


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
