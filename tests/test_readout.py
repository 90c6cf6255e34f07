"""Readouts: scikit-learn's ridge, what memory can and cannot be, forecasts that feed themselves."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from small import noise

from reservoir.reservoirs import EchoState, free_run, memory_curve, ridge
from reservoir.weights import initialise


@pytest.mark.parametrize("regularisation", [1e-8, 1.0, 1e3])
@pytest.mark.parametrize("outputs", [1, 3])
def test_scikit_learn_finds_the_same_readout(regularisation, outputs):
    x, y = noise(200, 12) + 3.0, noise(200, outputs, seed=1)
    theirs = Ridge(alpha=regularisation).fit(x.numpy(), y.numpy())
    ours = ridge(x, y, regularisation=regularisation)
    assert np.allclose(ours.weight, theirs.coef_.reshape(outputs, -1), rtol=0, atol=1e-9)
    assert np.allclose(ours.bias, theirs.intercept_, rtol=0, atol=1e-9)


def test_leading_dimensions_are_samples():
    x, y = noise(3, 40, 5), noise(3, 40, 2, seed=1)
    whole, flat = ridge(x, y, regularisation=0.1), ridge(x.flatten(0, 1), y.flatten(0, 1), regularisation=0.1)
    assert torch.equal(whole.weight, flat.weight)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="a target for each state"):
        ridge(noise(5, 2), noise(4, 1), regularisation=1.0)
    with pytest.raises(ValueError, match="regularisation must be positive, got 0"):
        ridge(noise(5, 2), noise(5, 1), regularisation=0.0)
    twice = noise(50, 1).expand(-1, 40)
    with pytest.raises(ValueError, match="regularisation must be larger, got 1e-300"):
        ridge(twice, noise(50, 1), regularisation=1e-300)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        free_run(None, None, noise(3), 0)


class Shift:
    """A reservoir that remembers its last `n` inputs and does nothing else to them."""

    def __init__(self, n: int):
        self.n = n

    def step(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return torch.cat([u, x[..., :-1]], -1)

    def __call__(self, u: torch.Tensor) -> torch.Tensor:
        x, states = torch.zeros(self.n, dtype=u.dtype), []
        for now in u:
            x = self.step(x, now)
            states.append(x)
        return torch.stack(states)


def test_a_shift_register_remembers_its_length_and_not_a_step_more():
    u = noise(2000, 1)
    curve = memory_curve(Shift(10)(u), u, delays=range(20))
    assert curve[:10].min() > 1 - 1e-9 and curve[10:].max() < 0.02


def test_noise_remembers_nothing():
    """In the part that was fitted it would seem to: a share of size / samples at every delay."""
    assert memory_curve(noise(2000, 50, seed=1), noise(2000), delays=range(1, 20)).max() < 0.02


def test_memory_wants_a_past_that_is_long_enough():
    with pytest.raises(ValueError, match="four times the longest delay, 30"):
        memory_curve(noise(100, 5), noise(100), delays=range(31))
    with pytest.raises(ValueError, match="99 steps"):
        memory_curve(noise(100, 5), noise(99), delays=[1])


def test_a_free_run_goes_on_where_the_input_ends():
    """A sine is what a linear recurrence of two terms makes, so two remembered inputs forecast it for ever."""
    t = torch.arange(400, dtype=torch.float64)
    u = torch.sin(0.3 * t)[:, None]
    shift = Shift(2)
    states = shift(u)
    readout = ridge(states[5:199], u[6:200], regularisation=1e-12)
    forecast = free_run(shift, readout, states[199], 100)
    assert torch.allclose(forecast, u[200:300], atol=1e-6)


def test_several_forecasts_are_one_batch():
    echo = initialise(EchoState(1, 20, stream="e"), seed=0)
    u = noise(100, 1)
    states = echo(u)
    readout = ridge(states[:-1], u[1:], regularisation=1.0)
    both = free_run(echo, readout, states[[50, 80]], 10)
    assert both.shape == (2, 10, 1)
    assert torch.allclose(both[1], free_run(echo, readout, states[80], 10), atol=1e-12)
