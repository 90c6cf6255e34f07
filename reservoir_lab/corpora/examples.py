"""What is no text: pictures with labels, and as sequences of patches or of bytes; and proteins with their fold."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.batches import Examples, Stored, padded
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
                read_idx(folder / f"{part}-images-idx3-ubyte.gz")[..., None],
                read_idx(folder / f"{part}-labels-idx1-ubyte.gz").long(),
            )
            for part in ("train", "t10k")
        ]
    elif name == "cifar10":
        parts = _cifar(folder / "cifar-10-binary.tar.gz")
    else:
        shown = _labels(folder / "cifar10_labels.js")
        parts = [_sample(folder, number, shown) for number in (*range(10), TEST_FILE)]
    *train, test = parts
    whole = Images(*(torch.cat(tensors) for tensors in zip(*train, strict=True)))
    return ImageCorpus(name, DIGITS if name == "mnist" else CIFAR, whole, Images(*test))


def _cifar(path: Path) -> list[Part]:
    """The published archive: five files to train on, one to test on.

    A record is a byte for the label, then a picture's red, green and blue, row after row.
    """
    found = []
    with tarfile.open(fileobj=io.BytesIO(read_bytes(path)), mode="r:") as archive:
        for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
            content = archive.extractfile(f"cifar-10-batches-bin/{name}.bin").read()  # type: ignore[union-attr]
            table = _tensor(content).view(-1, 1 + SIDE * SIDE * 3)
            pixels = table[:, 1:].reshape(-1, 3, SIDE, SIDE).permute(0, 2, 3, 1).contiguous()
            found.append((pixels, table[:, 0].long()))
    return found


def _tensor(content: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(content, dtype=np.uint8).copy())


def read_idx(path: Path) -> Tensor:
    """Read an IDX file of bytes: two zeros, the type, the number of dimensions, their sizes, then the numbers."""
    content = read_bytes(path)
    start = 4 + 4 * content[3]
    return _tensor(content[start:]).view(*np.frombuffer(content[4:start], dtype=">u4").tolist())


def _sample(folder: Path, number: int, labels: list[int]) -> Part:
    """One of the sample's files, a picture in each row of which is one of CIFAR's."""
    from PIL import Image

    with Image.open(io.BytesIO(read_bytes(folder / f"cifar10_batch_{number}.png"))) as opened:
        table = np.array(opened.convert("RGB"))
    shown = labels[number * EACH : (number + 1) * EACH]
    return torch.from_numpy(table.reshape(EACH, SIDE, SIDE, 3)), torch.tensor(shown)


def _labels(path: Path) -> list[int]:
    """The labels of all files, a JavaScript array: `var labels=[6,9, …];`."""
    return json.loads(read_text(path).partition("=")[2].strip().removesuffix(";"))


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
