"""What a model learns from: sentence pairs, labelled texts, and sequences with labels, in parts and batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.batches import Lazy, Rows, raw_words
from reservoir.datasets.shipped import DataError


@dataclass(frozen=True)
class Pairs:
    """Sentences and their translations: `tgt[i]` translates `src[i]`."""

    src: list[str]
    tgt: list[str]

    def __post_init__(self) -> None:
        if len(self.src) != len(self.tgt):
            raise DataError(
                f"src has {len(self.src)} sentences but tgt has {len(self.tgt)}: give one for one"
            )

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, chosen: slice) -> Pairs:
        """A slice of the pairs: `pairs[:100]`."""
        return Pairs(self.src[chosen], self.tgt[chosen])


@dataclass(frozen=True)
class Labelled:
    """Texts, and the number of the class of each. A text is one sentence, or two that are judged together."""

    texts: list[tuple[str, ...]]
    labels: list[int]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Batch(Rows):
    """Some sequences.

    Args:
        x: (n, length, features) numbers, or (n, length) ids.
        y: (n,) classes; or (n, places, bits) of 0 and 1, to be predicted at the last `places` positions.
        last: (n,) index of the last position of each, where sequences of several lengths are padded at the end.
    """

    x: Tensor
    y: Tensor
    last: Tensor | None = None

    def __len__(self) -> int:
        return len(self.y)


class Stored:
    """Sequences that are kept, in batches whose order is shuffled anew in each epoch.

    Args:
        x: what `prepare` makes sequences of; (n, …).
        y: as in `Batch`.
        last: as in `Batch`.
        prepare: from some rows of `x` to sequences, when a batch is asked for; none if they are sequences already.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        last: Tensor | None = None,
        prepare: Callable[[Tensor], Tensor] = lambda x: x,
    ):
        self.x, self.y, self.last, self.prepare = x, y, last, prepare

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Tensor) -> Batch:
        """The sequences of some rows, cut to the longest of them."""
        x, last = self.prepare(self.x[rows]), None
        if self.last is not None:
            last = self.last[rows]
            x = x[:, : int(last.max()) + 1]
        return Batch(x, self.y[rows], last)

    def part(self, rows: slice) -> Stored:
        """The sequences of some rows alone."""
        last = None if self.last is None else self.last[rows]
        return Stored(self.x[rows], self.y[rows], last=last, prepare=self.prepare)

    def epoch(self, number: int, *, batch: int, seed: int) -> Sequence[Batch]:
        """Epoch `number` (from 0): every sequence once, in an order that the seed and the number fix."""
        words = raw_words(seed, number)
        order = torch.from_numpy(np.argsort(words(len(self)), kind="stable"))
        return self._batches(order, batch)

    def in_order(self, *, batch: int) -> Sequence[Batch]:
        """Every sequence once, as they are kept."""
        return self._batches(torch.arange(len(self)), batch)

    def _batches(self, order: Tensor, size: int) -> Sequence[Batch]:
        parts = order.split(size)
        return Lazy(len(parts) if len(self) else 0, lambda index: self.take(parts[index]))


class Generated:
    """An endless supply of sequences: each batch is drawn when it is asked for, and none is seen twice.

    Args:
        draw: `draw(n, seed=…, number=…)` gives x and y of batch `number` of the stream that the seed determines.
    """

    EPOCH = 1000  # batches; any number would do

    def __init__(self, draw: Callable[..., tuple[Tensor, Tensor]]):
        self.draw = draw

    def epoch(self, number: int, *, batch: int, seed: int) -> Sequence[Batch]:
        """The batches of epoch `number`."""
        first = number * self.EPOCH
        return Lazy(self.EPOCH, lambda index: Batch(*self.draw(batch, seed=seed, number=first + index)))

    def some(self, n: int, *, seed: int) -> Stored:
        """Sequences to keep, for validation or a test."""
        return Stored(*self.draw(n, seed=seed))


@dataclass(frozen=True)
class Examples:
    """Sequences to train on, to validate on, and to test on.

    Args:
        name: of the task.
        classes: names of the classes.
        train, valid, test: disjoint, or drawn from streams of their own.
        notes: what is to be said of how they were read.
        inputs: what one must know to read new sequences in the same way.
    """

    name: str
    classes: tuple[str, ...]
    train: Stored | Generated
    valid: Stored
    test: Stored
    _: KW_ONLY
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)


def padded_numbers(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Sequences of positions (length, …), padded at the end with zeros; and the last position of each."""
    last = torch.tensor([len(row) - 1 for row in rows])
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True), last


def padded(rows: Sequence[Sequence[int]], labels: Sequence[int]) -> Stored:
    """Rows of ids of several lengths, padded at the end with zeros, which a model that reads forwards never sees."""
    x, last = padded_numbers([torch.tensor(row, dtype=torch.int64) for row in rows])
    return Stored(x, torch.tensor(labels), last=last)
