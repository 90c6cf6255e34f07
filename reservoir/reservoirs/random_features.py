"""Random features: maps that are drawn from a seed and not trained, each with the kernel that it approximates; and
the linear readouts of a reservoir.

The mean product of two inputs' features tends to a fixed function of the two inputs, a kernel, as the number of
features grows. So each map computes its features (`forward`) and its limit (`kernel`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_choice, check_number
from reservoir.weights.initialisation import (
    Initialisation,
    Normal,
    Orthogonal,
    SignedConstant,
    SparseSign,
    Uniform,
)
from reservoir.weights.naming import owned
from reservoir.weights.origins import Seeded, draw_into

ProjectionKind = Literal["gaussian", "sign", "sparse", "orthogonal"]


def entries(kind: ProjectionKind, d_in: int, n_features: int) -> Initialisation:
    """A matrix whose entries have mean 0 and variance 1.

    Args:
        kind: "gaussian": nearly normal; "sign": plus or minus one; "sparse": two thirds zeros, the rest ±√3
            (Achlioptas 2003); "orthogonal": rows at right angles to one another, or columns where those are fewer.
        d_in, n_features: columns and rows.

    Raises:
        ValueError: there is no such kind.
    """
    check_choice("kind", kind, get_args(ProjectionKind))
    kinds = {
        "gaussian": Normal(1.0),
        "sign": SignedConstant(gain=math.sqrt(d_in)),
        "sparse": SparseSign(),
        "orthogonal": Orthogonal(gain=math.sqrt(max(d_in, n_features))),
    }
    return kinds[kind]


class RandomFeatures(nn.Module):
    """What all maps share: a matrix, and a bias where there is one, drawn from a seed and frozen from the start.

    Args:
        d_in: numbers in an input.
        n_features: numbers that come out.
        seed: in [0, 2**64).
        stream: name of the matrix's random stream; the bias has `<stream>.bias`. The rows of a map are the first
            rows of every wider map of the same kind, seed and name, unless they are orthogonal.
        weight, bias: what to draw. They are parameters that do not move, and `report` knows where they come from.
    """

    weight: nn.Parameter
    bias: nn.Parameter

    def __init__(
        self,
        d_in: int,
        n_features: int,
        *,
        seed: int,
        stream: str,
        weight: Initialisation,
        bias: Initialisation | None = None,
    ):
        super().__init__()
        for name, value in (("d_in", d_in), ("n_features", n_features)):
            check_number(name, value, least=1, whole=True)
        self.stream, self.n_features = stream, n_features
        drawn = {"weight": weight} | ({} if bias is None else {"bias": bias})
        for name, shape in (("weight", (n_features, d_in)), ("bias", (n_features,))):
            empty = nn.Parameter(torch.empty(shape), requires_grad=False) if name in drawn else None
            self.register_parameter(name, empty)
        for item in owned(self):
            draw_into(item, Seeded(seed, item.stream, drawn[item.attribute]))

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """(n, d_in), (m, d_in) -> (n, m): what `self(x) @ self(y).T` tends to for many Gaussian features."""
        raise NotImplementedError


class RandomProjection(RandomFeatures):
    """`W x / √n_features`: lengths and angles, nearly as they were (Johnson & Lindenstrauss 1984).

    Args:
        d_in, n_features, seed, stream: as of `RandomFeatures`.
        kind: how the entries of W are drawn, see `entries`.
    """

    def __init__(
        self,
        d_in: int,
        n_features: int,
        *,
        seed: int,
        kind: ProjectionKind = "gaussian",
        stream: str = "projection",
    ):
        super().__init__(d_in, n_features, seed=seed, stream=stream, weight=entries(kind, d_in, n_features))

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., n_features)."""
        return x @ self.weight.T / math.sqrt(self.n_features)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """The dot product, (n, d_in), (m, d_in) -> (n, m)."""
        return x @ y.T


