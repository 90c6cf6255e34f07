"""Windows of running text for a language model: pieces of one length, cut anew in each epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets.batches import Lazy
from reservoir.datasets.errors import check_whole


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
        for name, value, least in (("length", length, 1), ("batch", batch, 1), ("seed", seed, 0)):
            check_whole(name, value, least=least)
        if len(ids) < length + 1:
            raise ValueError(
                f"the text has {len(ids)} tokens, but a window of length={length} needs {length + 1}"
            )
        self.ids = np.asarray(ids, dtype=np.int32)
        self.length, self.batch, self.seed = length, batch, seed

    def epoch(self, number: int) -> Sequence[Tensor]:
        """Epoch `number` (from 0): batches of (batch, length + 1) int64, each made when it is asked for."""
        words = np.random.PCG64(np.random.SeedSequence([self.seed, number])).random_raw
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
