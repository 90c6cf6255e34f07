"""What a model learns from, and batches of it, made when asked for, in an order that the seed fixes.

Sentence pairs are batched by number of tokens, with little padding; running text is cut into windows, for a language
model; sequences with labels are kept, or drawn without end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.shipped import DataError
from reservoir.datasets.vocabulary import Vocabulary
from reservoir.layers.arguments import check_number

T = TypeVar("T")


def raw_words(seed: int, number: int) -> Callable[..., Any]:
    """Raw 64-bit words of stream `number` of a seed, which NumPy keeps the same in every version, unlike its shuffles.

    `words()` is one of them, `words(n)` an array of the next n.
    """
    return np.random.PCG64(np.random.SeedSequence([seed, number])).random_raw


class Lazy(Sequence[T], Generic[T]):
    """A sequence of `length` items, of which `make(index)` makes one each time it is asked for."""

    def __init__(self, length: int, make: Callable[[int], T]):
        self._indices, self._make = range(length), make

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: int) -> T:  # type: ignore[override]  # no slices
        return self._make(self._indices[index])


PAD, BOS, EOS = Vocabulary.pad, Vocabulary.bos, Vocabulary.eos
POOL = 1 << 16
"""Pairs that are sorted together: enough for even lengths, few enough to mix a large corpus in each epoch."""


@dataclass(frozen=True)
class Pairs:
    """Sentences and their translations: `tgt[i]` translates `src[i]`."""

    src: list[str]
    tgt: list[str]

    def __post_init__(self) -> None:
        if len(self.src) != len(self.tgt):
            raise DataError(f"src has {len(self.src)} sentences but tgt has {len(self.tgt)}: pair them")

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
class Rows:
    """What all batches share: fields that are tensors, of which each has a row for each text."""

    def _tensors(self) -> dict[str, Tensor]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    @property
    def rows(self) -> int:
        """Number of texts."""
        return len(next(iter(self._tensors().values())))

    def part(self, index: int, of: int) -> Self:
        """Every `of`-th text from number `index` on, as long as they all are."""
        return replace(self, **{name: tensor[index::of] for name, tensor in self._tensors().items()})

    def to(self, device: torch.device | str) -> Self:
        """Return the same batch on `device`."""
        moved = {name: tensor.to(device, non_blocking=True) for name, tensor in self._tensors().items()}
        return replace(self, **moved)


@dataclass(frozen=True)
class Batch(Rows):
    """A padded batch of sentence pairs.

    Args:
        src: source ids and eos, (batch, src_len) int64.
        tgt_in: bos and target ids, what the decoder reads, (batch, tgt_len) int64.
        tgt_out: target ids and eos, what it should predict, (batch, tgt_len) int64.
        n_tokens: positions of `tgt_out` that are not padding.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    n_tokens: int

    def part(self, index: int, of: int) -> Self:
        """Every `of`-th pair from number `index` on, as long as they all are."""
        found = super().part(index, of)
        return replace(found, n_tokens=int((found.tgt_out != PAD).sum()))