class FourierFeatures(RandomFeatures):
    """`√(2 / n_features) cos(W x + b)`: random kitchen sinks for exp(-γ |x - y|²) (Rahimi & Recht 2008).

    Their W is Gaussian with variance 2γ, and ours nearly so (`reservoir.weights.draws.normal`): where x and y differ in
    a dozen coordinates or more, that is hard to see in the kernel.

    Args:
        d_in, n_features, seed, stream: as of `RandomFeatures`.
        gamma: γ, one over the square of a length: larger is more local.
    """

    def __init__(
        self, d_in: int, n_features: int, *, seed: int, gamma: float = 1.0, stream: str = "kitchen-sinks"
    ):
        check_number("gamma", gamma, above=0)
        self.gamma = gamma
        weight, bias = Normal(math.sqrt(2 * gamma)), Uniform(math.pi)
        super().__init__(d_in, n_features, seed=seed, stream=stream, weight=weight, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., n_features)."""
        return math.sqrt(2 / self.n_features) * torch.cos(x @ self.weight.T + self.bias)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """(n, d_in), (m, d_in) -> (n, m): exp(-γ |x - y|²)."""
        return torch.exp(-self.gamma * torch.cdist(x, y).square())


class ReLUFeatures(RandomFeatures):
    """`√(2 / n_features) max(0, W x)`: a hidden layer as it starts, whose kernel is the arc-cosine of order one.

    Args:
        d_in, n_features, seed, stream: as of `RandomFeatures`.
    """

    def __init__(self, d_in: int, n_features: int, *, seed: int, stream: str = "hidden"):
        super().__init__(d_in, n_features, seed=seed, stream=stream, weight=Normal(1.0))

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., n_features)."""
        return math.sqrt(2 / self.n_features) * torch.relu(x @ self.weight.T)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """(n, d_in), (m, d_in) -> (n, m): |x| |y| (sin θ + (π - θ) cos θ) / π, with θ the angle between x and y.

        That is the arc-cosine kernel of order 1 (Cho & Saul 2009).
        """
        lengths, cosine = _angles(x, y)
        theta = torch.arccos(cosine)
        return lengths * (torch.sin(theta) + (math.pi - theta) * cosine) / math.pi


