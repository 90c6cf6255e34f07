"""One language's share of a vocabulary that two languages have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from reservoir.datasets.errors import check_whole
from reservoir.datasets.vocabulary import SPECIALS, Vocabulary


class Dictionary:
    """The pieces of a joint vocabulary that one language uses most, with numbers of their own.

    Two languages whose pieces were learnt together need not have the same table of embeddings: fairseq makes a
    dictionary of each side's pieces. This one is used as a `Vocabulary` is. A piece that it leaves out is unknown.

    Args:
        vocabulary: the joint one.
        lines: text of the language.
        size: pieces to keep at most, the four special ones included.

    Attributes:
        pad, bos, eos, unk, line_end: ids of the special pieces, as a `Vocabulary` has them.
        tokens: the pieces kept, the most frequent first after the special ones.
    """

    pad, bos, eos, unk, line_end = (
        Vocabulary.pad, Vocabulary.bos, Vocabulary.eos, Vocabulary.unk, Vocabulary.line_end
    )  # fmt: skip

    def __init__(self, vocabulary: Vocabulary, lines: Sequence[str], size: int):
        check_whole("size", size, least=len(SPECIALS) + 1)  # more than the special pieces
        counts: Counter[int] = Counter()
        for row in vocabulary.encode_batch(lines):
            counts.update(row)
        frequent = sorted(counts.keys() - set(range(len(SPECIALS))), key=lambda i: (-counts[i], i))
        kept = [*range(len(SPECIALS)), *frequent[: size - len(SPECIALS)]]
        self.joint = vocabulary
        self.tokens: list[str] = [vocabulary.tokens[i] for i in kept]
        self._own = [self.unk] * len(vocabulary)  # joint id -> ours
        for ours, theirs in enumerate(kept):
            self._own[theirs] = ours
        self._joint = kept  # our id -> joint

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Dictionary({len(self)} of {len(self.joint)} pieces)"

    def encode(self, text: str) -> list[int]:
        """Return the ids of one sentence, without bos and eos."""
        return [self._own[i] for i in self.joint.encode(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many sentences."""
        return [[self._own[i] for i in row] for row in self.joint.encode_batch(texts)]

    def encode_text(self, text: str) -> np.ndarray:
        """Return the ids of a running text as one row of int32, eos after each line."""
        return np.array(self._own, dtype=np.int32)[self.joint.encode_text(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """Join pieces to text; special pieces are left out."""
        return self.joint.decode(self._joint[int(i)] for i in ids if int(i) < len(self))

    def normalise(self, text: str) -> str:
        """What of `text` the pieces keep."""
        return self.joint.normalise(text)
