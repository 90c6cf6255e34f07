"""Pictures of one's own: a folder with one subfolder per class, or with a table that names them and their classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from reservoir.datasets.shipped import DataError
from reservoir_lab.corpora import own
from reservoir_lab.corpora.own import Files, Rows
from reservoir_lab.corpora.own_texts import LABEL_NAMES, checked_classes

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
PATCHES = 16  # along a side, at most, of pictures whose size nobody chose
DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")


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
    """Pictures of a folder with one subfolder per class, or with a table of their names and classes, such as
    metadata.csv; or of its folders train, valid and test…, of such each.

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
    path, notes = own.path_of(name), list[str]()
    if not path.is_dir():
        raise DataError(f"{path} is a file: pictures lie in a folder with one subfolder per class")
    top, inner = path, path / "data"
    path = inner if _folders(path) == [inner] else path  # as Hugging Face has it
    folders = _splits(path)
    if "train" not in folders and not (known and folders):
        folders = {path.name if known else "train": path}
    parts = _named(path, folders, files, notes) or {part: _rows(folder) for part, folder in folders.items()}
    taken = {row[0] for rows in parts.values() for row in rows.rows}
    taken |= {str(one) for rows in parts.values() for one in rows.paths}
    strays = [file for file in own.files_below(top) if str(file) not in taken]
    if strays:
        names = ", ".join(str(file) for file in strays[: own.FEW]) + (" …" if strays[own.FEW :] else "")
        notes.append(f"files left out that are no pictures, or of no class: {names} ({len(strays):,} in all)")
    if not known:
        parts = own.split(parts, files, notes, unit="pictures", stratum=lambda row: row[-1])
    classes = checked_classes(parts, notes, known)
    paths = [row[0] for rows in parts.values() for row in rows.rows]
    shapes = Counter(map(_shape, paths))
    if moving := sum(count for (*_, moves), count in shapes.items() if moves):
        notes.append(f"frames left out but the first of each: {moving:,} pictures have several")
    channels = channels or max(shape[2] for shape in shapes)
    if channels not in MODES:
        raise DataError(f"channels must be one of {', '.join(map(str, MODES))}, got {channels}")
    rows_columns = _size(shapes, patch) if size == (0, 0) else size
    few = ", ".join(
        f"{high} × {wide}" for high, wide in list(dict.fromkeys(shape[:2] for shape in shapes))[: own.FEW]
    )
    same = {shape[:2] for shape in shapes} == {rows_columns}
    notes.append(
        f"pictures of {rows_columns[0]} × {rows_columns[1]} pixels, {channels} channel{'s' * (channels > 1)}"
        + (
            ""
            if same
            else f", resized from {few}{' …' if len(shapes) > own.FEW else ''} (--task.size ROWS COLUMNS)"
        )
    )
    scale = scale or scale_of(paths)
    if scale:
        notes.append(f"values from 0 to {scale:g} in all pictures of more than 8 bits")
    numbers = {label: number for number, label in enumerate(classes)}
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

    `scale` is what is white if it has more than 8 bits; 0 finds that from this picture alone.

    Raises:
        DataError: it cannot be read as a picture.
    """
    with _opened(path) as opened:
        picture = ImageOps.exif_transpose(opened)
        if picture.mode in DEEP:  # of whose bits Pillow would cut the upper ones off
            numbers = np.asarray(picture, dtype=np.float64) / (scale or scale_of([path]))
            picture = Image.fromarray((numbers.clip(0, 1) * 255).round().astype(np.uint8))
        picture = picture.convert(MODES[channels]).resize(size[::-1], Image.Resampling.BICUBIC)
        return torch.from_numpy(np.array(picture, dtype=np.uint8).reshape(*size, channels))


def scale_of(paths: Sequence[Path | str]) -> float:
    """What is white in pictures of more than 8 bits, 0 if there are none.

    It is the largest number of as few bits, 1 or 8 to 16, as all of them have; of fractions it is 1, or the largest
    where that is more.

    Raises:
        DataError: a number is negative, is none, or has more bits.
    """
    most, whole = -1.0, True
    for path in paths:
        with _opened(path) as opened:
            numbers = np.asarray(opened, dtype=np.float64) if opened.mode in DEEP else np.zeros(0)
        if numbers.size:
            most = max(most, float(numbers.max()))
            if not 0 <= numbers.min() <= numbers.max() < 2**16:  # not a number, too
                raise DataError(
                    f"{path} has values from {numbers.min():g} to {numbers.max():g}; those of all pictures must be"
                    " from 0 to 1, or from 0 to 65535: shift and scale all of them alike, and fill gaps"
                )
            whole &= bool((numbers == numbers.round()).all())
    scales = (2.0**bits - 1 for bits in (1, 8, 10, 12, 14, 16))
    return 0 if most < 0 else next(one for one in scales if most <= one) if whole else max(most, 1.0)


@contextmanager
def _opened(path: Path | str) -> Iterator[Image.Image]:
    """A picture, whatever of it is read within `with`."""
    try:
        with Image.open(path) as opened:
            yield opened
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is damaged, or no picture ({error}): replace it, or delete it") from error


def _folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and not own.hidden(folder, path))


def _splits(path: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in _folders(path):
        if part := own.part_of(folder.name, alone=True):
            if part in found:
                raise DataError(
                    f"{path} has {found[part].name} and {folder.name} for {part}: keep one, or name one of them test"
                )
            found[part] = folder
    return found


def _named(path: Path, folders: dict[str, Path], files: Files, notes: list[str]) -> dict[str, Rows]:
    """The pictures that tables name, in the folder or in those of its parts, by part."""
    classed = any(len(_folders(folder)) > 1 for folder in folders.values())  # the folders may say the classes
    found: dict[str, Rows] = {}
    for file in filter(own.is_table, own.data_files(path)):
        try:
            table = own.read_table(file)
        except DataError:
            if classed:
                continue
            raise
        if (names := own.named_pictures(table)) is None:
            continue
        column, called = names
        rest = [name for i, name in enumerate(table.header) if i != column]
        usual = [name for name in rest if name.lower() in LABEL_NAMES]
        label = [files.label] if files.label else usual or ([] if classed else rest[: len(rest) == 1])
        if len(label) != 1:
            if classed or not rest:
                continue
            raise DataError(
                f"{file}, line 1: which column holds the class of a picture? They are"
                f" {', '.join(map(repr, table.header))}: name it with --task.files.label NAME"
            )
        notes.append(f"pictures in {table.header[column]!r}, labels in {label[0]!r} of {file}")
        rows = table.rows((table.header[column], label[0]), notes)
        rows = own.without_blanks(rows, files, notes, unit="row")
        for line, (name, its) in zip(rows.lines, rows.rows, strict=True):
            if (picture := called.get(name.strip())) is None:
                raise DataError(
                    f"{file}, line {line}: there is no one picture called {name!r}: add it, give its path below"
                    f" {file.parent}, or delete the line"
                )
            within = (part for part, folder in folders.items() if folder in picture.parents)
            part = own.part_of(file.name.partition(".")[0]) or next(within, "train")
            those = found.setdefault(part, Pictures((), [], []))
            those.paths = tuple(dict.fromkeys((*those.paths, file)))
            those.rows.append((str(picture), its.strip()))
            those.lines.append(line)
    return found


def _rows(path: Path) -> Rows:
    """The pictures below each subfolder, with its name."""
    found: list[tuple[str, ...]] = []
    if (folders := _folders(path)) and all(own.part_of(folder.name) for folder in folders):
        raise DataError(
            f"{path}: are {', '.join(folder.name for folder in folders)} parts or classes? Call parts train, valid and"
            " test, and no class so that its name begins or ends with such a word"
        )
    for folder in folders:
        pictures = [file for file in own.files_below(folder) if own.is_picture(file)]
        if not pictures:
            raise DataError(f"{folder}: there are no pictures of this class; add some, or delete the folder")
        found += [(str(file), folder.name) for file in pictures]
    if not found:
        raise DataError(
            f"{path} has no subfolders: pictures lie in one subfolder per class, such as {path}/cat, or a table next to"
            " them, such as metadata.csv, has a column of their names and one of classes"
        )
    return Pictures((path,), found, list(range(1, len(found) + 1)))


class Pictures(Rows):
    """Rows of pictures, each of which is a file and not a line of one."""

    def where(self, row: int, side: int = 0) -> str:
        """The file."""
        return self.rows[row][0]


def _shape(path: str) -> tuple[int, int, int, bool]:
    """Rows, columns and channels of a picture, of which only the head is read, and whether it has several frames."""
    with _opened(path) as opened:
        sideways = opened.getexif().get(0x0112, 1) > 4
        (wide, high), bands = opened.size, opened.getbands()
        opaque = "transparency" not in opened.info and not {"A", "a"} & set(bands)
        moves = getattr(opened, "n_frames", 1) > 1
        colours = 1 if opened.mode in ("1", "L", "LA", "La", *DEEP) else 3
    return (*((wide, high) if sideways else (high, wide)), colours + (not opaque), moves)


def _size(shapes: Counter[tuple[int, int, int, bool]], patch: int) -> tuple[int, int]:
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
