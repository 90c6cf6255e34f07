"""Checks of chapter 2's exercises."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from reservoir.page.checks.verdict import Mistake, call, exercise


def _noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _shaped(value: object, shape: tuple[int, ...], what: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise Mistake(f"{what} should be a tensor, but it is a {type(value).__name__}")
    if value.shape != shape:
        raise Mistake(f"{what} has the shape {tuple(value.shape)}, not {shape}")
    return value.double()


def _matches(mistakes: dict[str, Tensor], found: Tensor) -> str | None:
    """The name of the mistake that gives what was found."""
    return next((name for name, wrong in mistakes.items() if torch.allclose(found, wrong, atol=1e-6)), None)


@exercise("ex-scale-radius", "scaled")
def scaled_to_radius(written: Callable[[Tensor, float], Tensor]) -> str:
    """Exercise of chapter 2: `scaled(W, radius)`, W with another spectral radius."""
    for n, radius in ((30, 0.9), (12, 1.3)):
        W = _noise(n, n, seed=n)
        eigenvalues = torch.linalg.eigvals(W)
        rho = eigenvalues.abs().max()
        found = _shaped(call(written, W.clone(), radius), (n, n), "the scaled matrix")
        if torch.allclose(found, W * (radius / rho), atol=1e-6):
            continue
        mistakes = {
            "you scale by the largest singular value, which says how far one step can stretch a vector; the spectral"
            " radius is the largest absolute eigenvalue": W * (radius / torch.linalg.matrix_norm(W, 2)),
            "you multiply by the radius and forget to divide by the one that W has": W * radius,
            "you give W the spectral radius 1; multiply by the one that was asked for": W / rho,
            "you divide by the radius that was asked for; it multiplies": W / (rho * radius),
            "you take the largest real part of an eigenvalue; it is the absolute value that counts, since complex"
            " eigenvalues turn and stretch": W * (radius / eigenvalues.real.max()),
            "you scale by the largest entry; the spectral radius is the largest absolute eigenvalue":
                W * (radius / W.abs().max()),
            "you scale by the Frobenius norm; the spectral radius is the largest absolute eigenvalue":
                W * (radius / W.norm()),
        }  # fmt: skip
        if name := _matches(mistakes, found):
            raise Mistake(name)
        got = torch.linalg.eigvals(found).abs().max().item() if found.isfinite().all() else float("nan")
        raise Mistake(f"for a radius of {radius} your matrix has the spectral radius {got:.3f}")
    return "one division, and every eigenvalue moves along its ray"


@exercise("ex-leak-side", "update")
def leaky_update(written: Callable[..., Tensor]) -> str:
    """Exercise of chapter 2: `update(x, u, W, W_in, b, a)`, the next state of a leaky reservoir."""
    for n, inputs, a in ((6, 2, 0.3), (4, 4, 0.8)):
        x, u, W, W_in, b = (
            _noise(*shape, seed=i) for i, shape in enumerate([(n,), (inputs,), (n, n), (n, inputs), (n,)])
        )
        drive = W @ x + W_in @ u + b
        found = _shaped(call(written, x, u, W, W_in, b, a), (n,), "the state")
        if torch.allclose(found, (1 - a) * x + a * torch.tanh(drive), atol=1e-6):
            continue
        mistakes = {
            "your leak is on the wrong side: a is the share that is new, and 1 - a what is kept":
                a * x + (1 - a) * torch.tanh(drive),
            "you leave the leak out: a share 1 - a of the old state is kept": torch.tanh(drive),
            "you put the leak inside the tanh; here it stands outside": torch.tanh((1 - a) * x + a * drive),
            "you keep the whole old state; only the share 1 - a of it stays": x + a * torch.tanh(drive),
            "you forget to weigh the new by a": (1 - a) * x + torch.tanh(drive),
            "the tanh is missing": (1 - a) * x + a * drive,
            "the bias b is missing": (1 - a) * x + a * torch.tanh(W @ x + W_in @ u),
            "the input is missing": (1 - a) * x + a * torch.tanh(W @ x + b),
            "you multiply by W from the wrong side: it is W @ x":
                (1 - a) * x + a * torch.tanh(x @ W + W_in @ u + b),
            "the bias stands outside the tanh": (1 - a) * x + a * (torch.tanh(W @ x + W_in @ u) + b),
        }  # fmt: skip
        if name := _matches(mistakes, found):
            raise Mistake(name)
        wrong = (found - ((1 - a) * x + a * torch.tanh(drive))).abs().max()
        raise Mistake(
            f"for a = {a} your state is off by up to {wrong:.3f}; compare it term by term with the equation"
        )
    return "a share is new, the rest is what was"


@exercise("ex-washout", "pairs")
def readout_pairs(written: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> str:
    """Exercise of chapter 2: `pairs(states, series, washout)`, what a one-step readout is fitted to."""
    for time, washout in ((12, 4), (9, 0)):
        # State t holds t and target t holds 100 + t, so that what was taken can be read off.
        states = torch.arange(float(time))[:, None].repeat(1, 3)
        series = 100 + torch.arange(float(time))[:, None]
        answer = call(written, states.clone(), series.clone(), washout)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise Mistake("return two things: the states and their targets")
        if not all(isinstance(part, Tensor) and part.ndim == 2 for part in answer):
            raise Mistake(
                "both parts should be tensors of two dimensions, (samples, units) and (samples, features)"
            )
        if len(answer[0]) != len(answer[1]):
            raise Mistake(
                f"you return {len(answer[0])} states and {len(answer[1])} targets; each state needs one"
            )
        if not len(answer[0]):
            raise Mistake("nothing is left to fit")
        first, ahead = answer[0][:, 0], answer[1][:, 0] - 100 - answer[0][:, 0]
        if (ahead == 0).all():
            raise Mistake(
                "your targets are the present, which the state has just seen; shift them by one step"
            )
        if (ahead == -1).all():
            raise Mistake("your targets are the past: state t should say what comes at t + 1")
        if not (ahead == 1).all():
            raise Mistake(
                f"state {int(first[0])} gets the target {int(answer[1][0, 0] - 100)}; it should be the next"
            )
        if washout and first[0] == 0:
            raise Mistake(f"the washout is forgotten: the first {washout} states still depend on the start")
        if first[0] != washout:
            raise Mistake(
                f"with a washout of {washout} the first state should be number {washout}, not {int(first[0])}"
            )
        if len(first) != time - 1 - washout:
            raise Mistake(f"you use {len(first)} states; {time - 1 - washout} of them have a next input")
    return "each state is fitted to what comes after it, and the start is left out"
