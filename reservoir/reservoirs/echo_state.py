"""Reservoirs that run over time: echo state networks, and a liquid state machine of spiking units.

The update of an echo state network and its names are those of the field: `x ← (1-a) x + a tanh(W x + W_in u + b)`
(Jaeger 2001; with the leak `a` outside the tanh as in Lukoševičius 2012). Nothing here is trained; `ridge` in
`reservoir.reservoirs.random_features` finds what reads it.

For a liquid, Maass, Natschläger & Markram (2002) used detailed models of neurons and synapses in a column of cortex.
`Liquid` is their idea in miniature: leaky integrate-and-fire units in discrete time, four of five excitatory, the
fifth inhibitory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_number
from reservoir.layers.linear import Undrawn
from reservoir.weights import draws
from reservoir.weights.draws import Stream
from reservoir.weights.initialisation import Initialisation, Uniform

SQUARINGS = 24
RADIUS_BITS = 16


def spectral_radius(matrix: Tensor) -> float:
    """The largest absolute value of an eigenvalue of a square matrix, without computing any eigenvalue.

    It is the limit of ‖Mᵐ‖^(1/m) (Gelfand's formula), here at m = 2^24, reached by squaring 24 times. A power
    iteration would not do: the leading eigenvalues of a random real matrix are mostly a complex pair, whose vector
    turns for ever. The value is too large by at most log(κ √n) / 2^24 of itself, where κ is how far from orthogonal
    the eigenvectors are: a millionth for κ √n up to ten million.

    Args:
        matrix: (n, n), of any real type; the sums are float64.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.numel():
        raise ValueError(f"matrix must be square and not empty, got the shape {tuple(matrix.shape)}")
    power, log2 = matrix.double(), 0.0  # the matrix to the power of 2^k is `power` times 2^(log2 · 2^k)
    for k in range(SQUARINGS + 1):
        norm = math.sqrt(power.square().sum().item())
        if norm == 0.0 or not math.isfinite(norm):
            return norm
        exponent = math.frexp(norm)[1]
        log2 += math.ldexp(exponent, -k)
        power = power * math.ldexp(1.0, -exponent)  # a power of two: nothing is rounded
        if k < SQUARINGS:
            power = power @ power
    return 2.0 ** (log2 + math.ldexp(math.log2(math.ldexp(norm, -exponent)), -SQUARINGS))


@dataclass(frozen=True)
class SpectralRadius(Initialisation):
    """Uniform and dense or sparse, scaled so that the largest absolute eigenvalue is `radius`.

    The bits must not depend on a linear algebra library, whose last digits differ. So the matrix is drawn with bound 1,
    its spectral radius is computed and rounded to 16 significant bits, and only that number enters: it becomes the
    one float32 scale of a uniform draw. Two libraries would have to disagree by more than one part in 10^12, and on
    the two sides of a boundary between two of those numbers, to give different weights. The price is that the
    spectral radius is met to 1 part in 100,000 and no better.

    Args:
        radius: the spectral radius, positive.
        density: the share of weights that are not zero, in (0, 1], each by its own odds.
    """

    radius: float
    density: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("radius", self.radius, above=0)
        check_number("density", self.density, above=0, most=1)

    def _draw(self, stream: Stream, shape: torch.Size, blocks: int, device: torch.device) -> Tensor:
        if len(shape) != 2 or shape[0] // blocks != shape[1]:
            raise ValueError(f"SpectralRadius needs square matrices, got the shape {tuple(shape)}")
        streams = [stream] if blocks == 1 else [stream.sub(number) for number in range(blocks)]
        drawn = []
        for part in streams:
            bound = self.radius / unit_radius(part, shape[1], self.density) * self._enlargement
            drawn.append(_sparse(part, shape[1], bound, self.density, device))
        return torch.cat(drawn)


@functools.lru_cache(maxsize=512)
def unit_radius(stream: Stream, n: int, density: float = 1.0) -> float:
    """The spectral radius of the (n, n) matrix that `stream` gives with bound 1, rounded to 16 significant bits."""
    found = spectral_radius(_sparse(stream, n, 1.0, density, "cpu"))
    if found < 1e-6:
        raise ValueError(
            f"density must leave a cycle among the {n} units, but with {density!r} nothing of what {stream} draws"
            " comes back to where it was (all eigenvalues are 0); give a larger density or another seed"
        )
    mantissa, exponent = math.frexp(found)
    return math.ldexp(round(math.ldexp(mantissa, RADIUS_BITS)), exponent - RADIUS_BITS)


def _sparse(stream: Stream, n: int, bound: float, density: float, device: torch.device | str) -> Tensor:
    # (n, n)
    weights = draws.uniform(stream, (n, n), bound=bound, device=device)
    if density < 1:
        kept = stream.sub("kept").words(0, n * n, device=device) < round(density * 2**32)
        weights = weights * kept.view(n, n)
    return weights


class EchoState(Undrawn):
    """A reservoir of `size` units: `x ← (1-a) x + a tanh(W x + W_in u + b)`. None of its weights move.

    Its three tensors are `<stream>.W`, `<stream>.W_in` and `<stream>.b`; `reservoir.weights.initialise` draws them, in
    float32 as every draw of the book, and the sums run in `dtype`.

    Args:
        inputs: features of the input u.
        size: number of units.
        stream: base of the names that the weights are drawn by.
        recurrent: how W is drawn: SpectralRadius(0.9), or Orthogonal(gain=0.9), whose eigenvalues all have that size.
        leak: a in (0, 1], the share of a state that is new at each step; 1 keeps nothing of the old.
        input_scaling: W_in is uniform on [-input_scaling, input_scaling).
        bias_scaling: so is b, with its own bound; 0 for no bias.
        activation: what takes the place of tanh, such as the identity for a linear reservoir.
        dtype: of the sums. Forecasts of chaos and comparisons want float64.
    """

    W: nn.Parameter
    W_in: nn.Parameter
    b: nn.Parameter

    def __init__(
        self,
        inputs: int,
        size: int,
        *,
        stream: str,
        recurrent: Initialisation | None = None,
        leak: float = 1.0,
        input_scaling: float = 1.0,
        bias_scaling: float = 0.0,
        activation: Callable[[Tensor], Tensor] = torch.tanh,
        dtype: torch.dtype = torch.float64,
    ):
        check_number("inputs", inputs, least=1, whole=True)
        check_number("size", size, least=1, whole=True)
        check_number("leak", leak, above=0, most=1, why="1 keeps nothing of the old state")
        super().__init__()
        self.inputs, self.size, self.stream = inputs, size, stream
        self.leak, self.activation = leak, activation
        self.initialisations = {  # what `reservoir.weights.initialise` draws
            "W": recurrent or SpectralRadius(0.9),
            "W_in": Uniform(input_scaling),
            "b": Uniform(bias_scaling),
        }
        for name, shape in (("W", (size, size)), ("W_in", (size, inputs)), ("b", (size,))):
            self.register_parameter(name, nn.Parameter(torch.empty(shape, dtype=dtype), requires_grad=False))
        self.reset_parameters()

    def step(self, x: Tensor, u: Tensor) -> Tensor:
        """One update of the state: (..., size), (..., inputs) -> (..., size)."""
        self.check_drawn()
        return self._update(x, u.to(self.W.dtype) @ self.W_in.T + self.b)

    def forward(self, u: Tensor, *, start: Tensor | None = None, washout: int = 0) -> Tensor:
        """The states that an input drives the reservoir through.

        Args:
            u: (time, inputs) or (batch, time, inputs).
            start: the state before the first input, (size,) or (batch, size); zeros if None.
            washout: how many states to leave out at the beginning, where they still depend on `start`.

        Returns:
            (time - washout, size) or (batch, time - washout, size): state t has seen the inputs up to t, and u[t].
        """
        if u.ndim not in (2, 3) or u.shape[-1] != self.inputs:
            raise ValueError(
                f"u must be (time, {self.inputs}) or (batch, time, {self.inputs}), got {tuple(u.shape)}"
            )
        check_number("washout", washout, least=0, below=u.shape[-2], whole=True, why="a state has to be left")
        self.check_drawn()
        drive = u.to(self.W.dtype) @ self.W_in.T + self.b  # (..., time, size)
        first = drive[..., 0, :]
        x = torch.zeros_like(first) if start is None else start.to(drive).expand_as(first)
        states = []
        for now in drive.unbind(-2):
            x = self._update(x, now)
            states.append(x)
        return torch.stack(states[washout:], -2)

    def _update(self, x: Tensor, drive: Tensor) -> Tensor:
        # Of one state, the product of a matrix and a vector, which a batch of one would not be.
        new = self.activation(torch.addmv(drive, self.W, x) if x.ndim == 1 else drive + x @ self.W.T)
        return new if self.leak == 1 else torch.lerp(x, new, self.leak)


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
        recurrent: how W is drawn.
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
            "W_in": Synapses(0.8, density=0.3, inhibition=0.0),
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
        v = s = r = torch.zeros_like(current[..., 0, :])
        spikes, traces = [], []
        for now in current.unbind(-2):
            v = self.decay * v + s @ self.W.T + now
            s = (v >= 1).to(v.dtype)
            v = v * (1 - s)
            r = self.trace * r + s
            spikes.append(s)
            traces.append(r)
        return torch.stack(spikes, -2), torch.stack(traces, -2)
