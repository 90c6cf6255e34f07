"""Weights drawn a second, eager and compiled, beside PyTorch's own generator and beside copying them from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks.measure import Comparison, Settings, compare
from reservoir.weights import Stream
from reservoir.weights.draws import normal, sign, uniform

SIZES = {"laptop": (512, 256), "IWSLT": (1024, 1024)}


def run(settings: Settings) -> Iterator[Comparison]:
    """Each elementwise draw of a matrix; what a copy costs is what a stored weight would."""
    for name, shape in settings.chosen(SIZES).items():
        yield from _of_shape(name, shape, settings)


def _of_shape(size: str, shape: tuple[int, int], settings: Settings) -> Iterator[Comparison]:
    device = settings.device
    stored, out = torch.randn(shape, device=device), torch.empty(shape, device=device)
    draws: dict[str, Callable[[Stream], Tensor]] = {
        "uniform": lambda stream: uniform(stream, shape, bound=0.1, device=device),
        "sign": lambda stream: sign(stream, shape, scale=0.1, device=device),
        "normal": lambda stream: normal(stream, shape, std=0.1, device=device),
    }
    torchs: dict[str, Callable[[int], Tensor]] = {
        "uniform": lambda turn: out.uniform_(-0.1, 0.1),
        "sign": lambda turn: out.bernoulli_().mul_(0.2).sub_(0.1),
        "normal": lambda turn: out.normal_(0.0, 0.1),
    }
    for name, draw in draws.items():
        for kind in ("eager", "compiled") if settings.compiled else ("eager",):
            function = torch.compile(draw) if kind == "compiled" else draw
            for peer, theirs in (
                ("torch's generator", torchs[name]),
                ("a copy", lambda turn: out.copy_(stored)),
            ):
                yield compare(
                    lambda turn, function=function: function(Stream(turn + 2, "weights")),
                    theirs,
                    case=f"{size} {'×'.join(map(str, shape))}, {name}, {kind}",
                    peer=peer,
                    unit="weights",
                    work=lambda turn: shape[0] * shape[1],
                    settings=settings,
                )
