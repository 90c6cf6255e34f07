"""Dropout forward and backward: ours against `torch.nn.functional.dropout`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.measure import Comparison, Settings, compare
from reservoir.layers import Dropout

SIZES = {"laptop": (2048, 256), "IWSLT": (4096, 512), "logits": (2048, 4000)}
P = 0.1


def run(settings: Settings) -> Iterator[Comparison]:
    """A batch's activations at both sizes of the book, and something larger than a cache."""
    drop = Dropout(P).train()
    for name, shape in settings.chosen(SIZES).items():
        for dtype in settings.precisions:
            x = torch.randn(shape, dtype=dtype, device=settings.device, requires_grad=True)
            gradient = torch.randn_like(x)

            def turns(function: Callable[[Tensor], Tensor], x=x, gradient=gradient):
                def turn(_: int) -> None:
                    function(x).backward(gradient)
                    x.grad = None

                return turn

            yield compare(
                turns(drop),
                turns(lambda x: F.dropout(x, P)),
                case=f"{name} {'×'.join(map(str, shape))}, {str(dtype).removeprefix('torch.')}",
                peer="F.dropout",
                unit="elements",
                work=lambda turn, x=x: x.numel(),
                settings=settings,
            )
