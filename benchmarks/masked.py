"""A training step of a transformer layer with supermasks, against the same layer with weights that move."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.measure import Comparison, Settings, compare
from benchmarks.step import ADAMW
from reservoir.layers import Attention, EncoderLayer, FeedForward
from reservoir.weights import Freeze, Mask, freeze, initialise, supermask

SIZES = {"laptop": (128, 512, 1024), "IWSLT": (512, 1024, 2048)}  # d_model, d_ff, tokens in sentences of 32
STEPS = {"laptop": 8, "IWSLT": 1}  # of a turn, since one of a few milliseconds varies too much
MOST = 1.10  # times a dense step that a masked one may take


def layer(d_model: int, d_ff: int) -> EncoderLayer:
    mixing = Attention(d_model, 4, stream="layer.attention")
    feed_forward = FeedForward(d_model, d_ff, stream="layer.feed_forward")
    whole = EncoderLayer(mixing, feed_forward, d_model=d_model, stream="layer", norm_first=True)
    return initialise(whole, seed=0).train()


def stepper(module: nn.Module, x: torch.Tensor, dtype: torch.dtype, steps: int) -> Callable[[int], None]:
    """A function that takes so many training steps."""
    optimiser = ADAMW.build(module)
    target = torch.randn_like(x)

    def turn(number: int) -> None:
        for _ in range(steps):
            with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
                loss = (module(x) - target).square().mean()
            loss.backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return turn


def run(settings: Settings) -> Iterator[Comparison]:
    """Both precisions at both sizes: forward, backward and update, and for the masked layer the choice of its masks."""
    for name, (d_model, d_ff, tokens) in settings.chosen(SIZES).items():
        for dtype in settings.precisions:
            x = torch.randn(tokens // 32, 32, d_model, device=settings.device, requires_grad=True)
            dense = layer(d_model, d_ff).to(settings.device)
            masked = supermask(layer(d_model, d_ff).to(settings.device), Mask(keep=0.5), seed=0)
            masked = freeze(masked, Freeze(patterns=("*.bias", "*norm")))
            yield compare(
                stepper(masked, x, dtype, STEPS[name]),
                stepper(dense, x, dtype, STEPS[name]),
                case=f"{name}, {'bf16' if dtype == torch.bfloat16 else 'fp32'}, keep 0.5",
                peer="weights that move",
                unit="tokens",
                work=lambda turn, n=tokens * STEPS[name]: n,
                settings=settings,
                required=round(1 / MOST, 3),
            )
