"""Full precision for long sums, in whatever precision the rest of the model computes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def full_precision(device: torch.device) -> AbstractContextManager:
    """The context in which nothing is rounded to bf16; none on the meta device, where nothing is computed."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)
