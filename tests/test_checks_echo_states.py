"""Checks of chapter 2's exercises: each likely mistake is refused by its name."""

import pytest
import torch

from reservoir_book import checks

eigvals, norm = torch.linalg.eigvals, torch.linalg.matrix_norm

RADII = {
    "largest singular value": lambda W, r: W * (r / norm(W, 2)),
    "forget to divide": lambda W, r: W * r,
    "spectral radius 1": lambda W, r: W / eigvals(W).abs().max(),
    "it multiplies": lambda W, r: W / (r * eigvals(W).abs().max()),
    "real part": lambda W, r: W * (r / eigvals(W).real.max()),
    "largest entry": lambda W, r: W * (r / W.abs().max()),
    "Frobenius": lambda W, r: W * (r / W.norm()),
    "your matrix has the spectral radius": lambda W, r: W * 0.5,
    "shape": lambda W, r: W[:2],
    "return a tensor": lambda W, r: W.tolist(),
}


@pytest.mark.parametrize("named", RADII)
def test_a_wrong_radius_is_named(named):
    verdict = checks.scaled_to_radius(RADII[named])
    assert not verdict.passed and named in verdict.message


tanh = torch.tanh
UPDATES = {
    "wrong side": lambda x, u, W, V, b, a: a * x + (1 - a) * tanh(W @ x + V @ u + b),
    "leave the leak out": lambda x, u, W, V, b, a: tanh(W @ x + V @ u + b),
    "inside the tanh": lambda x, u, W, V, b, a: tanh((1 - a) * x + a * (W @ x + V @ u + b)),
    "whole old state": lambda x, u, W, V, b, a: x + a * tanh(W @ x + V @ u + b),
    "weigh the new": lambda x, u, W, V, b, a: (1 - a) * x + tanh(W @ x + V @ u + b),
    "tanh is missing": lambda x, u, W, V, b, a: (1 - a) * x + a * (W @ x + V @ u + b),
    "bias b is missing": lambda x, u, W, V, b, a: (1 - a) * x + a * tanh(W @ x + V @ u),
    "input is missing": lambda x, u, W, V, b, a: (1 - a) * x + a * tanh(W @ x + b),
    "from the wrong side": lambda x, u, W, V, b, a: (1 - a) * x + a * tanh(W.T @ x + V @ u + b),
    "bias stands outside": lambda x, u, W, V, b, a: (1 - a) * x + a * (tanh(W @ x + V @ u) + b),
    "term by term": lambda x, u, W, V, b, a: x,
}


@pytest.mark.parametrize("named", UPDATES)
def test_a_wrong_update_is_named(named):
    verdict = checks.leaky_update(UPDATES[named])
    assert not verdict.passed and named in verdict.message


PAIRS = {
    "washout is forgotten": lambda x, s, w: (x[:-1], s[1:]),
    "are the present": lambda x, s, w: (x[w:], s[w:]),
    "are the past": lambda x, s, w: (x[w + 1 :], s[w:-1]),
    "states and": lambda x, s, w: (x[w:], s[w + 1 :]),
    "it should be the next": lambda x, s, w: (x[w:-2], s[w + 2 :]),
    "the first state should be number": lambda x, s, w: (x[w + 1 : -1], s[w + 2 :]),
    "have a next input": lambda x, s, w: (x[w:-2], s[w + 1 : -1]),
    "two things": lambda x, s, w: x[w:-1],
    "tensors of two dimensions": lambda x, s, w: (x[w:-1].tolist(), s[w + 1 :]),
    "nothing is left": lambda x, s, w: (x[:0], s[:0]),
}


@pytest.mark.parametrize("named", PAIRS)
def test_wrong_pairs_are_named(named):
    verdict = checks.readout_pairs(PAIRS[named])
    assert not verdict.passed and named in verdict.message


def test_numpy_style_answers_in_single_precision_are_accepted():
    assert checks.scaled_to_radius(lambda W, r: (W * (r / eigvals(W).abs().max())).float()).passed
