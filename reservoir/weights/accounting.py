"""Bytes of a translator on disk, in memory, and read for each token that it writes, by how its weights are kept.

One way is rounding to fewer bits, to the nearest level with one scale per row: a simple baseline.

Everything is counted from the model's modules, whose memory is not looked at: the meta device will do. What is counted:

- *on disk*: the numbers that a file must hold, its header aside;
- *in memory*: the numbers that are there while it runs, states and caches aside;
- *read per token*: the numbers that come from memory when a decoder writes one token of one sentence: all of its
  matrices but those that read the encoder's output, which are used once a sentence; the whole output table; and one row
  of the target's. A layer that is applied L times is read L times.
"""

from __future__ import annotations

import copy
from typing import NamedTuple, TypeVar

import pandas as pd
import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.layers.arguments import check_number
from reservoir.weights.naming import owned
from reservoir.weights.supermask import Supermask

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def round_rows(matrix: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """Write each row as `scale · step` with one scale per row and integer steps from -levels to levels.

    Args:
        matrix: (rows, columns).
        levels: on either side of zero; the largest entry of a row is at ±levels.

    Returns:
        the scales, (rows,), and the steps, (rows, columns), integers in the matrix's dtype.
    """
    scale = matrix.abs().amax(1) / levels
    return scale, (matrix / scale.clamp(min=1e-30)[:, None]).round()


def rounded_bytes(rows: int, columns: int, bits: int) -> int:
    """Count the bytes of a matrix with `bits` bits per entry and a 32-bit scale per row."""
    return -(-rows * columns * bits // 8) + 4 * rows


@torch.no_grad()
def rounded(model: AnyModule, bits: int) -> AnyModule:
    """Return a copy of `model` with matrices rounded to nearest, row by row; masks and vectors, such as biases, stay.

    Nothing is trained or calibrated afterwards, so better quantisation methods lose less.

    Args:
        model: any module.
        bits: per entry, at least 2: 2^(bits - 1) - 1 levels on either side of zero.
    """
    check_number("bits", bits, least=2, whole=True)
    result = copy.deepcopy(model)
    for item in owned(result):
        parameter = item.parameter
        if parameter.ndim == 2 and not isinstance(item.module, Supermask):
            scale, step = round_rows(parameter, 2 ** (bits - 1) - 1)
            parameter.copy_(step * scale[:, None])
    return result


class Matrix(NamedTuple):
    """A matrix as one place of a model uses it.

    Args:
        stream: of the place.
        owner: the stream of the place that keeps it, which another depth or a tied output shares.
        rows, columns: its shape.
        table: whether it is a table of embeddings.
        read: how many of its rows are read for a token.
    """

    stream: str
    owner: str
    rows: int
    columns: int
    table: bool
    read: int

    @property
    def n(self) -> int:
        """How many weights."""
        return self.rows * self.columns


def matrices(model: nn.Module) -> list[Matrix]:
    """All matrices of a translator, one for each place that uses one; a tied output is a place of its own.

    Args:
        model: of `reservoir.layers`, with the stream names of `reservoir.models.EncoderDecoder`.
    """
    modules = [module for module in model.modules() if isinstance(module, Linear | Embedding)]
    owners: dict[int, Linear | Embedding] = {}
    for module in sorted(modules, key=lambda module: not isinstance(module, Embedding)):
        owners.setdefault(id(module.weight), module)
    return [
        Matrix(
            module.stream,
            owners[id(module.weight)].stream,
            module.weight.shape[0],
            module.weight.shape[1],
            isinstance(owners[id(module.weight)], Embedding),
            _read(module),
        )
        for module in modules
    ]


def _read(module: Linear | Embedding) -> int:
    """Rows that are read for a token, by what the place is called."""
    if isinstance(module, Embedding):
        return int(not module.stream.startswith("encoder."))
    written = module.stream.startswith("decoder.") and not module.stream.endswith(".cross.kv")
    return module.weight.shape[0] if written or module.stream == "output" else 0


TRAINED = {"32 bits": 32, "16 bits": 16, "8 bits": 8, "4 bits": 4}
EMBEDDINGS = {"random": 0, "pretrained, 32 bits": 32, "pretrained, 16 bits": 16, "pretrained, 8 bits": 8}


def account(model: nn.Module) -> pd.DataFrame:
    """Bytes of a translator of the same sizes as `model`, for each way to keep its weights.

    Trained in 32 or 16 bits is every number in as many. Trained in 8 or 4 bits rounds the matrices to nearest, with a
    32-bit scale a row, and leaves norms and biases at 32. In a supermask model the norms and biases are constants, and
    each place has a mask of its own, a bit a weight; a tied output shares that of its table. Its weights are either
    drawn once and kept in 32 bits next to masks of a byte an entry, since PyTorch has no smaller one, or made while
    they are used, from bits. Pretrained embeddings are not masked.

    Returns:
        one row a way, with the columns "on disk", "in memory" and "read per token", in bytes.
    """
    places = matrices(model)
    vectors = sum(item.parameter.numel() for item in owned(model) if item.parameter.ndim == 1)
    once = list({place.owner: place for place in places}.values())
    masks = list({place.owner if place.table else place.stream: place for place in places}.values())
    rows: dict[str, tuple[int, int, int]] = {}

    def kept(place: Matrix, bits: int, *, read: bool = False) -> int:
        r = place.read if read else place.rows
        return r * place.columns * bits // 8 if bits > 8 else rounded_bytes(r, place.columns, bits)

    for name, bits in TRAINED.items():
        rest = vectors * (bits if bits > 8 else 32) // 8
        size = sum(kept(place, bits) for place in once) + rest
        read = sum(kept(place, bits, read=True) for place in places if place.read)
        rows[f"trained, {name}"] = (size, size, read)
    for name, bits in EMBEDDINGS.items():
        chosen = [place for place in masks if not (bits and place.table)]
        tables = [place for place in once if bits and place.table]
        stored = sum(-(-place.n // 8) for place in chosen) + sum(kept(place, bits) for place in tables)
        whole = 4 * sum(place.n for place in once) + sum(place.n for place in chosen) + 4 * vectors
        used = [place for place in places if place.read]
        plain = sum(
            place.read * place.columns * (4 if bits and place.table else 5) for place in used
        )  # a weight in 32 bits, and an entry of the mask
        tiled = sum(
            kept(place, bits, read=True) if bits and place.table else -(-place.read * place.columns // 8)
            for place in used
        )
        rows[f"supermask, embeddings {name}; drawn once"] = (stored, whole, plain)
        rows[f"supermask, embeddings {name}; made while used"] = (stored, stored + 4 * vectors, tiled)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["on disk", "in memory", "read per token"])
