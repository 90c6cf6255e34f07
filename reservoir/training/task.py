"""What the training loop needs of a task: batches, a loss and a way to validate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module, contravariant=True)


class Task(Protocol[Model]):
    """A task that a model can be trained on, such as translation, language modelling or classification."""

    @property
    def metric(self) -> str:
        """Name of the validation metric that counts."""
        ...

    @property
    def larger_is_better(self) -> bool:
        """Whether that metric rises as the model improves."""
        ...

    @property
    def train(self) -> Any:
        """The training data; its `dropped` says how many texts were left out as too long."""
        ...

    def epoch(self, number: int, /) -> Sequence[Any]:
        """The batches of an epoch, in an order that the task's seed and the number fix."""
        ...

    def loss(self, model: Model, batch: Any, /) -> Tensor:
        """The training loss of a batch, summed over its predictions, in nats."""
        ...

    def size(self, batch: Any, /) -> tuple[int, int]:
        """The number of predictions that the loss sums over, and of tokens seen, without padding."""
        ...

    def validate(self, model: Model, /) -> dict[str, float]:
        """Metrics on the validation set, by name; the model is in eval mode."""
        ...


def device_of(model: nn.Module) -> torch.device:
    """Where a model's parameters are."""
    return next(model.parameters()).device


def perplexity(nats: float, predictions: float) -> float:
    """`exp(nats / predictions)`, at most exp(50), so that it stays a number that JSON can hold."""
    return math.exp(min(nats / predictions, 50.0))
