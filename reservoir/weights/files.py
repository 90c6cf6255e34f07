"""Safetensors files: bytes that depend on their content alone, headers that are checked before anything is read."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from reservoir.files import read_bounded

T = TypeVar("T")
RESERVED = "__metadata__"
WORDS = 512
"""64-bit words of a row of `tensor_digest`: 4 kB."""
LARGEST = 2**24
"""Bytes of the largest configuration or tokenizer that is read."""
ROWS = 128
"""Rows that are added up at a time: half a megabyte, which stays in a core's cache for the second sum."""


class WeightsError(ValueError):
    """A file of weights cannot be used; the message says which, and why."""


class TensorInfo(NamedTuple):
    """What the header of a file says of a tensor: its type, such as "F32", and its shape."""

    dtype: str
    shape: tuple[int, ...]


def digest(pieces: bytes | Tensor | Iterable[bytes | Tensor]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of some bytes and tensors, one after the other.

    Args:
        pieces: of a tensor, its little-endian bytes in row-major order. A list is taken as if it were joined, so that
            a tensor can be given in stretches.
    """
    found = hashlib.sha256()
    for piece in [pieces] if isinstance(pieces, bytes | Tensor) else pieces:
        found.update(_bytes_of(piece).data if isinstance(piece, Tensor) else piece)
    return found.hexdigest()[:16]


def _bytes_of(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


def tensor_digest(tensor: Tensor) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a tensor's type and shape and of sums over its bytes.

    The little-endian bytes, in row-major order, are 64-bit words in rows of `WORDS`, the last row filled up with zeros.
    Hashed are the sums of the rows, one after the other, and then the sums of the columns, all modulo 2^64. So any word
    that is damaged is found, and any two that have changed places, at the speed of the memory: a hash of all bytes
    takes ten times as long. It does not withstand an attacker who wants two tensors to have one digest.
    """
    found = hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
    data, width = _bytes_of(tensor), 8 * WORDS
    full = len(data) - len(data) % width
    last = np.zeros(width if full < len(data) else 0, np.uint8)
    last[: len(data) - full] = data[full:]
    columns = np.zeros(WORDS, "<u8")
    for part in (data[:full], last):
        rows = part.view("<u8").reshape(-1, WORDS)
        for low in range(0, len(rows), ROWS):
            some = rows[low : low + ROWS]
            found.update(some.sum(1, dtype="<u8").tobytes())
            columns += some.sum(0, dtype="<u8")
    found.update(columns.tobytes())
    return found.hexdigest()[:16]


def shortened(value: object, length: int = 60) -> str:
    """Return the representation of a value, cut to `length` characters, for a message."""
    try:
        text = repr(value if not isinstance(value, str) else value[: length + 1])
    except (RecursionError, ValueError):  # deeply nested, or a number of more digits than Python prints
        text = type(value).__name__
    return text if len(text) <= length else f"{text[:length]}…"


def decode(data: bytes | str, kind: type[T], what: str) -> T:
    """Return what JSON says as a value of a type that msgspec knows.

    Args:
        what: names the data in the message of an error.

    Raises:
        WeightsError: it says no such value; the message has the place.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"{what} is damaged: {shortened(str(error), 200)}") from error


def read_small(path: Path) -> bytes:
    """Return what a file holds that is small compared with a model, such as a configuration.

    Raises:
        WeightsError: it is missing, cannot be read, or has more than `LARGEST` bytes.
    """
    if not path.is_file():
        raise WeightsError(f"there is no file {path}")
    try:
        return read_bounded(path, LARGEST)
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror or error}") from error


def canonical_json(value: object) -> str:
    """Return a value as JSON that is the same whenever the value is: keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def safetensors_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Return a safetensors file with these tensors and metadata: the same bytes whenever these are the same.

    The library's own order of the metadata differs from one process to the next, and it refuses tensors that share
    memory, such as a buffer of a module that is used twice: each is written under its own name here.
    """
    own: dict[str, Tensor] = {}
    places: set[int] = set()
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        own[name] = tensor.clone() if place in places else tensor
        places.add(place)
    data = save(own, dict(metadata))
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    header[RESERVED] = dict(sorted(metadata.items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(8, "little"), text, memoryview(data)[size:]))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file, opened by the safetensors library, which checks its header; every error names the file."""
    sys.audit("reservoir.read", str(path))  # safetensors opens files without Python's knowing
    if not path.is_file():
        raise WeightsError(f"{path} is a folder, not a file" if path.is_dir() else f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except Exception as error:  # a damaged header raises much more than the library's own SafetensorError
        raise WeightsError(f"{path} is damaged, or no safetensors file: {shortened(str(error))}") from error


def read_header(path: Path) -> tuple[dict[str, TensorInfo], dict[str, str]]:
    """Return what a file says of its tensors, by name, and its metadata, without reading a tensor.

    Raises:
        WeightsError: the file is missing, damaged, or ends within a tensor.
    """
    with _opened(path) as file:
        parts = {name: file.get_slice(name) for name in file.keys()}
        found = {name: TensorInfo(part.get_dtype(), tuple(part.get_shape())) for name, part in parts.items()}
        return found, file.metadata() or {}


def read_safetensors(
    path: Path, *, only: Container[str] | None = None
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors of a file by name, all of them or those that `only` names, and its metadata.

    Raises:
        WeightsError: the file is missing or damaged.
    """
    with _opened(path) as file:
        names = [name for name in file.keys() if only is None or name in only]
        return {name: file.get_tensor(name) for name in names}, file.metadata() or {}
