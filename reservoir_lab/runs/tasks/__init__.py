"""What a run is set to do: its data, how they are cut and batched, how it is scored. Here is what tasks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

LENGTH = 32  # tokens that a sentence is taken to have, its end among them
FILLED = 0.9  # of a batch's positions hold a token, where sentences of unlike lengths stand together


class Settings:
    """What the settings of a task say besides their fields."""

    corpus_field: ClassVar[str] = "corpus"  # the one that names the data
    length: int

    @property
    def data(self) -> str:
        """The name of the corpus, as `reservoir_lab.corpora.content` knows it."""
        return getattr(self, self.corpus_field)

    def fit(self, config: Any, vocabulary: int) -> Any:
        """The model's sizes with those filled in that the data decides."""
        return config.sized(vocabulary)

    def longest_sequence(self) -> int:
        """The most positions that a training sequence can have."""
        return self.length


@dataclass(frozen=True)
class BatchSpec:
    """A batch without a text: its shape, which is all that a dry run needs when the data are not here.

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
