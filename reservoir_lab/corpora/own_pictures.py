"""Pictures of one's own: a folder with one subfolder per class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.own import FEW, PICTURES, Files, Rows, hidden, part_of, path_of, split
from reservoir_lab.corpora.own_texts import checked_classes

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
PATCHES = 16  # along a side, at most, of pictures whose size nobody chose


def own_pictures(
    name: str,
    files: Files,
    *,
    patch: int,
    size: tuple[int, int] = (0, 0),
    channels: int = 0,
    known: tuple[str, ...] = (),
) -> tuple[dict[str, tuple[Tensor, Tensor]], tuple[str, ...], list[str]]:
    """Pictures of a folder with one subfolder per class; or of its folders train, valid and test…, of such each.

    Args:
        patch: what the sides must be multiples of; 0 for pictures that are read pixel by pixel.
        size: rows and columns that all are resized to; (0, 0) keeps them if they are alike and have at most 16 × 16
            patches, and otherwise makes them square, of the usual size up to that.
        channels: 1 grey, 2 grey and opacity, 3 colours, 4 colours and opacity; 0 takes as many as the pictures have.
        known: the classes of a model that is to be scored: then nothing is split.

    Returns:
        (n, rows, columns, channels) uint8 and (n,) int64 of each part; the classes; what is to be said of them.

    Raises:
        DataError: the folder is laid out otherwise, a picture is broken, or a class is not in the training data.
    """
    path, notes = path_of(name), list[str]()
    if not path.is_dir():
        raise DataError(f"{path} is a file: pictures lie in a folder with one subfolder per class")
    folders = {part: folder for folder in _folders(path) if (part := part_of(folder.name, alone=True))}
    if "train" not in folders and not (known and folders):
        folders = {path.name if known else "train": path}
    parts = {part: _rows(folder) for part, folder in folders.items()}
    taken = {row[0] for rows in parts.values() for row in rows.rows}
    strays = [file for file in _files(path, path) if str(file) not in taken]
    if strays:
        names = ", ".join(str(file) for file in strays[:FEW]) + (" …" if strays[FEW:] else "")
        notes.append(f"files left out that are no pictures of a class: {names} ({len(strays):,} in all)")
    if not known:
        parts = split(parts, files, notes, unit="pictures", stratum=lambda row: row[-1])
    classes = checked_classes(parts, notes, known)
    shapes = Counter(_shape(row[0]) for rows in parts.values() for row in rows.rows)
    channels = channels or max(count for *_, count in shapes)
    if channels not in MODES:
        raise DataError(f"channels must be one of {', '.join(map(str, MODES))}, got {channels}")
    rows_columns = _size(shapes, patch) if size == (0, 0) else size
    few = ", ".join(
        f"{high} × {wide}" for high, wide in list(dict.fromkeys(shape[:2] for shape in shapes))[:FEW]
    )
    same = {shape[:2] for shape in shapes} == {rows_columns}
    notes.append(
        f"pictures of {rows_columns[0]} × {rows_columns[1]} pixels, {channels} channel{'s' * (channels > 1)}"
        + (
            ""
            if same
            else f", resized from {few}{' …' if len(shapes) > FEW else ''} (--task.size ROWS COLUMNS)"
        )
    )
    numbers = {label: number for number, label in enumerate(classes)}
    return (
        {
            part: (
                torch.stack([read_picture(row[0], rows_columns, channels) for row in rows.rows]),
                torch.tensor([numbers[row[-1]] for row in rows.rows]),
            )
            for part, rows in parts.items()
        },
        classes,
        notes,
    )


def read_picture(path: Path | str, size: tuple[int, int], channels: int) -> Tensor:
    """One picture, upright as its camera was held: (rows, columns, channels), uint8.

    Raises:
        DataError: it cannot be read as a picture.
    """
    with _opened(path) as opened:
        picture = ImageOps.exif_transpose(opened).convert(MODES[channels])
        picture = picture.resize(size[::-1], Image.Resampling.BICUBIC)
        return torch.from_numpy(np.array(picture, dtype=np.uint8).reshape(*size, channels))


@contextmanager
def _opened(path: Path | str) -> Iterator[Image.Image]:
    """A picture, whatever of it is read within `with`."""
    try:
        with Image.open(path) as opened:
            if opened.mode[0] in "IF":  # of whose bits Pillow would cut the upper ones off
                raise DataError(f"{path} has more than the 8 bits that are read: save it with 8 bits")
            yield opened
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is damaged, or no picture ({error}): replace it, or delete it") from error


def _folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and not hidden(folder, path))


def _files(folder: Path, path: Path) -> list[Path]:
    """All files below a folder but those that systems leave behind."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and not hidden(file, path))


def _rows(path: Path) -> Rows:
    """The pictures below each subfolder, with its name."""
    found: list[tuple[str, ...]] = []
    for folder in _folders(path):
        pictures = [file for file in _files(folder, path) if file.suffix.lower() in PICTURES]
        if not pictures:
            raise DataError(f"{folder}: there are no pictures of this class; add some, or delete the folder")
        found += [(str(file), folder.name) for file in pictures]
    if not found:
        raise DataError(
            f"{path} has no subfolders: pictures lie in one subfolder per class, such as {path}/cat"
        )
    return Pictures((path,), found, list(range(1, len(found) + 1)))


class Pictures(Rows):
    """Rows of pictures, each of which is a file and not a line of one."""

    def where(self, row: int, side: int = 0) -> str:
        """The file."""
        return self.rows[row][0]


def _shape(path: str) -> tuple[int, int, int]:
    """Rows, columns and channels of a picture, of which only the head is read."""
    with _opened(path) as opened:
        sideways = opened.getexif().get(0x0112, 1) > 4
        (wide, high), bands = opened.size, opened.getbands()
        opaque = "transparency" not in opened.info and not {"A", "a"} & set(bands)
        colours = 1 if opened.mode in ("1", "L", "LA", "La") else 3
    return (wide, high, colours + (not opaque)) if sideways else (high, wide, colours + (not opaque))


def _size(shapes: Counter[tuple[int, int, int]], patch: int) -> tuple[int, int]:
    unit = patch or 1
    most = unit * PATCHES if patch else 2 * PATCHES
    alike = {shape[:2] for shape in shapes}
    if len(alike) == 1:
        high, wide = next(iter(alike))
        if max(high, wide) <= most and not (high % unit or wide % unit):
            return high, wide
    longest = sorted(max(shape[:2]) for shape in shapes.elements())
    side = min(max(longest[len(longest) // 2] // unit * unit, unit), most)
    return side, side
