"""What a model is made of, tensor by tensor, and what it takes: the counts that the book prints, and the bytes on
disk, in memory, and read for each token.

One definition each of the counts that the book prints:

- *weights*: numbers in weight tensors, a shared or tied tensor once: what papers call parameters;
- *scores*: numbers that a mask is chosen by;
- *total*: both;
- *trainable*: numbers that an optimiser can change. Rows of a table that never get a gradient are not among them: the
  row of padding in a table that is only looked up, and positions beyond the longest sequence that training feeds;
- *trainable_all_rows*: the same with those rows, as most papers count;
- *stored_bytes*: what a checkpoint must keep.

Rounding to fewer bits, to the nearest level with one scale per row, is a simple baseline.

Bytes are counted from the model's modules, whose memory is not looked at: the meta device will do. What is counted:

- *on disk*: the numbers that a file must hold, its header aside;
- *in memory*: the numbers that are there while it runs, states and caches aside;
- *read per token*: the numbers that come from memory when a decoder writes one token of one sentence: all of its
  matrices but those that read the encoder's output, which are used once a sentence; the whole output table; and one row
  of the target's. A layer that is applied L times is read L times.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Literal, NamedTuple, TypeVar, cast

import pandas as pd
import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, Fourier, Linear
from reservoir.layers.arguments import check_number
from reservoir.weights.files import WeightsError
from reservoir.weights.masks import FixedMask, Supermask, places, unmasked
from reservoir.weights.naming import Owned, bare, owned
from reservoir.weights.origins import Fixed, Masked, Origin, OriginName, Trained, origin_of
from reservoir.weights.storage import model_bytes

COUNTS = ("weights", "scores", "total", "trainable", "trainable_all_rows", "stored_bytes")
UNINITIALISED: Literal["not initialised"] = "not initialised"
UNKNOWN = "; of unknown origin: call initialise(model, seed=…), or mark_trained(model)"


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
        unmasked: matrices of a masked model that no mask can reach: positions and what only its owner's code drew.
        file: what the summary says of the file that `save` would write: its size, buffers and list of contents
            included, or why there would be none, as it was when the report was made.
    """

    rows: tuple[Row, ...]
    unmasked: tuple[str, ...] = ()
    file: str = field(default=", its list of contents and buffers aside", compare=False, repr=False)

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
            f" {self.stored_bytes:,} bytes to store{self.file}"
            + (f"; no mask can reach {', '.join(self.unmasked)}" if self.unmasked else "")
            + (UNKNOWN if missing else "")
        )

    def __str__(self) -> str:
        return f"{self.frame().to_string(index=False)}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return f"{self.frame().to_html(index=False)}<p>{self.summary()}</p>"


def report(model: nn.Module, *, file: bool = True) -> Report:
    """What any module is made of; the meta device will do.

    Args:
        file: whether to count what `save` would write, which draws all that a seed gives; not done on the meta device
            or beyond 2²⁶ numbers, which take seconds.

    Raises:
        ValueError: two parameters have the same name.
    """
    uses = Counter(id(item.parameter) for item in owned(model, tied=True))
    rows = (*(_row(item, uses) for item in owned(model)), *_masks(model), *_transforms(bare(model)))
    left = tuple(f"{item.path} {tuple(item.parameter.shape)}" for item in unmasked(model))
    if not file or sum(row.parameters for row in rows) > 2**26 or any(p.is_meta for p in model.parameters()):
        return Report(rows, left)
    try:
        return Report(rows, left, f", {len(model_bytes(model)):,} as a file")
    except (WeightsError, ValueError) as error:  # of a mask whose scores have diverged, for instance
        return Report(rows, left, f", but they cannot be: {error}")


