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
from reservoir_lab.corpora.own import LABEL_NAMES, Files, Rows, Table
from reservoir_lab.corpora.own_texts import checked_classes

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
    parts = _named(top, folders, files, notes) or {part: _rows(folder) for part, folder in folders.items()}
    taken = {row[0] for rows in parts.values() for row in rows.rows}
    taken |= {str(one) for rows in parts.values() for one in rows.paths}
    strays = [file for file in own.files_below(top) if str(file) not in taken]
    if strays:
        notes.append(
            f"files left out that are no pictures, or of no class: {own.few(strays)} ({len(strays):,} in all)"
        )
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
    sizes = dict.fromkeys(shape[:2] for shape in shapes)
    before = own.few(f"{high} × {wide}" for high, wide in sizes)
    notes.append(
        f"pictures of {rows_columns[0]} × {rows_columns[1]} pixels, {channels} channel{'s' * (channels > 1)}"
        + ("" if [*sizes] == [rows_columns] else f", resized from {before} (--task.size ROWS COLUMNS)")
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
        DataError: it cannot be read as a picture, or goes beyond the scale.
    """
    with _opened(path) as opened:
        picture = ImageOps.exif_transpose(opened)
        if picture.mode in DEEP:  # of whose bits Pillow would cut the upper ones off
            numbers, white = _numbers(path, picture), scale or scale_of([path])
            if numbers.max() > white:
                raise DataError(
                    f"{path} has values up to {numbers.max():g}, and {white:g} was white in those that were learned"
                    " from: scale them as those were, or cut them off there"
                )
            picture = Image.fromarray((numbers / white * 255).round().astype(np.uint8))
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
            numbers = _numbers(path, opened) if opened.mode in DEEP else np.zeros(0)
        if numbers.size:
            most = max(most, float(numbers.max()))
            whole &= bool((numbers == numbers.round()).all())
    scales = (2.0**bits - 1 for bits in (1, 8, 10, 12, 14, 16))
    return 0 if most < 0 else next(one for one in scales if most <= one) if whole else max(most, 1.0)


def _numbers(path: Path | str, picture: Image.Image) -> np.ndarray:
    numbers = np.asarray(picture, dtype=np.float64)
    if not 0 <= numbers.min() <= numbers.max() < 2**16:  # not a number, too
        raise DataError(
            f"{path} has values from {numbers.min():g} to {numbers.max():g}; those of all pictures must be from 0 to"
            " 1, or from 0 to 65535: shift and scale all of them alike, and fill gaps"
        )
    return numbers


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


def _named(top: Path, folders: dict[str, Path], files: Files, notes: list[str]) -> dict[str, Rows]:
    """The pictures that tables name, in the folder or in those of its parts, by part; none where folders of classes
    hold most of the pictures that the tables name none of."""
    classed = any(len(_folders(folder)) > 1 for folder in folders.values())  # the folders may say the classes
    read: dict[Path, tuple[Table, tuple[str, str], dict[str, Path]]] = {}
    for file in filter(own.is_table, own.data_files(top)):
        if (names := _naming(file, top, quiet=classed)) is None:
            continue
        table, column, called = names
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
        read[file] = table, (table.header[column], label[0]), called
    pictures = sum(map(own.is_picture, own.files_below(top)))
    if classed and not files.label and 2 * sum(len(table.lines) for table, *_ in read.values()) <= pictures:
        return {}
    parts = {file: part for file in read if (part := own.part_in(file, top))} or dict.fromkeys(read, "")
    found: dict[str, Rows] = {}
    seen: dict[Path, tuple[str, str]] = {}
    for file, part in parts.items():
        if (first := next(one for one in parts if parts[one] == part)) != file:
            raise DataError(
                f"{first} and {file} both say the classes of {part or 'all'} pictures: keep one, or join them"
            )
        table, columns, called = read[file]
        notes.append(f"pictures in {columns[0]!r}, labels in {columns[1]!r} of {file}")
        rows = own.without_blanks(table.rows(columns, notes), files, notes, unit="row")
        for row, line in enumerate(rows.lines):
            name, its = rows.rows[row][0], rows.rows[row][1].strip()
            if (picture := called.get(own.picture_name(name))) is None:
                raise DataError(
                    f"{rows.where(row)}: there is no one picture called {name!r}: add it, give its path below"
                    f" {file.parent}, or delete the line"
                )
            other, where = seen.setdefault(picture, (its, rows.where(row)))
            if other != its:
                raise DataError(
                    f"{rows.where(row)}: {name!r} is of the class {its!r}, but {other!r} in {where}: delete one of them"
                )
            within = (part for part, folder in folders.items() if folder in picture.parents)
            those = found.setdefault(part or next(within, "train"), Pictures((file,), [], []))
            those.rows.append((str(picture), its))
            those.lines.append(line)
    return found


def _naming(file: Path, top: Path, *, quiet: bool) -> tuple[Table, int, dict[str, Path]] | None:
    """A table that names pictures, the column of their names, and what they are called; None if it names none, or if
    it cannot be read and need not be."""
    try:
        table = own.read_table(file)
        names = own.named_pictures(table, top)
    except DataError:
        if not quiet:
            raise
        return None
    return (table, *names) if names else None


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
        for file in filter(own.is_table, sorted(folder.iterdir())):
            if _naming(file, folder, quiet=True):
                raise DataError(
                    f"{file} names pictures and is not read there: if it says their classes, move it to {path};"
                    " otherwise delete it"
                )
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
