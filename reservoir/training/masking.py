"""Masking: which tokens a masked language model has to predict, and what it reads in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from reservoir.layers.arguments import check_number
from reservoir.weights import Stream

MASKED, REPLACED = 0.8, 0.1  # of the chosen positions; the rest stays as it is


@dataclass(frozen=True)
class MaskedBatch:
    """Texts with masked tokens.

    Args:
        ids: what the model reads, (batch, length).
        positions: the tokens to predict, as indices into `ids.flatten()`, rising, (asked,).
        targets: what stood there, (asked,).
    """

    ids: Tensor
    positions: Tensor
    targets: Tensor

    @property
    def rows(self) -> int:
        """Number of texts."""
        return len(self.ids)

    def part(self, index: int, of: int) -> MaskedBatch:
        """Every `of`-th text from number `index` on, with its own holes."""
        length = self.ids.shape[1]
        row, column = self.positions // length, self.positions % length
        mine = row % of == index
        positions = row[mine] // of * length + column[mine]
        return MaskedBatch(self.ids[index::of], positions, self.targets[mine])

    def to(self, device: torch.device | str) -> MaskedBatch:
        """The same batch on `device`."""
        names = ("ids", "positions", "targets")
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in names})


def mask(ids: Tensor, stream: Stream, *, mask_id: int, specials: int = 4, share: float = 0.15) -> MaskedBatch:
    """Choose the tokens that the model has to predict, and mask them (Devlin et al. 2019, §3.1).

    Of all tokens that are not special, `share` is chosen, rounded to a whole number and at least one. Of these 80 %
    become the mask, 10 % a random token, and 10 % stay: fine-tuning has no masks, so the model must not rely on them.

    Args:
        ids: (batch, length); ids under `specials` are never chosen and never put in.
        stream: random words; the same stream hides the same tokens.
        mask_id: the mask's id, above all others: tokens are `specials` … `mask_id` - 1.
        specials: how many ids are special.
        share: of the tokens that are chosen, in (0, 1].

    Raises:
        ValueError: `share` is out of range, or there is no token to hide.
    """
    check_number("share", share, above=0, most=1)
    flat = ids.flatten()
    tokens = (flat >= specials).nonzero()[:, 0]
    if not len(tokens):
        raise ValueError(f"there is no token to hide among {len(flat)}: all are special")
    words = stream.words(0, len(tokens) * 2, device=ids.device).view(2, -1)
    asked = tokens[words[0].argsort(stable=True)[: max(1, round(share * len(tokens)))]]  # in random order
    masked, replaced = (round(part * len(asked)) for part in (MASKED, MASKED + REPLACED))
    read = flat.clone()
    read[asked[:masked]] = mask_id
    read[asked[masked:replaced]] = specials + words[1, masked:replaced] % (mask_id - specials)
    positions = asked.sort().values
    return MaskedBatch(read.view_as(ids), positions, flat[positions])
