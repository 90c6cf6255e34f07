"""Linear maps in bf16 whose number of rows changes from batch to batch: ours against `F.linear` under autocast."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.measure import MOST, Comparison, Settings, compare
from reservoir.layers.linear import linear

SIZES = {"laptop": (2048, 256, 512), "IWSLT": (4096, 512, 1024)}  # rows at most, d_in, d_out


def run(settings: Settings) -> Iterator[Comparison]:
    """Rows that stay the same, and rows that are new each time, as batches of sentences bring them."""
    for name, (most, d_in, d_out) in settings.chosen(SIZES).items():
        for changing in (False, True):
            torch.manual_seed(0)
            rows = (most - torch.randperm(most // 4)[: 2 * MOST]).tolist() if changing else [most]
            x = torch.randn(most, d_in, device=settings.device)
            weight = torch.randn(d_out, d_in, device=settings.device, requires_grad=True)
            bias = torch.zeros(d_out, device=settings.device, requires_grad=True)
            gradient = torch.randn(most, d_out, device=settings.device, dtype=torch.bfloat16)

            def turns(
                function: Callable[..., Tensor], x=x, weight=weight, bias=bias, rows=rows, gradient=gradient
            ):
                def turn(number: int) -> None:
                    n = rows[number % len(rows)]
                    part = x[:n].detach().requires_grad_()
                    with torch.autocast(x.device.type, dtype=torch.bfloat16):
                        y = function(part, weight, bias)
                    y.backward(gradient[:n])
                    weight.grad = bias.grad = None

                return turn

            yield compare(
                turns(linear),
                turns(F.linear),
                case=f"{name} {most}×{d_in}→{d_out}, {'rows new each time' if changing else 'rows the same'}",
                peer="F.linear under autocast",
                unit="rows",
                work=lambda turn, rows=rows: rows[turn % len(rows)],
                settings=settings,
                warm_up=(-1, -2),
            )
