"""Chaotic time series by fixed-step Runge-Kutta in float64: the Mackey-Glass delay equation and the Lorenz system.

Every step uses only + - × ÷ in a fixed order, so every machine and the browser compute the same bits. For a chaotic
series this matters: after fifty Lyapunov times, a difference in the last bit has grown to the size of the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reservoir.layers.arguments import check_number


def mackey_glass(
    steps: int,
    *,
    tau: float = 17.0,
    beta: float = 0.2,
    gamma: float = 0.1,
    dt: float = 1.0,
    substeps: int = 10,
    history: float | Sequence[float] = 1.2,
    skip: int = 1000,
) -> np.ndarray:
    """dx/dt = β x(t-τ) / (1 + x(t-τ)¹⁰) - γ x(t), after Mackey & Glass (1977). Chaotic for τ ≥ 17.

    Integrated with the classical fourth-order Runge-Kutta method. The delayed value halfway between two steps is
    interpolated with the cubic Hermite polynomial, which keeps the order.

    Args:
        steps: samples to return.
        tau: the delay, a multiple of the step dt / substeps and at least two steps.
        beta, gamma: production and decay rates per unit of time.
        dt: time between two samples.
        substeps: Runge-Kutta steps per sample.
        history: the constant x(t) for t <= 0; a sequence gives several series.
        skip: samples to discard first, while the series approaches its attractor.

    Returns:
        float64 of shape (steps, 1), or (number of histories, steps, 1).
    """
    _check(steps, substeps, skip, tau=tau, beta=beta, gamma=gamma, dt=dt)
    h = dt / substeps
    lag = round(tau / h)
    if lag < 2 or abs(lag * h - tau) > 1e-9 * tau:
        raise ValueError(
            f"tau must be a multiple of dt / substeps = {h:g} and at least twice that, got {tau:g}"
        )

    def production(x: Any) -> Any:
        x2 = x * x  # products, since pow may round differently from one library to another
        x4 = x2 * x2
        return beta * x / (1.0 + x4 * x4 * x2)

    x: Any = np.asarray(history, dtype=np.float64)[()]  # a scalar, or one number per series
    # Oldest first; the present slope is filled in below.
    values, slopes = [x] * (lag + 1), [x * 0.0] * (lag + 1)
    for step in range((skip + steps - 1) * substeps):
        x, then, next_ = values[-1], values[-1 - lag], values[-lag]
        slopes[-1] = production(then) - gamma * x
        # The slope is zero before t = 0 and jumps there.
        arriving = slopes[-lag] if step != lag - 1 else x * 0.0
        half = 0.5 * (then + next_) + 0.125 * h * (slopes[-1 - lag] - arriving)
        middle = production(half)
        k1 = slopes[-1]
        k2 = middle - gamma * (x + 0.5 * h * k1)
        k3 = middle - gamma * (x + 0.5 * h * k2)
        k4 = production(next_) - gamma * (x + h * k3)
        values.append(x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
        slopes.append(x * 0.0)
    samples = values[lag::substeps][skip : skip + steps]
    return np.moveaxis(np.array(samples)[..., None], 0, -2)


def lorenz(
    steps: int,
    *,
    sigma: float = 10.0,
    rho: float = 28.0,
    beta: float = 8.0 / 3.0,
    dt: float = 0.02,
    substeps: int = 4,
    start: Sequence[float] | np.ndarray = (1.0, 1.0, 1.0),
    skip: int = 1000,
) -> np.ndarray:
    """dx/dt = σ (y - x), dy/dt = x (ρ - z) - y, dz/dt = x y - β z, after Lorenz (1963).

    Integrated with the classical fourth-order Runge-Kutta method.

    Args:
        steps: samples to return.
        sigma, rho, beta: Lorenz used 10, 28 and 8/3.
        dt: time between two samples.
        substeps: Runge-Kutta steps per sample.
        start: initial x, y and z, (3,), or (series, 3).
        skip: samples to discard first, while the series approaches its attractor.

    Returns:
        float64 of shape (steps, 3), or (series, steps, 3).
    """
    _check(steps, substeps, skip, sigma=sigma, rho=rho, beta=beta, dt=dt)
    start = np.asarray(start, dtype=np.float64)
    if start.shape[-1:] != (3,):
        raise ValueError(f"start must hold x, y and z, got the shape {start.shape}")
    h = dt / substeps
    # A single series uses Python floats: numpy takes as long for one number as for a hundred.
    state = tuple(start.tolist()) if start.ndim == 1 else tuple(start[..., i] for i in range(3))

    def slope(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
        return sigma * (y - x), x * (rho - z) - y, x * y - beta * z

    def ahead(state: Sequence[Any], slopes: Sequence[Any], h: float) -> tuple[Any, Any, Any]:
        return state[0] + h * slopes[0], state[1] + h * slopes[1], state[2] + h * slopes[2]

    samples = []
    for sample in range(skip + steps):
        if sample >= skip:
            samples.append(state)
        for _ in range(substeps):
            k1 = slope(*state)
            k2 = slope(*ahead(state, k1, 0.5 * h))
            k3 = slope(*ahead(state, k2, 0.5 * h))
            k4 = slope(*ahead(state, k3, h))
            total = tuple(a + 2.0 * b + 2.0 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
            state = ahead(state, total, h / 6.0)
    return np.moveaxis(np.array(samples), 1, -1).swapaxes(0, -2) if start.ndim > 1 else np.array(samples)


def _check(steps: int, substeps: int, skip: int, **numbers: float) -> None:
    for name, value, least in (("steps", steps, 1), ("substeps", substeps, 1), ("skip", skip, 0)):
        check_number(name, value, least=least, whole=True)
    for name, number in numbers.items():
        check_number(name, number)
