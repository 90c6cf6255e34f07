"""Floating-point operations of a training step, counted from the products it makes: the same on any machine."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode


def count_flops(loss: Callable[[], Tensor], device: torch.device, autocast: bool) -> float:
    """Operations of one forward and backward pass: two for each multiply-add of a matrix product.

    What is frozen costs less: no product for its weight's gradient, and no backward pass at all where nothing below
    moves. Elementwise work is not counted, nor is the optimiser's.

    Args:
        loss: computes the loss; its gradients are left in the parameters.
        device: where.
        autocast: whether it runs in bf16.
    """

    def work() -> None:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=autocast):
            value = loss()
        value.backward()

    return count_products(work)


def count_products(work: Callable[[], None]) -> float:
    """Operations of the matrix products that `work` makes, two for each multiply-add."""
    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops())
