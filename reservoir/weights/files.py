"""Files of weights: how they are read, and the one error of those that cannot be used."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor


class WeightsError(ValueError):
    """A file of weights cannot be used; the message says which, and why."""


def safetensors_bytes(tensors: dict[str, Tensor], metadata: dict[str, str]) -> bytes:
    """Return a safetensors file with these tensors and metadata: the same bytes whenever these are the same.

    The library's own order of the metadata differs from one process to the next.
    """
    data = save(tensors, metadata)
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    header["__metadata__"] = dict(sorted(metadata.items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[size:]


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """All tensors of a file by name, and its metadata.

    Raises:
        WeightsError: the file is missing or damaged.
    """
    if not path.is_file():
        raise WeightsError(f"there is no file {path}")
    sys.audit("reservoir.read", str(path))  # safetensors opens files without Python's knowing
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}
    except Exception as error:  # a damaged header raises much more than the library's own SafetensorError
        cut = _cut_off(path)
        raise WeightsError(
            f"{path} is damaged, or no safetensors file: {error}{f'; it ends within {cut}' if cut else ''}"
        ) from error


def _cut_off(path: Path) -> str | None:
    """The first tensor that a truncated file has not to its end, or None if it is broken in another way."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + size])
        ends = {
            name: 8 + size + said["data_offsets"][1]
            for name, said in header.items()
            if name != "__metadata__"
        }
        return min(
            (name for name in ends if ends[name] > len(data)), key=lambda name: ends[name], default=None
        )
    except (ValueError, TypeError, KeyError):
        return None