def pad_sources(rows: Sequence[Sequence[int]]) -> Tensor:
    """Make one padded source batch of `rows`, eos appended to each: (batch, longest + 1) int64. For decoding."""
    length = 1 + max((len(row) for row in rows), default=0)
    padded = [[*row, EOS] + [PAD] * (length - 1 - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64).view(len(rows), length)


class TokenBatches:
    """Training batches of at most `max_tokens` tokens a side, padding included.

    Each epoch holds every pair once, in an order that depends on `seed` and the epoch's number alone: shuffled, sorted
    by length within large pools, cut, and the batches shuffled. So a run resumes at any (epoch, index).

    Args:
        src, tgt: ids of each sentence, without bos and eos.
        max_tokens: bound on batch × max(src_len, tgt_len).
        seed: not negative.
        max_length: pairs with more ids than this on either side are dropped and counted.

    Attributes:
        dropped: how many pairs were longer than `max_length`.

    Raises:
        ValueError: src and tgt differ in length, nothing is left, or a pair alone exceeds `max_tokens`.
    """

    def __init__(
        self,
        src: Sequence[Sequence[int]],
        tgt: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        seed: int,
        max_length: int,
    ):
        if len(src) != len(tgt):
            raise ValueError(f"src has {len(src)} sentences but tgt has {len(tgt)}: give one for one")
        check_number("seed", seed, least=0, whole=True)
        check_number("max_tokens", max_tokens, least=2, whole=True)
        check_number("max_length", max_length, least=1, whole=True)
        longest = np.array([max(len(s), len(t)) for s, t in zip(src, tgt, strict=True)], dtype=np.int64)
        fitting = np.flatnonzero(longest <= max_length)
        self.dropped = len(src) - len(fitting)
        if not len(fitting):
            raise ValueError(
                f"none of {len(src)} pairs has at most max_length={max_length} tokens: raise max_length"
            )
        worst = fitting[longest[fitting].argmax()]
        if longest[worst] + 1 > max_tokens:
            raise ValueError(
                f"max_tokens={max_tokens} cannot hold pair {worst}, {longest[worst]} tokens and eos: "
                f"raise max_tokens to {longest[worst] + 1} or lower max_length={max_length}"
            )
        self.max_tokens, self.seed = max_tokens, seed
        self.src, self.tgt = (_Ids([side[i] for i in fitting.tolist()]) for side in (src, tgt))

    def __len__(self) -> int:
        """Number of pairs in an epoch."""
        return len(self.src.lengths)

    def epoch(self, number: int) -> Sequence[Batch]:
        """Return epoch `number` (from 0): a sequence of batches, each made when it is asked for."""
        cuts = self.cuts(number)
        return Lazy(len(cuts), lambda index: self.batch(cuts[index]))

    def cuts(self, number: int) -> list[np.ndarray]:
        """The numbers of the pairs in each batch of an epoch, in its order."""
        words = raw_words(self.seed, number)
        shuffled = np.argsort(words(len(self)), kind="stable")
        cuts = [
            cut
            for start in range(0, len(self), POOL)
            for cut in self._cut(shuffled[start : start + POOL], words)
        ]
        return [cuts[at] for at in np.argsort(words(len(cuts)), kind="stable")]

    def batch(self, rows: np.ndarray) -> Batch:
        """The batch of the pairs with these numbers."""
        n_tokens = int(self.tgt.lengths[rows].sum()) + len(rows)
        tgt_in = self.tgt.padded(rows, shifted=True)
        return Batch(self.src.padded(rows), tgt_in, self.tgt.padded(rows), n_tokens)

    def _cut(self, pool: np.ndarray, words: Callable[..., Any]) -> list[np.ndarray]:
        """Sort a pool by length and cut it into batches."""
        src, tgt = self.src.lengths[pool] + 1, self.tgt.lengths[pool] + 1
        # Target lengths rise with one source length and fall with the next, so that neighbours have similar lengths.
        order = np.lexsort((np.where(src % 2, -tgt, tgt), src))
        pool, width = pool[order], np.maximum(src, tgt)[order]
        # The first batch is cut short by chance, so that the cuts fall elsewhere in each epoch.
        room = 1 + int(words()) % self.max_tokens
        cuts, start, widest = [], 0, 0
        for i, w in enumerate(width.tolist()):
            widest = max(widest, w)
            if i > start and (i + 1 - start) * widest > room:
                cuts.append(pool[start:i])
                start, widest, room = i, w, self.max_tokens
        return [*cuts, pool[start:]]


class _Ids:
    """Rows of ids in one flat array, which takes a tenth of the memory of lists."""

    def __init__(self, rows: list[Sequence[int]]):
        self.lengths = np.array([len(row) for row in rows], dtype=np.int64)
        self._ends = self.lengths.cumsum()
        self._ids = np.fromiter((i for row in rows for i in row), dtype=np.int32, count=int(self._ends[-1]))

    def padded(self, rows: np.ndarray, *, shifted: bool = False) -> Tensor:
        """The chosen rows with eos after each, or with bos before each: (len(rows), longest + 1) int64."""
        table = np.full((len(rows), int(self.lengths[rows].max()) + 1), PAD, dtype=np.int64)
        for line, row in zip(table, rows, strict=True):
            end, length = self._ends[row], self.lengths[row]
            line[shifted : length + shifted] = self._ids[end - length : end]
            if shifted:
                line[0] = BOS
            else:
                line[length] = EOS
        return torch.from_numpy(table)


class Windows:
    """Batches of windows over one long row of tokens.

    Each epoch shifts the cuts by a random offset and shuffles the windows, by `seed` and the epoch's number alone, so
    a run resumes at any (epoch, index). A window holds one token more than it predicts: `window[:-1]` is the input,
    `window[1:]` the target. Apart from what the offset leaves out, every token but the row's first is predicted once.

    Args:
        ids: the tokens, in order.
        length: tokens that a window predicts.
        batch: windows in a batch.
        seed: not negative.

    Attributes:
        dropped: 0; a text has no piece that is too long.

    Raises:
        ValueError: an argument is out of range, or the text is shorter than one window.
    """

    dropped = 0

    def __init__(self, ids: Sequence[int] | np.ndarray, *, length: int, batch: int, seed: int):
        check_number("length", length, least=1, whole=True)
        check_number("batch", batch, least=1, whole=True)
        check_number("seed", seed, least=0, whole=True)
        if len(ids) < length + 1:
            raise ValueError(
                f"the text has {len(ids)} tokens, but a window of length={length} needs {length + 1}"
            )
        self.ids = np.asarray(ids, dtype=np.int32)
        self.length, self.batch, self.seed = length, batch, seed

    def epoch(self, number: int) -> Sequence[Tensor]:
        """Epoch `number` (from 0): batches of (batch, length + 1) int64, each made when it is asked for."""
        words = raw_words(self.seed, number)
        room = min(self.length, len(self.ids) - self.length)
        starts = np.arange(int(words()) % room, len(self.ids) - self.length, self.length)
        starts = starts[np.argsort(words(len(starts)), kind="stable")]

        def batch(index: int) -> Tensor:
            chosen = starts[index * self.batch : (index + 1) * self.batch]
            return torch.from_numpy(self.ids[chosen[:, None] + np.arange(self.length + 1)].astype(np.int64))

        return Lazy(-(-len(starts) // self.batch), batch)

    def in_order(self) -> list[tuple[Tensor, int]]:
        """All windows once, in the text's order, for scoring: batches with the number of tokens that each predicts.

        The last window is padded with the text's beginning, which comes last and is not counted.
        """
        starts = np.arange(0, len(self.ids) - 1, self.length)
        last = int(starts[-1]) + self.length + 1 - len(self.ids)  # tokens that are missing at the end
        ids = np.concatenate([self.ids, np.resize(self.ids, max(last, 0))])
        table = torch.from_numpy(ids[starts[:, None] + np.arange(self.length + 1)].astype(np.int64))
        batches = table.split(self.batch)
        sizes = [part.shape[0] * self.length for part in batches]
        sizes[-1] -= max(last, 0)
        return list(zip(batches, sizes, strict=True))


@dataclass(frozen=True)
class Minibatch(Rows):
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
        y: as in `Minibatch`.
        last: as in `Minibatch`.
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

    def take(self, rows: Tensor) -> Minibatch:
        """The sequences of some rows, cut to the longest of them."""
        x, last = self.prepare(self.x[rows]), None
        if self.last is not None:
            last = self.last[rows]
            x = x[:, : int(last.max()) + 1]
        return Minibatch(x, self.y[rows], last)

    def part(self, rows: slice) -> Stored:
        """The sequences of some rows alone."""
        last = None if self.last is None else self.last[rows]
        return Stored(self.x[rows], self.y[rows], last=last, prepare=self.prepare)

    def epoch(self, number: int, *, batch: int, seed: int) -> Sequence[Minibatch]:
        """Epoch `number` (from 0): every sequence once, in an order that the seed and the number fix."""
        words = raw_words(seed, number)
        order = torch.from_numpy(np.argsort(words(len(self)), kind="stable"))
        return self._batches(order, batch)

    def in_order(self, *, batch: int) -> Sequence[Minibatch]:
        """Every sequence once, as they are kept."""
        return self._batches(torch.arange(len(self)), batch)

    def _batches(self, order: Tensor, size: int) -> Sequence[Minibatch]:
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

    def epoch(self, number: int, *, batch: int, seed: int) -> Sequence[Minibatch]:
        """The batches of epoch `number`."""
        first = number * self.EPOCH
        return Lazy(self.EPOCH, lambda index: Minibatch(*self.draw(batch, seed=seed, number=first + index)))

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