class ThresholdFeatures(RandomFeatures):
    """`√(2 / n_features) [W x > 0]`: units that fire or do not, the hidden layer of the first perceptrons.

    Args:
        d_in, n_features, seed, stream: as of `RandomFeatures`.
        kind: how the entries of W are drawn, see `entries`. "sparse" is the nearest to random masks: each unit
            sees a third of the input, and counts it for or against.
    """

    def __init__(
        self,
        d_in: int,
        n_features: int,
        *,
        seed: int,
        kind: ProjectionKind = "sparse",
        stream: str = "associators",
    ):
        super().__init__(d_in, n_features, seed=seed, stream=stream, weight=entries(kind, d_in, n_features))

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., n_features)."""
        return math.sqrt(2 / self.n_features) * (x @ self.weight.T > 0).to(x.dtype)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """(n, d_in), (m, d_in) -> (n, m): 1 - θ / π, with θ the angle between x and y (Cho & Saul 2009, order 0)."""
        return 1 - torch.arccos(_angles(x, y)[1]) / math.pi


def _angles(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:  # (n, d), (m, d) -> two of (n, m)
    """|x| |y|, and the cosine of the angle between x and y."""
    lengths = x.norm(dim=-1)[:, None] * y.norm(dim=-1)[None, :]
    return lengths, (x @ y.T / lengths.clamp(min=torch.finfo(x.dtype).tiny)).clamp(-1, 1)


@dataclass(frozen=True)
class Readout:
    """`y = V x + c`: all that is trained in an echo state network.

    Args:
        weight: V, (outputs, size).
        bias: c, (outputs,).
    """

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """(..., size) -> (..., outputs)."""
        return x @ self.weight.T + self.bias


def ridge(x: Tensor, y: Tensor, *, regularisation: float) -> Readout:
    """The V and c that minimise Σ_t ‖V x_t + c - y_t‖² + regularisation · ‖V‖², in closed form.

    The sum goes over samples, so that the same regularisation weighs less the more data there is, as in scikit-learn;
    the intercept c is not regularised. Centring removes it, and a Cholesky factor of XᵀX + λI solves what is left.

    Args:
        x: states, (..., samples, size); leading dimensions are samples as well.
        y: targets, (..., samples, outputs).
        regularisation: λ, positive. Columns of states that nearly repeat one another make XᵀX singular to 16 digits,
            which is why zero is refused.

    Raises:
        ValueError: the shapes do not fit, or λ is not positive or too small for these states.
    """
    if x.shape[:-1] != y.shape[:-1]:
        raise ValueError(
            f"x and y must have a target for each state, got {tuple(x.shape[:-1])} states"
            f" and {tuple(y.shape[:-1])} targets"
        )
    check_number("regularisation", regularisation, above=0, why="1e-8 is a small one")
    x, y = x.reshape(-1, x.shape[-1]), y.to(x).reshape(-1, y.shape[-1])
    x_mean, y_mean = x.mean(0), y.mean(0)
    x, y = x - x_mean, y - y_mean
    gram = x.T @ x
    gram.diagonal().add_(regularisation)
    factor, failed = torch.linalg.cholesky_ex(gram)
    if failed:
        raise ValueError(
            f"regularisation must be larger, got {regularisation!r}:"
            f" XᵀX + λI is singular in the arithmetic of {x.dtype}"
        )
    weight = torch.cholesky_solve(x.T @ y, factor).T  # (outputs, size)
    return Readout(weight, y_mean - weight @ x_mean)


def free_run(reservoir: Any, readout: Readout, x: Tensor, steps: int) -> Tensor:
    """Forecast `steps` inputs: each prediction of the readout is the reservoir's next input.

    Args:
        reservoir: an `EchoState`, or anything else with a `step(x, u)` that gives the next state.
        readout: trained to give the input that comes next.
        x: the state after the last true input, (..., size).
        steps: how many inputs to forecast.

    Returns:
        (..., steps, outputs), the first of them read from `x` itself.
    """
    check_number("steps", steps, least=1, whole=True)
    forecast = []
    for _ in range(steps):
        forecast.append(readout(x))
        x = reservoir.step(x, forecast[-1])
    return torch.stack(forecast, -2)


def memory_curve(
    states: Tensor, u: Tensor, *, delays: Iterable[int], regularisation: float = 1e-9, tested: float = 0.5
) -> Tensor:
    """How much of the input `k` steps ago a linear readout finds in a state, for each delay k (Jaeger 2002).

    One ridge readout for each delay is fitted to the first stretch. What is returned is the squared correlation of
    what it says on the rest with the true input: 1 for perfect recall. The part that was not fitted is what counts,
    for in the fitted one every readout recalls a share of about size / samples by luck.

    Args:
        states: (time, size), one state for each input, without a washout: those without a past of `max(delays)`
            steps are left out here.
        u: the inputs that drove them, (time,), independent of one another.
        delays: the k to ask for; the sum of the curve over 1, 2, … is the memory capacity.
        regularisation: λ of the readouts, as in `ridge`.
        tested: the share of steps, the last ones, that is not fitted.

    Returns:
        (number of delays,).
    """
    check_number("tested", tested, above=0, below=1)
    delays = list(delays)
    longest = max(delays)
    u = u.reshape(-1).to(states)
    if len(u) != len(states) or min(delays) < 0 or len(u) < 4 * (longest + 1):
        raise ValueError(
            f"states and u must be as long as each other and at least four times the longest delay, {longest};"
            f" got {len(states)} and {len(u)} steps"
        )
    targets = torch.stack([u[longest - k : len(u) - k] for k in delays], 1)  # (time - longest, delays)
    states = states[longest:]
    split = round(len(states) * (1 - tested))
    readout = ridge(states[:split], targets[:split], regularisation=regularisation)
    found, true = readout(states[split:]), targets[split:]
    found, true = found - found.mean(0), true - true.mean(0)
    return (found * true).sum(0).square() / (found.square().sum(0) * true.square().sum(0)).clamp_min(1e-300)
