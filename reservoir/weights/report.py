"""What a model is made of: for every tensor its origin, its shape, whether it moves, and what must be stored."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal

import pandas as pd
from torch import nn

from reservoir.weights.origins import NAMES, OriginName, Seeded, origin_of, owned
from reservoir.weights.supermask import FixedMask, Supermask


@dataclass(frozen=True)
class Row:
    """One tensor.

    Args:
        stream: its name.
        shape: its shape.
        origin: "seed", "trained", "pretrained", or "mask" for the scores that choose among the weights of another.
        moves: whether training changes it.
        parameters: how many numbers it has.
        stored_bytes: what a checkpoint has to keep of it: nothing when the seed gives it back, one bit a score; of a
            pruned tensor that moves what is left of it, and of its mask `mask_bytes`.
    """

    stream: str
    shape: tuple[int, ...]
    origin: OriginName | Literal["mask"]
    moves: bool
    parameters: int
    stored_bytes: int


@dataclass(frozen=True)
class Report:
    """All tensors of a model, each once, and their sums."""

    rows: tuple[Row, ...]

    @property
    def total(self) -> int:
        """Parameters in all, scores aside: they choose among parameters, and are gone when the choice is made."""
        return sum(row.parameters for row in self.rows if row.origin != "mask")

    @property
    def trainable(self) -> int:
        """Numbers that move, scores included."""
        return sum(row.parameters for row in self.rows if row.moves)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the tensors that a seed cannot give back."""
        return sum(row.stored_bytes for row in self.rows)

    def frame(self) -> pd.DataFrame:
        """One line a tensor, as a DataFrame."""
        return pd.DataFrame(asdict(row) for row in self.rows)

    def summary(self) -> str:
        """The sums in one line."""
        scores = sum(row.parameters for row in self.rows if row.origin == "mask")
        moving = self.trainable - sum(
            row.parameters for row in self.rows if row.origin == "mask" and row.moves
        )
        share = moving / self.total if self.total else 0.0
        chosen = f", and {scores:,} scores choose among them" if scores else ""
        return (
            f"{self.total:,} parameters, {moving:,} of them move ({share:.1%}){chosen};"
            f" {self.stored_bytes:,} bytes to store"
        )

    def __str__(self) -> str:
        return f"{self.frame().to_string(index=False)}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return f"{self.frame().to_html(index=False)}<p>{self.summary()}</p>"


def report(model: nn.Module) -> Report:
    """What `model` is made of. A tensor that moves counts as trained, since it must be stored."""
    rows = []
    for item in owned(model):
        origin, moves = origin_of(item), item.parameter.requires_grad
        name = "trained" if moves or origin is None else NAMES[type(origin)]
        kept = (
            0
            if not moves and isinstance(origin, Seeded)
            else item.parameter.numel() * item.parameter.element_size()
        )
        if name == "pretrained":  # a reference to the checkpoint is enough
            kept = 0
        if isinstance(item.module, Supermask):
            name, kept = "mask", -(-item.parameter.numel() // 8)
        if moves and item.attribute == "weight" and isinstance(getattr(item.module, "mask", None), FixedMask):
            kept = item.module.mask.kept * item.parameter.element_size()  # the pruned ones are nought
        rows.append(Row(item.stream, tuple(item.parameter.shape), name, moves, item.parameter.numel(), kept))
    for mask in (module for module in model.modules() if isinstance(module, FixedMask)):
        shape, n = tuple(mask.mask.shape), mask.mask.numel()
        rows.append(Row(f"{mask.stream}.mask", shape, "mask", False, n, mask_bytes(n, mask.kept)))
    return Report(tuple(rows))


def mask_bytes(n: int, k: int) -> int:
    """Bytes that say which k of n weights a mask keeps: a bit for each of the n, or the k places if that is less."""
    places = k * max(1, math.ceil(math.log2(n))) if n > 1 else 1
    return -(-min(n, places) // 8)
