"""What a file of weights says of itself: for each parameter its origin, and digests of all that a file has or gives.

| what                            | what the file keeps of it                                  |
|---------------------------------|------------------------------------------------------------|
| a tensor that its seed gives    | seed, stream, initialisation, and a digest to compare with |
| a frozen tensor of a base       | a reference to the base, and a digest                      |
| any other tensor, and buffers   | its numbers and their digest                               |
| a mask                          | one bit for each weight, and a digest                      |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reservoir.weights.files import (
    TensorInfo,
    WeightsError,
    digest,
    digest_of_sums,
    read_header,
    read_json,
    shortened,
)
from reservoir.weights.initialisation import Initialisation
from reservoir.weights.origins import Pretrained, Seeded, Trained

FORMAT = "reservoir-model-3"
BUFFER = "buffers/"
GENERATOR = "philox4x32-10, names by FNV-1a, version 1"


@dataclass(frozen=True)
class StoredTensor:
    """What a file says of a parameter.

    Args:
        origin: how to get it: by drawing it, from the file, or from a base.
        moves: whether training changes it.
        digest: of its numbers, type and shape (`tensor_digest`).
        dtype: the type of one that is drawn or of a base, if it is not float32; such as "torch.bfloat16".
    """

    origin: Trained | Seeded | Pretrained
    moves: bool
    digest: str
    shape: tuple[int, ...]
    dtype: str | None = None

    @property
    def base(self) -> str:
        """The base that holds its numbers, or nothing."""
        return self.origin.checkpoint if isinstance(self.origin, Pretrained) and self.origin.key else ""

    @property
    def inside(self) -> bool:
        """Whether the file holds its numbers."""
        return not isinstance(self.origin, Seeded) and not self.base


@dataclass(frozen=True)
class StoredMask:
    """What a file says of a mask: its shape, the digest of its packed bits, and the names of the weights under it."""

    shape: tuple[int, ...]
    digest: str
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """The list of contents of a file: parameters and masks by name, digests of buffers by their path in the module.

    Args:
        file: what the header says of the tensors in the file.
        metadata: texts next to them.
    """

    path: Path
    parameters: dict[str, StoredTensor]
    masks: dict[str, StoredMask]
    buffers: dict[str, str]
    file: dict[str, TensorInfo]
    metadata: dict[str, str]

    @property
    def digest(self) -> str:
        """The digest of all that the file has or gives, by which it can be referred to."""
        return digest(self.metadata["contents"].encode())

    @property
    def drawn(self) -> dict[str, Seeded]:
        """The parameters that are drawn again instead of read."""
        return {name: t.origin for name, t in self.parameters.items() if isinstance(t.origin, Seeded)}


def tensor_digest(tensor: Tensor | Iterable[Tensor], shape: torch.Size | None = None) -> str:
    """The digest of a tensor: of its type, its shape and sums over its bytes.

    Args:
        tensor: it, or its stretches, which are float32 of the given shape together.
        shape: of the whole; a tensor has its own.
    """
    dtype = tensor.dtype if isinstance(tensor, Tensor) else torch.float32
    whole = tensor.shape if isinstance(tensor, Tensor) else shape
    return digest_of_sums(tensor, f"{dtype} {tuple(whole or ())}")


def read_contents(path: Path) -> Contents:
    """Return the list of contents of a file, without reading a tensor.

    Raises:
        WeightsError: the file is missing, damaged or of another version.
    """
    file, metadata = read_header(path)
    said = metadata.get("format")
    if said != FORMAT:
        raise WeightsError(f"{path} must have the format {FORMAT}, got {shortened(said)}")
    what = f"{path}: its list of contents"
    listed = read_json(metadata.get("contents", ""), what)
    try:
        parameters = {name: _parameter(name, said) for name, said in listed["parameters"].items()}
        masks = {name: _mask(name, said) for name, said in listed["masks"].items()}
        found = Contents(path, parameters, masks, dict(listed["buffers"]), file, metadata)
    except Exception as error:
        raise WeightsError(f"{what} is damaged: {type(error).__name__}, {shortened(str(error))}") from error
    if found.drawn and metadata.get("generator") != GENERATOR:
        first, *others = sorted(found.drawn)
        more = f" and {len(others)} more tensors" if others else ""
        raise WeightsError(
            f"{path}: {first}{more} were drawn by {shortened(metadata.get('generator'))},"
            f" and this library draws by {GENERATOR!r}"
        )
    return found


def _parameter(name: str, said: Any) -> StoredTensor:
    match said:
        case {"digest": str(known), "moves": bool(moves)} if isinstance(said.get("dtype", ""), str):
            return StoredTensor(_origin(name, said), moves, known, _shape(said["shape"]), said.get("dtype"))
    raise _impossible(name, said)


def _origin(name: str, said: Mapping[str, Any]) -> Trained | Seeded | Pretrained:
    match said:
        case {"origin": "trained"}:
            return Trained()
        case {"origin": "pretrained", "checkpoint": str(checkpoint), "key": str(key), "digest": known}:
            return Pretrained(checkpoint, key, known)
        case {"origin": "pretrained", "checkpoint": str(checkpoint)}:
            return Pretrained(checkpoint)
        case {
            "origin": "seeded",
            "seed": int(seed),
            "stream": str(stream),
            "initialisation": dict(kind),
            "blocks": int(blocks),
            "zero_row": int() | None as zero_row,
        }:
            transposed = said.get("transposed", False) is True
            return Seeded(seed, stream, Initialisation.from_json(kind), blocks, zero_row, transposed)
    raise _impossible(name, said)


def _mask(name: str, said: Any) -> StoredMask:
    match said:
        case {"shape": [*shape], "digest": str(known), "modules": [*modules]}:
            return StoredMask(_shape(shape), known, tuple(map(str, modules)))
    raise _impossible(name, said)


def _shape(sizes: list[Any]) -> tuple[int, ...]:
    if any(type(n) is not int or not 0 <= n < 2**48 for n in sizes):
        raise ValueError(f"a shape must have sizes from 0, got {shortened(sizes)}")
    return tuple(sizes)


def _impossible(name: str, said: object) -> ValueError:
    return ValueError(f"{name} cannot be {shortened(said)}")
