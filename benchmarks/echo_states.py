"""The states of an echo state network over a series: ours against reservoirpy's, on the same matrices."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.measure import Comparison, Settings, compare
from reservoir.reservoirs import EchoState
from reservoir.weights import initialise

SIZES = {
    "laptop": (100, 1000),
    "IWSLT": (1000, 1000),
}  # units and steps; the names are those of the other benchmarks


def run(settings: Settings) -> Iterator[Comparison]:
    """One series, state by state, in fp64 as reservoirpy has it."""
    from reservoirpy.nodes import Reservoir

    for name, (units, steps) in settings.chosen(SIZES).items():
        echo = initialise(EchoState(1, units, stream="echo", leak=0.3), seed=0)
        peer = Reservoir(W=echo.W.numpy(), Win=echo.W_in.numpy(), bias=echo.b.numpy(), lr=0.3)
        u = torch.randn(steps, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        series = u.numpy()
        yield compare(
            lambda turn, echo=echo, u=u: echo(u),
            lambda turn, peer=peer, series=series: peer.run(series),
            case=f"{name}, {units} units, {steps} steps",
            peer="reservoirpy",
            unit="states",
            work=lambda turn, steps=steps: steps,
            settings=settings,
            warm_up=(0,),
        )
