"""What the training loop needs of a task: batches, a loss and a way to validate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor, nn


class Task(Protocol):
    """A task that a model can be trained on. Translation is one; language models and classifiers are others."""

    metric: str
    """Name of the validation metric that counts."""

    larger_is_better: bool
    """Whether that metric rises as the model improves."""

    def epoch(self, number: int) -> Sequence[Any]:
        """The batches of an epoch, in an order that the task's seed and the number fix."""
        ...

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        """The training loss of a batch, summed over what it predicts, in nats."""
        ...

    def size(self, batch: Any) -> tuple[int, int]:
        """How many predictions the loss sums over, and how many tokens were seen in all, padding left out."""
        ...

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Metrics on the validation set, by name; the model is in eval mode."""
        ...