def mask_bytes(n: int, k: int) -> int:
    """Bytes that say which k of n weights a mask keeps: a bit for each of the n, or the k places if that is less."""
    places = k * max(1, math.ceil(math.log2(n))) if n > 1 else 1
    return -(-min(n, places) // 8)


def _row(item: Owned, uses: Counter[int]) -> Row:
    shape, n, origin = tuple(item.parameter.shape), item.parameter.numel(), origin_of(item)
    if isinstance(item.module, Supermask):
        trainable = n if item.parameter.requires_grad else 0
        return Row(
            item.path, shape, Masked.name, item.parameter.requires_grad, n, trainable, -(-n // 8), "scores"
        )
    name: OriginName | Literal["not initialised"] = UNINITIALISED if origin is None else origin.name
    trainable = (n - _idle_rows(item, uses) * math.prod(shape[1:])) if item.parameter.requires_grad else 0
    return Row(item.path, shape, name, item.parameter.requires_grad, n, trainable, _stored(item, origin))


def _stored(item: Owned, origin: Origin | None) -> int:
    """Bytes that a checkpoint keeps of a weight tensor, its mask aside."""
    n, size = item.parameter.numel(), item.parameter.element_size()
    match origin:
        case Masked(Trained()) if isinstance(item.mask, FixedMask):
            return item.mask.kept * size  # what is pruned is zero
        case None | Trained() | Masked(Trained()):
            return n * size
        case _:  # what a seed or a reference gives back
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
        if isinstance(module, Fourier):
            yield Row(path.removesuffix(".sublayer") or "fourier", (), Fixed.name, False, 0, 0, 0)


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
    """Return a copy of `model` with matrices rounded to nearest, row by row.

    Masks and vectors, such as biases, stay, and so do matrices of complex or whole numbers.

    Nothing is trained or calibrated afterwards, so better quantisation methods lose less.

    Args:
        model: any module.
        bits: per entry, at least 2: 2^(bits - 1) - 1 levels on either side of zero.
    """
    check_number("bits", bits, least=2, whole=True)
    result = copy.deepcopy(model)
    for item in owned(result):
        p = item.parameter
        if p.ndim == 2 and p.numel() and p.is_floating_point() and not isinstance(item.module, Supermask):
            scale, step = round_rows(p, 2 ** (bits - 1) - 1)
            p.copy_(step * scale[:, None])
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


def matrices(model: nn.Module) -> list[Matrix]:
    """All matrices of a translator, one for each place that uses one; a tied output is a place of its own.

    Args:
        model: of `reservoir.layers`, with the stream names of `reservoir.models.EncoderDecoder`.
    """
    modules = [module for module in model.modules() if isinstance(module, Linear | Embedding)]
    owners: dict[int, Linear | Embedding] = {}
    for module in sorted(modules, key=lambda module: not isinstance(module, Embedding)):
        owners.setdefault(id(module.weight), module)
    found = []
    for module in modules:
        stream, owner, (rows, columns) = module.stream, owners[id(module.weight)], module.weight.shape
        if isinstance(module, Embedding):
            read = int(not stream.startswith("encoder."))
        else:
            written = stream.startswith("decoder.") and not stream.endswith(".cross.kv")
            read = rows if written or stream == "output" else 0
        found.append(Matrix(stream, owner.stream, rows, columns, isinstance(owner, Embedding), read))
    return found


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
    once = {place.owner: place for place in places}.values()
    masks = {place.owner if place.table else place.stream: place for place in places}.values()

    def size(some: Iterable[Matrix], bits: int, *, read: bool = False) -> int:
        shapes = [(one.read if read else one.rows, one.columns) for one in some]
        if bits in (4, 8):
            return sum(rounded_bytes(*shape, bits) for shape in shapes)
        return sum(-(-math.prod(shape) * bits // 8) for shape in shapes)

    def split(some: Iterable[Matrix], bits: int) -> tuple[list[Matrix], list[Matrix]]:
        """Pretrained tables, and what is masked."""
        return [one for one in some if one.table and bits], [one for one in some if not (one.table and bits)]

    rows: dict[str, tuple[int, int, int]] = {}
    for bits in (32, 16, 8, 4):
        stored = size(once, bits) + vectors * (bits if bits > 8 else 32) // 8
        rows[f"trained, {bits} bits"] = stored, stored, size(places, bits, read=True)
    for bits in (0, 32, 16, 8):  # 0: the embeddings are random and masked as well
        named = f"supermask, embeddings {f'pretrained, {bits} bits' if bits else 'random'}"
        tables, chosen = split(masks, bits)
        stored = size(tables, bits) + size(chosen, 1)
        whole = size(once, 32) + sum(one.rows * one.columns for one in chosen) + 4 * vectors
        tables, chosen = split(places, bits)
        # Next to a weight in 32 bits a byte of its mask is read.
        read = size(tables, 32, read=True) + size(chosen, 40, read=True)
        rows[f"{named}; drawn once"] = stored, whole, read
        read = size(tables, bits, read=True) + size(chosen, 1, read=True)
        rows[f"{named}; made while used"] = stored, stored + 4 * vectors, read
    return pd.DataFrame.from_dict(rows, orient="index", columns=["on disk", "in memory", "read per token"])
