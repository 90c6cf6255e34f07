"""Checks of chapter 2's exercises."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from reservoir_book.checks.verdict import call, compare, exercise, refuse


def _noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@exercise("ex-scale-radius", "scaled")
def scaled_to_radius(written: Callable[[Tensor, float], Tensor]) -> str:
    """Exercise of chapter 2: `scaled(W, radius)`, W with another spectral radius."""

    def rho(W: Tensor) -> Tensor:
        return torch.linalg.eigvals(W).abs().max()

    def otherwise(found: Tensor, expected: Tensor, W: Tensor, radius: float) -> str:
        got = rho(found).item() if found.isfinite().all() else float("nan")
        return f"for a radius of {radius} your matrix has the spectral radius {got:.3f}"

    cases = [(_noise(30, 30, seed=30), 0.9), (_noise(12, 12, seed=12), 1.3)]
    return compare(written, lambda W, radius: W * (radius / rho(W)), cases, {
        "you scale by the largest singular value, which says how far one step can stretch a vector; the spectral"
        " radius is the largest absolute eigenvalue": lambda W, radius: W * (radius / torch.linalg.matrix_norm(W, 2)),
        "you multiply by the radius and forget to divide by the one that W has": lambda W, radius: W * radius,
        "you give W the spectral radius 1; multiply by the one that was asked for": lambda W, radius: W / rho(W),
        "you divide by the radius that was asked for; it multiplies": lambda W, radius: W / (rho(W) * radius),
        "you take the largest real part of an eigenvalue; it is the absolute value that counts, since complex"
        " eigenvalues turn and stretch": lambda W, radius: W * (radius / torch.linalg.eigvals(W).real.max()),
        "you scale by the largest entry; the spectral radius is the largest absolute eigenvalue":
            lambda W, radius: W * (radius / W.abs().max()),
        "you scale by the Frobenius norm; the spectral radius is the largest absolute eigenvalue":
            lambda W, radius: W * (radius / W.norm()),
    }, praise="one division scales every eigenvalue by the same factor", otherwise=otherwise)  # fmt: skip


@exercise("ex-leak-side", "update")
def leaky_update(written: Callable[..., Tensor]) -> str:
    """Exercise of chapter 2: `update(x, u, W, W_in, b, a)`, the next state of a leaky reservoir."""

    def drawn(n: int, inputs: int, a: float) -> tuple:
        return *(_noise(*s, seed=i) for i, s in enumerate([(n,), (inputs,), (n, n), (n, inputs), (n,)])), a

    def update(
        kept=lambda a: 1 - a, new=lambda a: a, drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + W_in @ u + b)
    ):
        return lambda x, u, W, W_in, b, a: kept(a) * x + new(a) * drive(x, u, W, W_in, b)

    right = update()
    return compare(written, right, [drawn(6, 2, 0.3), drawn(4, 4, 0.8)], {
        "your leak is on the wrong side: a is the share that is new, and 1 - a what is kept":
            update(kept=lambda a: a, new=lambda a: 1 - a),
        "you leave the leak out: a share 1 - a of the old state is kept": update(lambda a: 0, lambda a: 1),
        "you put the leak inside the tanh; here it stands outside":
            lambda x, u, W, W_in, b, a: torch.tanh((1 - a) * x + a * (W @ x + W_in @ u + b)),
        "you keep the whole old state; only the share 1 - a of it stays": update(kept=lambda a: 1),
        "you forget to weigh the new by a": update(new=lambda a: 1),
        "the tanh is missing": update(drive=lambda x, u, W, W_in, b: W @ x + W_in @ u + b),
        "the bias b is missing": update(drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + W_in @ u)),
        "the input is missing": update(drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + b)),
        "you multiply by W from the wrong side: it is W @ x":
            update(drive=lambda x, u, W, W_in, b: torch.tanh(x @ W + W_in @ u + b)),
        "the bias stands outside the tanh": update(drive=lambda x, u, W, W_in, b: torch.tanh(W @ x + W_in @ u) + b),
    }, praise="a share a of the state is new, the rest is the old state", otherwise=lambda found, expected, *case:
           f"for a = {case[-1]} your state is off by up to {(found - expected).abs().max():.3f}; compare it term by"
           " term with the equation")  # fmt: skip


@exercise("ex-washout", "pairs")
def readout_pairs(written: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> str:
    """Exercise of chapter 2: `pairs(states, series, washout)`, what a one-step readout is fitted to."""
    for time, washout in ((12, 4), (9, 0)):
        # State t holds t and target t holds 100 + t, so that what was taken can be read off.
        states = torch.arange(float(time))[:, None].repeat(1, 3)
        series = 100 + torch.arange(float(time))[:, None]
        answer = call(written, states.clone(), series.clone(), washout)
        two = isinstance(answer, tuple | list) and len(answer) == 2
        refuse({"return two things: the states and their targets": not two})
        found, targets = answer
        both = all(isinstance(part, Tensor) and part.ndim == 2 for part in answer)
        refuse(
            {
                "both parts should be tensors of two dimensions, (samples, units) and (samples, features)": not both
            }
        )
        refuse({
            f"you return {len(found)} states and {len(targets)} targets; each state needs one":
                len(found) != len(targets),
            "nothing is left to fit": not len(found),
        })  # fmt: skip
        first, asked = int(found[0, 0]), time - 1 - washout
        ahead = targets[:, 0] - 100 - found[:, 0]
        refuse({
            "your targets are the present, which the state has just seen; shift them by one step": (ahead == 0).all(),
            "your targets are the past: state t should say what comes at t + 1": (ahead == -1).all(),
            f"state {first} gets the target {int(targets[0, 0] - 100)}; it should be the next": (ahead != 1).any(),
            f"the washout is forgotten: the first {washout} states still depend on the start": washout and first == 0,
            f"with a washout of {washout} the first state should be number {washout}, not {first}": first != washout,
            f"you use {len(found)} states; {asked} of them have a next input": len(found) != asked,
        })  # fmt: skip
    return "each state is fitted to what comes after it, and the start is left out"
