"""What the training loop needs: of a task, batches, a loss, a way to validate; of a machine, precision and memory."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn

Precision = Literal["fp32", "bf16"]


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware multiplies bf16 itself; elsewhere it is emulated, to the same values but slowly.

    Args:
        device: a GPU or a CPU; the answer for any other device is no.

    Returns:
        True for a GPU that supports bf16 and for a CPU with AVX-512-BF16 or AMX.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        # There is no public name for these yet; where one is missing, the answer is no.
        tests = (
            getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
        )
        return any(test is not None and test() for test in tests)
    return False


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


def release() -> None:
    """Return free memory to the system, where the C library is glibc; elsewhere nothing is needed."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
