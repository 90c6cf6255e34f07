"""Keys and values that attention has computed already, kept while a sequence is written token by token."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def read(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Attention of a few queries to keys and values that are kept, in few calls.

    Args:
        q: (batch, queries, heads, d_head).
        k, v: (batch, heads, keys, d_head).
        bias: (batch × heads, queries or 1, keys), added to the scores: 0 where a key is seen, else -inf.

    Returns:
        (batch, queries, heads × d_head).
    """
    batch, _, heads, d_head = q.shape
    queries = q.transpose(1, 2).flatten(0, 1) * (1 / math.sqrt(d_head))  # before the product, as in `attend`
    keys = k.flatten(0, 1).transpose(-1, -2)
    scores = torch.baddbmm(bias.to(q.dtype), queries, keys)
    weights = scores.softmax(-1, dtype=torch.float32).to(v.dtype)
    return (weights @ v.flatten(0, 1)).unflatten(0, (batch, heads)).transpose(1, 2).flatten(2)


class Cache:
    """Keys and values of the positions so far, (batch, heads, length, d_head) each."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None
        self.bias: Tensor | None = None  # (batch, heads, 1, length) for `read`, where it does not change

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
        if self.bias is not None:
            self.bias = self.bias.index_select(0, index)


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
        self._wide: Tensor | None = None

    def for_heads(self, heads: int) -> Tensor:
        """The bias for each head, (batch × heads, hypotheses, keys), which all layers share."""
        if self._wide is None:
            self._wide = self.bias[:, None].expand(-1, heads, -1, -1).flatten(0, 1)
        return self._wide

    def descend(self, parents: Tensor) -> None:
        """Go on to the next position: hypothesis i of a sentence continues its hypothesis parents[:, i]."""
        seen = self.bias.gather(1, parents[..., None].expand(-1, -1, self.bias.shape[2]))
        self.bias = torch.cat([seen, self.own.expand(len(parents), -1, -1)], 2)
        self._wide = None

    def keep(self, index: Tensor) -> None:
        """Keep these sentences alone."""
        self.bias = self.bias.index_select(0, index)
        self._wide = None


class BeamCache:
    """Keys and values of a beam search, each written once: (2, batch, heads, room, d_head), of which `used` are filled.

    Args:
        ancestry: which of them a hypothesis sees; shared by all layers.
        room: how many keys of a sentence there may come to be.
    """

    def __init__(self, ancestry: Ancestry, room: int):
        self.kv: Tensor | None = None
        self.ancestry, self.room = ancestry, room
        self.used = self.positions = 0

    def __len__(self) -> int:
        return self.positions

    def attend(self, qkv: Tensor) -> Tensor:
        """Write the keys and values of one more position, and read by its queries.

        Args:
            qkv: (batch × hypotheses, 1, 3, heads, d_head).

        Returns:
            (batch × hypotheses, 1, heads × d_head).
        """
        batch, hypotheses, keys = self.ancestry.bias.shape
        _, _, _, heads, d_head = qkv.shape
        qkv = qkv.view(batch, hypotheses, 3, heads, d_head)
        if self.kv is None:
            self.kv = qkv.new_empty(2, batch, heads, self.room, d_head)
        self.kv[:, :, :, self.used : keys] = qkv[:, :, 1:].permute(2, 0, 3, 1, 4)
        self.used, self.positions = keys, self.positions + 1
        k, v = self.kv[:, :, :, :keys]
        return read(qkv[:, :, 0], k, v, self.ancestry.for_heads(heads)).flatten(0, 1).unsqueeze(1)

    def keep(self, index: Tensor) -> None:
        """Keep these sentences alone."""
        if self.kv is not None:
            # In place, since memory for all keys that there may come to be takes longer than copying those there are.
            self.kv[:, : len(index), :, : self.used] = self.kv[:, :, :, : self.used].index_select(1, index)
            self.kv = self.kv[:, : len(index)]
