"""Output product and label-smoothed cross-entropy, forward and backward: ours in chunks against `F.cross_entropy`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.measure import Comparison, Settings, compare
from reservoir.training.losses import smoothed_cross_entropy

SIZES = {"laptop": (2048, 256, 4000), "IWSLT": (4096, 512, 10000)}  # tokens, d_model, vocabulary
SMOOTHING = 0.1


def run(settings: Settings) -> Iterator[Comparison]:
    """Both sizes of the book in both precisions; a tenth of the targets is padding."""
    for name, (tokens, d_model, vocab) in settings.chosen(SIZES).items():
        for dtype in settings.precisions:
            torch.manual_seed(0)
            hidden = torch.randn(tokens, d_model, device=settings.device, requires_grad=True)
            weight = torch.randn(vocab, d_model, device=settings.device).mul_(d_model**-0.5).requires_grad_()
            target = torch.randint(1, vocab, (tokens,), device=settings.device)
            target[::10] = 0

            def turns(loss: Callable[[], Tensor], hidden=hidden, weight=weight, dtype=dtype):
                def turn(_: int) -> None:
                    low = dtype == torch.bfloat16
                    with torch.autocast(hidden.device.type, dtype=torch.bfloat16, enabled=low):
                        value = loss()
                    value.backward()
                    hidden.grad = weight.grad = None

                return turn

            def ours(hidden=hidden, weight=weight, target=target):
                return smoothed_cross_entropy(hidden, weight, target, smoothing=SMOOTHING)[0]

            def theirs(hidden=hidden, weight=weight, target=target):
                logits = F.linear(hidden, weight)
                return F.cross_entropy(
                    logits, target, label_smoothing=SMOOTHING, ignore_index=0, reduction="sum"
                )

            yield compare(
                turns(ours),
                turns(theirs),
                case=f"{name} {tokens}×{d_model}×{vocab}, {str(dtype).removeprefix('torch.')}",
                peer="F.linear + F.cross_entropy",
                unit="tokens",
                work=lambda turn, tokens=tokens: tokens,
                settings=settings,
            )
