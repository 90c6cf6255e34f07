"""Weights drawn per second, by PyTorch and by numba, against PyTorch's own generator and against a copy."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks.measure import Comparison, Settings, compare
from reservoir.weights import Stream, draws
from reservoir.weights.draws import normal, sign, uniform

SIZES = {"laptop": (512, 256), "IWSLT": (1024, 1024)}


def run(settings: Settings) -> Iterator[Comparison]:
    """Each elementwise draw of a matrix; what a copy costs is what a stored weight would."""
    for name, shape in settings.chosen(SIZES).items():
        yield from _of_shape(name, shape, settings)


@contextlib.contextmanager
def _one_way(kind: str) -> Iterator[None]:
    """The library takes numba once enough has been drawn; here each row is of one way alone."""
    before = draws.WORTHWHILE
    draws.WORTHWHILE = 0 if kind == "numba" else math.inf
    try:
        yield
    finally:  # what is measured later, in the same process, draws as the library does
        draws.WORTHWHILE = before


def _of_shape(size: str, shape: tuple[int, int], settings: Settings) -> Iterator[Comparison]:
    device = settings.device
    stored, out = torch.randn(shape, device=device), torch.empty(shape, device=device)
    drawn: dict[str, Callable[[Stream], Tensor]] = {
        "uniform": lambda stream: uniform(stream, shape, bound=0.1, device=device),
        "sign": lambda stream: sign(stream, shape, scale=0.1, device=device),
        "normal": lambda stream: normal(stream, shape, std=0.1, device=device),
    }
    torchs: dict[str, Callable[[int], Tensor]] = {
        "uniform": lambda turn: out.uniform_(-0.1, 0.1),
        "sign": lambda turn: out.bernoulli_().mul_(0.2).sub_(0.1),
        "normal": lambda turn: out.normal_(0.0, 0.1),
    }
    kinds = ["eager", *["numba"] * (device.type == "cpu" and draws.numba_is_here())]
    for name, draw in drawn.items():
        for kind in kinds:
            for peer, theirs in (
                ("torch's generator", torchs[name]),
                ("a copy", lambda turn: out.copy_(stored)),
            ):
                with _one_way(kind):
                    found = compare(
                        lambda turn, draw=draw: draw(Stream(turn + 2, "weights")),
                        theirs,
                        case=f"{size} {'×'.join(map(str, shape))}, {name}, {kind}",
                        peer=peer,
                        unit="weights",
                        work=lambda turn: shape[0] * shape[1],
                        settings=settings,
                    )
                yield found
