"""Files of weights: how they are read, and the one error of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

from safetensors import safe_open
from torch import Tensor


class WeightsError(ValueError):
    """A file of weights cannot be used; the message says which, and why."""


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """All tensors of a file by name, and its metadata.

    Raises:
        WeightsError: the file is missing or damaged.
    """
    if not path.is_file():
        raise WeightsError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}
    except Exception as error:  # a damaged header raises much more than the library's own SafetensorError
        raise WeightsError(f"{path} is damaged, or no safetensors file: {error}") from error
