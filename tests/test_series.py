"""Series: the order of the integrator, an exact solution, an independent integrator, one series or several."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from reservoir.datasets import lorenz, mackey_glass


@pytest.mark.parametrize("series", [mackey_glass, lorenz])
def test_halving_the_step_divides_the_error_by_sixteen(series):
    fine = series(20, substeps=160, skip=0)[-1]
    coarse, half = (np.abs(series(20, substeps=n, skip=0)[-1] - fine).max() for n in (10, 20))
    assert 14 < coarse / half < 18


def test_lorenz_is_what_scipy_integrates():
    times = np.arange(100) * 0.02

    def slope(_, state):
        x, y, z = state
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    theirs = solve_ivp(slope, (0, times[-1]), (1, 1, 1), t_eval=times, rtol=1e-11, atol=1e-11).y.T
    assert np.abs(lorenz(100, skip=0, substeps=40) - theirs).max() < 1e-6


def test_mackey_glass_within_its_first_delay_is_solved_by_hand():
    """Until t = τ the delayed value is the constant history, and the equation is linear."""
    t, history = np.arange(17.0), 0.5
    level = 0.2 * history / (1 + history**10) / 0.1
    by_hand = level + (history - level) * np.exp(-0.1 * t)
    assert np.abs(mackey_glass(17, history=history, skip=0)[:, 0] - by_hand).max() < 1e-8


def test_a_fixed_point_stays():
    assert np.abs(mackey_glass(50, history=1.0, skip=0) - 1).max() < 1e-14  # β/2 = γ
    assert np.abs(lorenz(50, start=(0, 0, 0), skip=0)).max() == 0


@pytest.mark.parametrize(
    "several, one, of",
    [(mackey_glass, "history", [1.2, 0.9, 0.4]), (lorenz, "start", [[1, 1, 1], [2.0, -1, 20]])],
)
def test_several_series_are_each_by_itself_bit_for_bit(several, one, of):
    together = several(40, skip=30, **{one: of})
    for row, start in zip(together, of, strict=True):
        assert np.array_equal(row, several(40, skip=30, **{one: start}))


@pytest.mark.parametrize("series", [mackey_glass, lorenz])
def test_what_is_skipped_is_the_beginning(series):
    assert np.array_equal(series(30, skip=20), series(50, skip=0)[20:])


@pytest.mark.parametrize(
    "wrong, named",
    [
        (lambda: mackey_glass(5, tau=17.03), "tau must be a multiple of dt / substeps = 0.1"),
        (lambda: mackey_glass(0), "steps must be at least 1, got 0"),
        (lambda: lorenz(5, start=(1, 2)), "start must hold x, y and z"),
        (lambda: lorenz(5, substeps=0), "substeps must be at least 1, got 0"),
    ],
)
def test_a_wrong_argument_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        wrong()
