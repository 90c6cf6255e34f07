"""What is no text: pictures with labels, and as sequences of patches or of bytes; and proteins with their fold."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.examples import Examples, Stored, padded
from reservoir.datasets.grammar import Draws
from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora import fetching
from reservoir_lab.corpora.fetching import fetch, read_bytes, read_text

NAMES = ("digits", "mnist", "cifar10", "cifar10-sample")
SIDE, EACH = 32, 1000  # CIFAR's pictures; how many are in a file of the sample
TEST_FILE = 50  # of the sample; those before it are for training
Part = tuple[Tensor, Tensor]  # (n, rows, columns, channels) uint8 and (n,) classes
CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class Images:
    """Pictures and what they show.

    Args:
        pixels: (n, rows, columns, channels), uint8.
        labels: (n,), int64.
    """

    pixels: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class ImageCorpus:
    """Pictures to train and to test on.

    Args:
        name: of the dataset.
        classes: the names of the labels.
        train, test: disjoint.
    """

    name: str
    classes: tuple[str, ...]
    train: Images
    test: Images


DIGITS = tuple("0123456789")


def digits() -> ImageCorpus:
    """scikit-learn's 1,797 pictures of 8 × 8 pixels; the last third is the test set, other writers than the first."""
    from sklearn.datasets import load_digits  # which takes a second to import

    bunch = load_digits()
    pixels = torch.from_numpy((bunch.images * 255 / 16).round().astype(np.uint8))[..., None]
    labels = torch.from_numpy(bunch.target.astype(np.int64))
    cut = 2 * len(labels) // 3
    return ImageCorpus(
        "digits", DIGITS, Images(pixels[:cut], labels[:cut]), Images(pixels[cut:], labels[cut:])
    )


def shrunk(pixels: Tensor, factor: int) -> Tensor:
    """Pictures whose pixels are means of squares of `factor` × `factor` pixels.

    Raises:
        DataError: the picture has no whole number of such squares.
    """
    n, rows, columns, channels = pixels.shape
    if factor < 1 or rows % factor or columns % factor:
        raise DataError(f"a picture of {rows} × {columns} pixels cannot be shrunk {factor} times")
    cut = pixels.view(n, rows // factor, factor, columns // factor, factor, channels)
    return cut.float().mean((2, 4)).round().to(torch.uint8)


def patches(pixels: Tensor, size: int) -> Tensor:
    """Pictures as sequences of square patches, row after row, each a vector of numbers from 0 to 1.

    Args:
        pixels: (n, rows, columns, channels), uint8.
        size: of a patch's side; divides rows and columns. 4 is what Lu et al. (2021) take.

    Returns:
        (n, rows · columns / size², size² · channels), fp32.

    Raises:
        DataError: the picture cannot be cut into such patches.
    """
    n, rows, columns, channels = pixels.shape
    if size < 1 or rows % size or columns % size:
        raise DataError(
            f"a picture of {rows} × {columns} pixels cannot be cut into patches of {size} × {size}"
        )
    cut = pixels.view(n, rows // size, size, columns // size, size, channels).transpose(2, 3)
    return cut.reshape(n, -1, size * size * channels) / 255


def bytes_in_a_row(pixels: Tensor) -> Tensor:
    """Pictures as the Long Range Arena has them (Tay et al. 2021): grey, one pixel after another, (n, pixels, 1)."""
    weights = torch.tensor([0.2989, 0.5870, 0.1140])  # ITU-R BT.601, as in TensorFlow's conversion
    grey = pixels[..., :3].float() @ weights if pixels.shape[-1] > 2 else pixels[..., 0].float()
    return grey.flatten(1)[..., None] / 255


def images(name: str) -> ImageCorpus:
    """Return pictures with labels, fetched if need be.

    Args:
        name: "digits" (`digits`, embedded), "mnist" (LeCun et al. 1998), "cifar10" (Krizhevsky
            2009), or "cifar10-sample" (ten of its fifty thousands for training and one for testing).

    Raises:
        DataError: the name is unknown, or the data cannot be had or read.
    """
    if name not in NAMES:
        raise fetching.unknown("image dataset", name, list(NAMES))
    if name == "digits":
        return digits()
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
    whole = Images(*(torch.cat(tensors) for tensors in zip(*train, strict=True)))
    return ImageCorpus(name, DIGITS if name == "mnist" else CIFAR, whole, Images(*test))


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
