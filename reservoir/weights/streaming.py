"""Weights generated during the forward pass, so that a layer's float weights are never in memory as a whole.

Each element of a seeded weight is a function of the seed and, if the weight is masked, of one bit. A matrix product
therefore needs only a few rows at a time: draw a tile, apply the mask, multiply, discard. Memory holds one bit per
masked weight.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.weights.draws import Stream
from reservoir.weights.masks import FixedMask
from reservoir.weights.naming import Owned, owned
from reservoir.weights.origins import Seeded, recorded_origin

TILE = 2**16  # elements per tile: 256 kB, which fits a core's cache


def pack(mask: Tensor) -> Tensor:
    """Pack a mask's bits, eight per byte.

    Returns:
        uint8, (⌈n / 8⌉,): element i, in row-major order, is bit i % 8 of byte i // 8, counted from the lowest.
    """
    return torch.from_numpy(np.packbits(mask.detach().cpu().numpy(), bitorder="little"))


def unpack(bits: Tensor, start: int, stop: int) -> Tensor:
    """Return elements start..stop of a packed mask: bool, (stop - start,)."""
    first = start // 8
    octets = bits[first : -(-stop // 8)]
    if octets.is_cpu:  # where numpy is fifteen times as fast
        each = torch.from_numpy(np.unpackbits(octets.numpy(), bitorder="little"))
    else:
        each = ((octets[:, None] >> torch.arange(8, dtype=torch.uint8, device=bits.device)) & 1).view(-1)
    return each[start - 8 * first : stop - 8 * first].view(torch.bool)


class TiledWeight(nn.Module):
    """A matrix stored as its origin and, if it is masked, its mask bits.

    Args:
        origin: what it is drawn from; the initialisation must draw element by element.
        shape: (rows, columns).
        bits: the mask, packed by `pack`, or None.

    Raises:
        ValueError: the initialisation draws whole matrices only, or the shape is none of a matrix.
    """

    def __init__(self, origin: Seeded, shape: torch.Size, *, bits: Tensor | None = None):
        super().__init__()
        self.origin, self.shape = origin, torch.Size(shape)
        self.stream = Stream(origin.seed, origin.stream)
        drawn = origin.initialisation.elementwise(self.shape, blocks=origin.blocks)
        if drawn is None or len(self.shape) != 2:
            raise ValueError(f"{origin.stream}, {origin.initialisation}, of {shape} is only drawn whole")
        self.drawn = drawn
        self.bits: Tensor | None
        self.register_buffer("bits", bits)
        # Holds nothing, and moves with the model: a weight without bits would not know its device.
        self.place: Tensor
        self.register_buffer("place", torch.empty(0), persistent=False)

    def rows(self, low: int, high: int) -> Tensor:
        """Return rows low..high, masked, fp32, (high - low, columns), with the bits of the whole matrix."""
        cols = self.shape[1]
        start, stop = low * cols, high * cols
        part = self.drawn(self.stream, (high - low, cols), start=start, device=self.place.device)
        zero = self.origin.zero_row
        if zero is not None and low <= zero < high:
            part[zero - low] = 0.0
        if self.bits is not None:
            part *= unpack(self.bits, start, stop).view_as(part)
        return part

    def tiles(self, *, tile: int = 0) -> Iterator[Tensor]:
        """Yield all rows, about `tile` elements at a time; by default as many as suit the device."""
        step = max(1, (tile or (2**22 if self.place.is_cuda else TILE)) // self.shape[1])
        for low in range(0, self.shape[0], step):
            yield self.rows(low, min(low + step, self.shape[0]))

    def whole(self) -> Tensor:
        """Return all rows, masked, fp32, (rows, columns)."""
        return torch.cat(list(self.tiles()))

    def look_up(self, ids: Tensor) -> Tensor:
        """Look up the rows `ids`: (...) -> (..., columns), fp32.

        Raises:
            IndexError: there is no such row.
        """
        if ids.is_cuda:  # where it takes as long to draw a row as to draw thousands
            return self.whole()[ids]
        named, place = ids.unique(return_inverse=True)
        if len(named) and not 0 <= named[0] <= named[-1] < self.shape[0]:
            raise IndexError(f"ids must be from 0 to {self.shape[0] - 1}, got {named[0]} to {named[-1]}")
        drawn = [self.rows(row, row + 1) for row in named.tolist()]
        none = torch.empty(0, self.shape[1], device=ids.device)
        return torch.cat([none, *drawn])[place]

    def product(self, x: Tensor) -> Tensor:
        """`x Wᵀ`, (..., columns) -> (..., rows)."""
        return torch.cat([F.linear(x, part) for part in self.tiles()], -1)


class StreamedLinear(nn.Module):
    """`x Wᵀ + b` with a matrix that is drawn in tiles during the product.

    Args:
        weight: the matrix.
        bias: (rows,), or None.
        stream: as in `reservoir.layers.Linear`.
    """

    def __init__(self, weight: TiledWeight, bias: nn.Parameter | None, *, stream: str):
        super().__init__()
        self.tiled, self.stream, self.blocks = weight, stream, weight.origin.blocks
        self.out_features, self.in_features = weight.shape
        self.bias = bias

    def effective_weight(self) -> Tensor:  # (d_out, d_in)
        """Return the whole matrix, masked, which maps over tokens and sums over a vocabulary read at once."""
        return self.tiled.whole()

    def forward(self, x: Tensor) -> Tensor:  # (..., d_in) -> (..., d_out)
        y = self.tiled.product(x)
        return y if self.bias is None else y + self.bias


class StreamedEmbedding(nn.Module):
    """An embedding table of which only the rows that are looked up are drawn.

    Args:
        weight: the table.
        stream: as in `reservoir.layers.Embedding`.
    """

    def __init__(self, weight: TiledWeight, *, stream: str):
        super().__init__()
        self.tiled, self.stream, self.blocks = weight, stream, 1
        self.num_embeddings, self.embedding_dim = weight.shape

    def effective_weight(self) -> Tensor:  # (n, d_model)
        """Return the whole table, which learned positions read at once."""
        return self.tiled.whole()

    def forward(self, ids: Tensor) -> Tensor:  # (...) -> (..., d_model)
        return self.tiled.look_up(ids)


def streamable(item: Owned) -> bool:
    """Whether a parameter is a frozen, seeded weight of a Linear or Embedding that can be drawn element by element.

    A map with an update added to it (`low_rank`) is kept whole, since what takes its place would leave that out.
    """
    origin = recorded_origin(item)
    return (
        isinstance(item.module, Linear | Embedding)
        and not hasattr(item.module, "update")
        and item.attribute == "weight"
        and not item.parameter.requires_grad
        and item.parameter.dtype == torch.float32  # as which tiles are drawn
        and isinstance(origin, Seeded)
        and origin.initialisation.elementwise(item.parameter.shape, blocks=origin.blocks) is not None
    )


def draw_lazily(model: nn.Module) -> nn.Module:
    """Replace the seeded layers of `model`, in place, by layers that draw their weights during use, and return it.

    Trained weights stay, and so do weights that can only be drawn whole. Masks must be final: a model in training has
    scores, which are weights of their own.

    Args:
        model: made of `reservoir.layers`, with masks of type `FixedMask`.

    Raises:
        ValueError: a mask still has scores.
    """
    origins = {
        id(item.parameter): origin
        for item in owned(model)
        if streamable(item) and isinstance(origin := recorded_origin(item), Seeded)
    }
    made: dict[int, nn.Module] = {}
    packed: dict[int, Tensor] = {}
    for parent in list(model.modules()):
        for name, module in list(parent._modules.items()):  # a tied table appears under two names
            if not isinstance(module, Linear | Embedding) or id(module.weight) not in origins:
                continue
            if module.mask is not None and not isinstance(module.mask, FixedMask):
                raise ValueError(
                    f"the mask of {module.stream} still has scores: store the model and load it again"
                )
            if id(module) not in made:
                bits = None
                if module.mask is not None:
                    bits = packed.setdefault(id(module.mask), pack(module.mask.mask))
                origin = origins[id(module.weight)]
                tiled = TiledWeight(origin, module.weight.shape, bits=bits).to(module.weight.device)
                made[id(module)] = (
                    StreamedEmbedding(tiled, stream=module.stream)
                    if isinstance(module, Embedding)
                    else StreamedLinear(tiled, module.bias, stream=module.stream)
                )
            setattr(parent, name, made[id(module)])
    return model


def held_bytes(model: nn.Module) -> int:
    """Count the bytes of a model's parameters and buffers in memory; shared storage counts once."""
    stored = [tensor.untyped_storage() for tensor in (*model.parameters(), *model.buffers())]
    found = {storage.data_ptr(): storage.nbytes() for storage in stored}
    return sum(found.values())
