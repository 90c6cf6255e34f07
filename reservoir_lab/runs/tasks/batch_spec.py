"""A batch without a text: its shape, which is all that a dry run needs when the data are not here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LENGTH = 32  # tokens that a sentence is taken to have, its end among them
FILLED = 0.9  # of a batch's positions hold a token, where sentences of unlike lengths stand together


@dataclass(frozen=True)
class BatchSpec:
    """What a batch of a task looks like.

    Args:
        loss: of a model on the batch; both may be on the meta device.
        tokens: how many the batch is taken to have, padding left out.
        rows: how many it has to share among processes.
    """

    loss: Callable[[Any], Tensor]
    tokens: float
    rows: int


def share_of(rows: int, processes: int) -> int:
    """How many rows the process with the most of them takes of a batch."""
    return max(1, -(-rows // processes))


def token_ids(*shape: int) -> Tensor:
    """Token ids of a shape, on the meta device."""
    return torch.ones(*shape, dtype=torch.long, device="meta")
