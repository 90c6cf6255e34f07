"""Pictures with labels, and pictures as sequences: patches in rows, or one byte after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.shipped import DataError


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
