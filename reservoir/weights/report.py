"""What a model is made of: for every tensor its origin, its shape, whether it moves, and what must be stored.

One definition each of the counts that the book prints:

- *weights*: numbers in weight tensors, a shared or tied tensor once: what papers call parameters;
- *scores*: numbers that a mask is chosen by;
- *total*: both;
- *trainable*: numbers that an optimiser can change. Rows of a table that never get a gradient are not among them: the
  row of padding in a table that is only looked up, and positions beyond the longest sequence that training feeds;
- *trainable_all_rows*: the same with those rows, as most papers count;
- *stored_bytes*: what a checkpoint must keep.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Literal, cast

import pandas as pd
from torch import nn

from reservoir.layers import DFT, Fourier
from reservoir.weights.files import WeightsError
from reservoir.weights.naming import Owned, bare, owned
from reservoir.weights.origins import (
    Fixed,
    Masked,
    Origin,
    OriginName,
    Pretrained,
    Seeded,
    Trained,
    moves,
    origin_of,
)
from reservoir.weights.storage import model_bytes
from reservoir.weights.supermask import FixedMask, Supermask, places, unmasked

COUNTS = ("weights", "scores", "total", "trainable", "trainable_all_rows", "stored_bytes")
COUNTED = 2**26
"""How many numbers a model may have whose file is made to see how large it is."""
UNINITIALISED: Literal["not initialised"] = "not initialised"


@dataclass(frozen=True)
class Row:
    """One tensor, or one fixed transform.

    Args:
        stream: its name; of a transform, its place in the model.
        shape: its shape; empty for a transform, which has no tensor.
        origin: where it comes from; "masked" also for what a mask itself holds.
        moves: whether training changes it.
        parameters: how many numbers it has.
        trainable: how many of them an optimiser can change.
        stored_bytes: what a checkpoint has to keep of it: nothing where the seed gives it back, one bit a score; of a
            pruned tensor the weights that are left, and of its mask `mask_bytes`.
        holds: "weights", "scores" of a mask that is being learned, or the "bits" of one that was chosen.
    """

    stream: str
    shape: tuple[int, ...]
    origin: OriginName | Literal["not initialised"]
    moves: bool
    parameters: int
    trainable: int
    stored_bytes: int
    holds: Literal["weights", "scores", "bits"] = "weights"


@dataclass(frozen=True)
class Report:
    """All tensors of a model, each once, and their sums; the module's text defines each sum.

    Args:
        unmasked: matrices of a masked model that no mask can reach, such as those of a recurrent layer.
        file: the size of what `save` would write, counted when it is asked for.
    """

    rows: tuple[Row, ...]
    unmasked: tuple[str, ...] = ()
    file: Callable[[], int | None] = field(default=lambda: None, compare=False, repr=False)

    @property
    def weights(self) -> int:
        """Numbers in weight tensors."""
        return sum(row.parameters for row in self.rows if row.holds == "weights")

    @property
    def scores(self) -> int:
        """Numbers that masks are chosen by."""
        return sum(row.parameters for row in self.rows if row.holds == "scores")

    @property
    def total(self) -> int:
        """Weights and scores."""
        return self.weights + self.scores

    @property
    def trainable(self) -> int:
        """Numbers that an optimiser can change."""
        return sum(row.trainable for row in self.rows)

    @property
    def trainable_all_rows(self) -> int:
        """The same with rows of tables that never get a gradient, as most papers count."""
        return sum(row.parameters for row in self.rows if row.moves)

    @property
    def stored_bytes(self) -> int:
        """Bytes that a checkpoint must keep."""
        return sum(row.stored_bytes for row in self.rows)

    def counts(self) -> dict[str, int]:
        """All of these by name, as a record keeps them."""
        return {name: getattr(self, name) for name in COUNTS}

    def origins(self) -> dict[str, dict[str, int]]:
        """Weights and stored bytes by origin; the bytes of masks stand with the weights that they choose among."""
        found: dict[str, dict[str, int]] = {}
        for row in self.rows:
            sums = found.setdefault(row.origin, {"weights": 0, "stored_bytes": 0})
            sums["weights"] += row.parameters if row.holds == "weights" else 0
            sums["stored_bytes"] += row.stored_bytes
        return found

    def frame(self) -> pd.DataFrame:
        """One line for each row, as a DataFrame."""
        return pd.DataFrame(asdict(row) for row in self.rows)

    def summary(self) -> str:
        """The sums in one line."""
        share = self.trainable / self.total if self.total else 0.0
        parts = f" ({self.weights:,} weights and {self.scores:,} scores)" if self.scores else ""
        idle = self.trainable_all_rows - self.trainable
        unused = f"; {idle:,} more in rows that get no gradient" if idle else ""
        missing = any(row.origin == UNINITIALISED for row in self.rows)
        return (
            f"{self.total:,} parameters{parts}, {self.trainable:,} of them move ({share:.1%}){unused};"
            f" {self.stored_bytes:,} bytes to store{self._in_a_file()}"
            + (f"; no mask can reach {', '.join(self.unmasked)}" if self.unmasked else "")
            + ("; not initialised yet: call initialise(model, seed=…)" if missing else "")
        )

    def _in_a_file(self) -> str:
        try:
            size = self.file()
        except WeightsError as error:
            return f", but they cannot be: {error}"
        return "" if size is None else f", {size:,} as a file with buffers and its list of contents"

    def __str__(self) -> str:
        return f"{self.frame().to_string(index=False)}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return f"{self.frame().to_html(index=False)}<p>{self.summary()}</p>"


def report(model: nn.Module) -> Report:
    """What any module is made of; the meta device will do.

    Raises:
        ValueError: two parameters have the same name.
    """
    uses = Counter(id(item.parameter) for item in owned(model, tied=True))
    rows = (*(_row(item, uses) for item in owned(model)), *_masks(model), *_transforms(bare(model)))
    left = tuple(f"{item.path} {tuple(item.parameter.shape)}" for item in unmasked(model))
    if sum(row.parameters for row in rows) > COUNTED or any(one.is_meta for one in model.parameters()):
        return Report(rows, left)
    return Report(rows, left, lambda: len(model_bytes(model)))


def kind_of(model: nn.Module) -> OriginName:
    """What is unusual about a model's matrices, the first of these that holds.

    A transform or an identity stands in for some ("fixed"); some come from a checkpoint and are frozen
    ("pretrained"); a mask chooses among some that do not move ("masked"); some are frozen as drawn ("seeded"); all of
    them are trained ("trained"), a pruned model's too. Norms and biases do not count.
    """
    found: set[OriginName] = {"fixed" for _ in _transforms(model)}
    for item in owned(model):
        if item.parameter.ndim < 2 or isinstance(item.module, Supermask):
            continue
        origin = origin_of(item)
        if isinstance(origin, Masked):
            found |= (
                {origin.under.name} if isinstance(origin.under, Trained) else {"masked", origin.under.name}
            )
        elif origin is not None:
            found.add(origin.name)
    order: tuple[OriginName, ...] = ("fixed", "pretrained", "masked", "seeded")
    return next((name for name in order if name in found), "trained")


def mask_bytes(n: int, k: int) -> int:
    """Bytes that say which k of n weights a mask keeps: a bit for each of the n, or the k places if that is less."""
    places = k * max(1, math.ceil(math.log2(n))) if n > 1 else 1
    return -(-min(n, places) // 8)


def _row(item: Owned, uses: Counter[int]) -> Row:
    shape, n, origin = tuple(item.parameter.shape), item.parameter.numel(), origin_of(item)
    if isinstance(item.module, Supermask):
        trainable = n if moves(item) else 0
        return Row(item.path, shape, Masked.name, moves(item), n, trainable, -(-n // 8), "scores")
    name: OriginName | Literal["not initialised"] = UNINITIALISED if origin is None else origin.name
    trainable = (n - _idle_rows(item, uses) * math.prod(shape[1:])) if moves(item) else 0
    return Row(item.path, shape, name, moves(item), n, trainable, _stored(item, origin))


def _stored(item: Owned, origin: Origin | None) -> int:
    """Bytes that a checkpoint keeps of a weight tensor, its mask aside."""
    n, size = item.parameter.numel(), item.parameter.element_size()
    match origin:
        case Masked(Trained()) if isinstance(item.mask, FixedMask):
            return item.mask.kept * size  # what is pruned is zero
        case None | Trained() | Masked(Trained()):
            return n * size
        case Seeded() | Pretrained() | Fixed() | Masked():
            return 0


def _idle_rows(item: Owned, uses: Counter[int]) -> int:
    """Rows of a table that can never get a gradient; none where an output or another module multiplies with it."""
    table = item.module
    if not isinstance(table, nn.Embedding) or item.attribute != "weight" or uses[id(item.parameter)] > 1:
        return 0
    rows = table.num_embeddings
    reachable = min(rows, getattr(table, "reachable", None) or rows)
    return rows - reachable + (table.padding_idx is not None and table.padding_idx < reachable)


def _masks(model: nn.Module) -> Iterator[Row]:
    """A row for each mask that was chosen, which is no parameter."""
    masks = {id(item.mask): item for item in reversed(places(model)) if isinstance(item.mask, FixedMask)}
    for item in reversed(masks.values()):
        mask = cast(FixedMask, item.mask)
        n = mask.mask.numel()
        size = mask_bytes(n, mask.kept)
        yield Row(f"{item.path}.mask", tuple(mask.mask.shape), Masked.name, False, n, 0, size, "bits")


def _transforms(model: nn.Module) -> Iterator[Row]:
    """A row for each Fourier transform that stands where attention usually does."""
    for path, module in model.named_modules():
        if isinstance(module, Fourier | DFT):
            yield Row(path.removesuffix(".sublayer") or "fourier", (), Fixed.name, False, 0, 0, 0)
