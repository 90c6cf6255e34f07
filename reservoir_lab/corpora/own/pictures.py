"""Pictures of one's own: a folder with one subfolder per class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora.own.parts import FEW, PICTURES, Files, Rows, hidden, part_of, path_of, split
from reservoir_lab.corpora.own.tables import LABEL_NAMES, TABLES, checked_classes, named_pictures, read_table

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
PATCHES = 16  # along a side, at most, of pictures whose size nobody chose
GREY_16 = ("I;16", "I;16B", "I;16L", "I;16N", "I")
DEEP = (*GREY_16, "F")


def own_pictures(
    name: str,
    files: Files,
    *,
    patch: int,
    size: tuple[int, int] = (0, 0),
    channels: int = 0,
    scale: float = 0,
    known: tuple[str, ...] = (),
) -> tuple[dict[str, tuple[Tensor, Tensor]], tuple[str, ...], float, list[str]]:
    """Pictures of a folder with one subfolder per class; or of its folders train, valid and test…, of such each.

    Args:
        patch: what the sides must be multiples of; 0 for pictures that are read pixel by pixel.
        size: rows and columns that all are resized to; (0, 0) keeps them if they are alike and have at most 16 × 16
            patches, and otherwise makes them square, of the usual size up to that.
        channels: 1 grey, 2 grey and opacity, 3 colours, 4 colours and opacity; 0 takes as many as the pictures have.
        scale: what is white in pictures of more than 8 bits; 0 finds it (`scale_of`).
        known: the classes of a model that is to be scored: then nothing is split.

    Returns:
        (n, rows, columns, channels) uint8 and (n,) int64 of each part; the classes; the scale, 0 where all have 8
        bits; what is to be said of them.

    Raises:
        DataError: the folder is laid out otherwise, a picture is broken, or a class is not in the training data.
    """
    path, notes = path_of(name), list[str]()
    if not path.is_dir():
        raise DataError(f"{path} is a file: pictures lie in a folder with one subfolder per class")
    folders = {part: folder for folder in _folders(path) if (part := part_of(folder.name, alone=True))}
    if "train" not in folders and not (known and folders):
        folders = {path.name if known else "train": path}
    strays: list[Path] = []
    parts = {
        part: _listed(folder, files, strays) or _rows(folder, strays) for part, folder in folders.items()
    }
    if path not in folders.values():
        strays += [file for file in path.iterdir() if file.is_file() and not hidden(file, path)]
    if strays:
        names = ", ".join(str(file) for file in strays[:FEW]) + (" …" if strays[FEW:] else "")
        notes.append(
            f"files left out that are no pictures, or none with a label: {names} ({len(strays):,} in all)"
        )
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
    scale = scale or scale_of([row[0] for rows in parts.values() for row in rows.rows])
    if scale:
        notes.append(f"grey values are from 0 to {scale:g}, in all pictures alike")
    return (
        {
            part: (
                torch.stack([read_picture(row[0], rows_columns, channels, scale) for row in rows.rows]),
                torch.tensor([numbers[row[-1]] for row in rows.rows]),
            )
            for part, rows in parts.items()
        },
        classes,
        scale,
        notes,
    )


def read_picture(path: Path | str, size: tuple[int, int], channels: int, scale: float = 0) -> Tensor:
    """One picture, upright as its camera was held: (rows, columns, channels), uint8.

    Args:
        scale: what is white if it has more than 8 bits; 0 if that is to be found from this picture alone.

    Raises:
        DataError: it cannot be read as a picture.
    """
    try:
        with Image.open(path) as opened:
            picture = ImageOps.exif_transpose(opened)
            if picture.mode in DEEP:  # of whose bits Pillow would cut the upper ones off
                numbers = np.asarray(picture, dtype=np.float64) / (scale or scale_of([path]))
                picture = Image.fromarray((numbers.clip(0, 1) * 255).astype(np.uint8))
            picture = picture.convert(MODES[channels]).resize(size[::-1], Image.Resampling.BICUBIC)
            return torch.from_numpy(np.array(picture, dtype=np.uint8).reshape(*size, channels))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _broken(path, error) from error


def scale_of(paths: Sequence[Path | str]) -> float:
    """What is white in pictures of more than 8 bits, 0 if there are none.

    It is 1 for floats up to 1, or else the largest number of as few bits, from 8 to 16, as all of them have.

    Raises:
        DataError: a number is negative, is none, or has more bits.
    """
    most, whole = -1.0, False
    for path in paths:
        try:
            with Image.open(path) as opened:
                numbers = np.asarray(opened, dtype=np.float64) if opened.mode in DEEP else None
                whole |= opened.mode in GREY_16
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise _broken(path, error) from error
        if numbers is not None:
            most = max(most, float(numbers.max()))
            if not 0 <= numbers.min() <= numbers.max() < 2**16:  # not a number, too
                raise DataError(
                    f"{path} has values from {numbers.min():g} to {numbers.max():g}; those of all pictures must be"
                    " from 0 to 1, or from 0 to 65535"
                )
    scales = ([] if whole else [1.0]) + [2.0**bits - 1 for bits in (8, 10, 12, 14, 16)]
    return 0 if most < 0 else next(scale for scale in scales if most <= scale)


def _broken(path: Path | str, error: Exception) -> DataError:
    return DataError(f"{path} is damaged, or no picture ({error}): replace it, or delete it")


def _folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and not hidden(folder, path))


def _listed(path: Path, files: Files, strays: list[Path]) -> Rows | None:
    """The pictures that a table in their folder names, such as metadata.csv, with the label that it gives them."""
    for file in sorted(path.iterdir()):
        if not file.name.lower().endswith(TABLES) or (names := named_pictures(file)) is None:
            continue
        table = read_table(file)
        usual = [name for name in table.header if name.lower() in LABEL_NAMES]
        rest = [name for i, name in enumerate(table.header) if i != names]
        labels = [files.label] if files.label in table.header else usual or rest[: len(rest) == 1]
        if len(labels) != 1 and _folders(path):
            return None  # the folders say the classes
        if len(labels) != 1:
            raise DataError(
                f"{file}, line 1: which column holds the class of a picture? They are"
                f" {', '.join(map(repr, table.header))}: name it with --task.files.label NAME"
            )
        at = table.header.index(labels[0])
        for line, row in zip(table.lines, table.cells, strict=True):
            if not (path / row[names]).is_file():
                raise DataError(f"{file}, line {line}: there is no picture {path / row[names]}")
        rows: list[tuple[str, ...]] = [(str(path / row[names]), row[at].strip()) for row in table.cells]
        known = {row[0] for row in rows} | {str(file)}
        there = sorted(one for one in path.rglob("*") if one.is_file() and not hidden(one, path))
        strays += [one for one in there if str(one) not in known]
        return Pictures((path,), rows, table.lines)
    return None


def _rows(path: Path, strays: list[Path]) -> Rows:
    """The pictures below each subfolder, with its name."""
    found: list[tuple[str, ...]] = []
    strays += sorted(file for file in path.iterdir() if file.is_file() and not hidden(file, path))
    for folder in _folders(path):
        inside = sorted(file for file in folder.rglob("*") if file.is_file() and not hidden(file, path))
        pictures = [file for file in inside if file.suffix.lower() in PICTURES]
        strays += [file for file in inside if file.suffix.lower() not in PICTURES]
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
    try:
        with Image.open(path) as opened:
            sideways = opened.getexif().get(0x0112, 1) > 4
            (wide, high), bands = opened.size, opened.getbands()
            opaque = "transparency" not in opened.info and not {"A", "a"} & set(bands)
            colours = 1 if opened.mode in ("1", "L", "LA", "La", *GREY_16, "F") else 3
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _broken(path, error) from error
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
