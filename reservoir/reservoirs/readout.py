"""Linear readouts of a reservoir: ridge regression in closed form, the memory curve, and free-running forecasts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from reservoir.layers.arguments import check_number


class Reservoir(Protocol):
    """Whatever turns a state and an input into the next state."""

    def step(self, x: Tensor, u: Tensor) -> Tensor:
        """(..., size), (..., inputs) -> (..., size)."""
        ...


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


def free_run(reservoir: Reservoir, readout: Readout, x: Tensor, steps: int) -> Tensor:
    """Forecast `steps` inputs: each prediction of the readout is the reservoir's next input.

    Args:
        reservoir: `EchoState` or `DeepEchoState`, or anything else with a `step`.
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
