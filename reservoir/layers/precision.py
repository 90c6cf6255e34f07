"""Where sums are long, digits count: no bf16 there, whatever the rest of the model computes in."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def full_precision(device: torch.device) -> AbstractContextManager:
    """The context in which nothing is rounded to bf16; none on the meta device, where nothing is computed."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)
