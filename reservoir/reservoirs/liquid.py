"""A liquid state machine: spiking units, connected at random, whose traces a linear readout reads.

Maass, Natschläger & Markram (2002) used detailed models of neurons and synapses in a column of cortex. This is their
idea in miniature: leaky integrate-and-fire units in discrete time, four of five excitatory, the fifth inhibitory.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_number
from reservoir.layers.linear import Undrawn
from reservoir.weights import draws
from reservoir.weights.generator import Stream
from reservoir.weights.initialisation import Initialisation

INHIBITORY = 5  # one unit in so many


@dataclass(frozen=True)
class Synapses(Initialisation):
    """Sparse weights whose sign belongs to the unit that sends: every fifth column is negative (Dale's law).

    Magnitudes are uniform on [0, scale). Connections that end at a unit are as many as chance and `density` have it.

    Args:
        scale: the largest magnitude; the threshold of a unit is 1.
        density: the share of connections that exist, in (0, 1].
        inhibition: what the negative columns are multiplied by. 4 makes up for there being a fourth as many of them;
            0 makes every column positive, as for the fibres of an input.
    """

    scale: float
    density: float = 0.1
    inhibition: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("density", self.density, above=0, most=1)

    def _draw(self, stream: Stream, shape: torch.Size, blocks: int, device: torch.device) -> Tensor:
        if len(shape) != 2:
            raise ValueError(f"Synapses needs a matrix, (to, from), got the shape {tuple(shape)}")
        half = self.scale / 2 * self._enlargement
        weights = draws.uniform(stream, shape, bound=half, device=device) + half
        words = stream.sub("kept").words(0, shape.numel(), device=device)
        weights = weights * (words < round(self.density * 2**32)).view(shape)
        if self.inhibition:
            weights[:, INHIBITORY - 1 :: INHIBITORY] *= -self.inhibition
        return weights


class Liquid(Undrawn):
    """Leaky integrate-and-fire units in discrete time; none of their weights move.

    The potential of a unit decays, takes up what spikes bring, and falls back to 0 when it reaches 1, which is a spike:
    `v ← decay · v + W s + W_in u`, `s ← [v >= 1]`, `v ← v (1 - s)`. The readout sees a trace that each spike leaves,
    `r ← trace · r + s`, since a spike itself is gone the moment after.

    Args:
        inputs: input fibres.
        size: number of units.
        stream: base of the names that `<stream>.W` and `<stream>.W_in` are drawn by.
        recurrent, afferent: how W and W_in are drawn.
        decay: what is left of a potential after a step, in [0, 1).
        trace: what is left of a trace after a step, in [0, 1).
    """

    def __init__(
        self,
        inputs: int,
        size: int,
        *,
        stream: str,
        recurrent: Initialisation | None = None,
        afferent: Initialisation | None = None,
        decay: float = 0.9,
        trace: float = 0.9,
    ):
        for name, count in (("inputs", inputs), ("size", size)):
            check_number(name, count, least=1, whole=True)
        for name, share in (("decay", decay), ("trace", trace)):
            check_number(name, share, least=0, below=1)
        super().__init__()
        self.inputs, self.size, self.stream, self.decay, self.trace = inputs, size, stream, decay, trace
        self.initialisations = {  # what `reservoir.weights.initialise` draws
            "W": recurrent or Synapses(0.2),
            "W_in": afferent or Synapses(0.8, density=0.3, inhibition=0.0),
        }
        self.W = nn.Parameter(torch.empty(size, size), requires_grad=False)
        self.W_in = nn.Parameter(torch.empty(size, inputs), requires_grad=False)
        self.reset_parameters()

    def forward(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """The spikes and the traces that input spikes evoke, from rest.

        Args:
            u: (..., time, inputs), spikes as 0 and 1, or currents.

        Returns:
            spikes and traces, both (..., time, size). A spike reaches other units one step later.
        """
        if u.ndim < 2 or u.shape[-1] != self.inputs:
            raise ValueError(f"u must be (..., time, {self.inputs}), got {tuple(u.shape)}")
        self.check_drawn()
        current = u.to(self.W.dtype) @ self.W_in.T
        v = s = r = current.new_zeros(current[..., 0, :].shape)
        spikes, traces = [], []
        for now in current.unbind(-2):
            v = self.decay * v + s @ self.W.T + now
            s = (v >= 1).to(v.dtype)
            v = v * (1 - s)
            r = self.trace * r + s
            spikes.append(s)
            traces.append(r)
        return torch.stack(spikes, -2), torch.stack(traces, -2)
