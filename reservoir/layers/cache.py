"""Keys and values that attention has computed already, kept while a sequence is written token by token."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class Cache:
    """Keys and values of the positions so far, (batch, heads, length, d_head) each."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[2]

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new positions, (batch, heads, new, d_head); returns all of them."""
        # Laid out in order, since each step of a decoder reads them and would copy what is not.
        self.k = k.contiguous() if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v.contiguous() if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v

    def keep(self, index: Tensor) -> None:
        """Keep these rows of the batch alone."""
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k.index_select(0, index), self.v.index_select(0, index)


class Ancestry:
    """Which keys each hypothesis of a beam search sees: those of its own ancestors.

    All keys of a sentence's hypotheses lie side by side: one of the first position, where there is one hypothesis, and
    then `beam` of each position. So a hypothesis that goes on from another one needs no copy of keys and values.

    Args:
        batch: number of sentences.
        beam: hypotheses of a sentence from the second position on.
    """

    def __init__(self, batch: int, beam: int, *, device: torch.device | str | None = None):
        self.bias = torch.zeros(
            batch, 1, 1, device=device
        )  # (batch, hypotheses, keys): 0 where seen, else -inf
        self.own = torch.full((beam, beam), -math.inf, device=device).fill_diagonal_(0.0)

    def descend(self, parents: Tensor) -> None:
        """Go on to the next position: hypothesis i of a sentence continues its hypothesis parents[:, i]."""
        seen = self.bias.gather(1, parents[..., None].expand(-1, -1, self.bias.shape[2]))
        self.bias = torch.cat([seen, self.own.expand(len(parents), -1, -1)], 2)

    def keep(self, index: Tensor) -> None:
        """Keep these sentences alone."""
        self.bias = self.bias.index_select(0, index)


class BeamCache:
    """Keys and values of a beam search, each written once: (batch, heads, room, d_head), of which `used` are filled.

    Args:
        ancestry: which of them a hypothesis sees; shared by all layers.
        room: how many keys of a sentence there may come to be.
    """

    def __init__(self, ancestry: Ancestry, room: int):
        self.k: Tensor | None = None
        self.v: Tensor | None = None
        self.ancestry, self.room = ancestry, room
        self.used = self.positions = 0

    def __len__(self) -> int:
        return self.positions

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Write the keys and values of one more position, and read by its queries.

        Args:
            q, k, v: (batch × hypotheses, heads, 1, d_head).

        Returns:
            (batch × hypotheses, 1, heads × d_head).
        """
        bias = self.ancestry.bias
        batch, hypotheses, keys = bias.shape
        # (batch, heads, hypotheses, d_head)
        q, k, v = (x[:, :, 0].unflatten(0, (batch, hypotheses)).transpose(1, 2) for x in (q, k, v))
        if self.k is None or self.v is None:
            shape = (batch, k.shape[1], self.room, k.shape[3])
            self.k, self.v = k.new_empty(shape), v.new_empty(shape)
        self.k[:, :, self.used : keys], self.v[:, :, self.used : keys] = k, v
        self.used, self.positions = keys, self.positions + 1
        scores = (q * (1 / math.sqrt(q.shape[-1]))) @ self.k[:, :, :keys].transpose(-1, -2)
        weights = scores.float().add_(bias[:, None]).softmax(-1).to(v.dtype)
        return (weights @ self.v[:, :, :keys]).transpose(1, 2).flatten(2).flatten(0, 1).unsqueeze(1)

    def keep(self, index: Tensor) -> None:
        """Keep these sentences alone."""
        if self.k is not None and self.v is not None:
            # In place, since memory for all keys that there may come to be takes longer than copying those there are.
            for cached in (self.k, self.v):
                cached[: len(index), :, : self.used] = cached[:, :, : self.used].index_select(0, index)
            self.k, self.v = self.k[: len(index)], self.v[: len(index)]
