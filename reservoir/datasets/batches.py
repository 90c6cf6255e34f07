"""Batches of sentence pairs by number of tokens, made when asked for: little padding, an order that the seed fixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.errors import check_whole
from reservoir.datasets.vocabulary import Vocabulary

T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence of `length` items, of which `make(index)` makes one each time it is asked for.

    A slice is such a sequence too, and makes nothing.
    """

    def __init__(self, length: int, make: Callable[[int], T]):
        self._indices, self._make = range(length), make

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Lazy[T]: ...

    def __getitem__(self, index: int | slice) -> T | Lazy[T]:
        if isinstance(index, slice):
            chosen = self._indices[index]
            return Lazy(len(chosen), lambda number: self._make(chosen[number]))
        return self._make(self._indices[index])


PAD, BOS, EOS = Vocabulary.pad, Vocabulary.bos, Vocabulary.eos
POOL = (
    1 << 16
)  # pairs sorted together: enough for even lengths, few enough to mix a large corpus in each epoch


@dataclass(frozen=True)
class Batch:
    """A padded batch.

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

    @property
    def rows(self) -> int:
        """Number of pairs."""
        return len(self.src)

    def part(self, index: int, of: int) -> Batch:
        """Every `of`-th pair from number `index` on, as long as they all are."""
        tgt_out = self.tgt_out[index::of]
        n_tokens = int((tgt_out != PAD).sum())
        return Batch(self.src[index::of], self.tgt_in[index::of], tgt_out, n_tokens)

    def to(self, device: torch.device | str) -> Batch:
        """Return the same batch on `device`."""
        moved = {
            name: getattr(self, name).to(device, non_blocking=True) for name in ("src", "tgt_in", "tgt_out")
        }
        return replace(self, **moved)


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
        max_len: pairs with more ids than this on either side are dropped and counted.

    Attributes:
        dropped: how many pairs were longer than `max_len`.

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
        max_len: int,
    ):
        if len(src) != len(tgt):
            raise ValueError(f"src has {len(src)} sentences but tgt has {len(tgt)}: give one for one")
        for name, value, least in (("seed", seed, 0), ("max_tokens", max_tokens, 2), ("max_len", max_len, 0)):
            check_whole(name, value, least=least)
        longest = np.array([max(len(s), len(t)) for s, t in zip(src, tgt, strict=True)], dtype=np.int64)
        kept = np.flatnonzero(longest <= max_len)
        self.dropped = len(src) - len(kept)
        if not len(kept):
            raise ValueError(f"none of {len(src)} pairs has at most max_len={max_len} tokens: raise max_len")
        worst = kept[longest[kept].argmax()]
        if longest[worst] + 1 > max_tokens:
            raise ValueError(
                f"max_tokens={max_tokens} cannot hold pair {worst}, {longest[worst]} tokens and eos: "
                f"raise max_tokens to {longest[worst] + 1} or lower max_len={max_len}"
            )
        self.max_tokens, self.seed = max_tokens, seed
        self.src, self.tgt = (_Rows([side[i] for i in kept.tolist()]) for side in (src, tgt))

    def __len__(self) -> int:
        """Number of pairs in an epoch."""
        return len(self.src.lengths)

    def epoch(self, number: int) -> Epoch:
        """Return epoch `number` (from 0): a sequence of batches, each made when it is asked for."""
        # Raw words of the bit generator, since numpy keeps these the same in every version, unlike its shuffles.
        words = np.random.PCG64(np.random.SeedSequence([self.seed, number])).random_raw
        shuffled = np.argsort(words(len(self)), kind="stable")
        cuts = [
            cut
            for start in range(0, len(self), POOL)
            for cut in self._cut(shuffled[start : start + POOL], words)
        ]
        return Epoch(self, [cuts[i] for i in np.argsort(words(len(cuts)), kind="stable")])

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


class Epoch(Lazy[Batch]):
    """The batches of one epoch, each made when it is asked for."""

    def __init__(self, batches: TokenBatches, cuts: list[np.ndarray]):
        super().__init__(len(cuts), self._batch)
        self._batches, self._cuts = batches, cuts

    def _batch(self, index: int) -> Batch:
        rows, src, tgt = self._cuts[index], self._batches.src, self._batches.tgt
        n_tokens = int(tgt.lengths[rows].sum()) + len(rows)
        return Batch(src.padded(rows), tgt.padded(rows, shifted=True), tgt.padded(rows), n_tokens)

    @property
    def padding(self) -> float:
        """Share of the positions of `src` and `tgt_out`, over all batches, that are padding."""
        filled = positions = 0
        for rows in self._cuts:
            for side in (self._batches.src, self._batches.tgt):
                lengths = side.lengths[rows] + 1
                filled += int(lengths.sum())
                positions += int(lengths.max()) * len(rows)
        return 1 - filled / positions


class _Rows:
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
            ids = self._ids[end - length : end]
            if shifted:
                line[0], line[1 : length + 1] = BOS, ids
            else:
                line[:length], line[length] = ids, EOS
        return torch.from_numpy(table)
