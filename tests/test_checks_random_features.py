"""Checks of chapter 1's exercises: each likely mistake is refused by its name."""

import math

import pytest
import torch

from reservoir_book import checks


def cover(n, d, *, first=0, points=-1, factor=2):
    return factor * sum(math.comb(n + points, k) for k in range(first, d))


COUNTS = {
    "factor 2": lambda n, d: cover(n, d, factor=1),
    "from k = 1": lambda n, d: cover(n, d, first=1),
    "n - 1": lambda n, d: cover(n, d, points=0),
    "one term too many": lambda n, d: cover(n, d + 1),
    "one term early": lambda n, d: cover(n, d - 1),
    "that is the chance": lambda n, d: cover(n, d) / 2**n,
    "all labellings": lambda n, d: 2**n,
    "for n=4, d=3 it is 14, and you give 1": lambda n, d: 1,
    "return a number": lambda n, d: "14",
}


@pytest.mark.parametrize("named", COUNTS)
def test_a_wrong_count_is_named(named):
    verdict = checks.dichotomies(COUNTS[named])
    assert not verdict.passed and named in verdict.message


def bound(n, e, *, four=4, log=math.log, cubic=1 / 3):
    return four * log(n) / (e**2 / 2 - cubic * e**3)


BOUNDS = {
    "round down": lambda n, e: math.floor(bound(n, e)),
    "whole number": bound,
    "base 10": lambda n, e: math.ceil(bound(n, e, log=math.log10)),
    "base 2": lambda n, e: math.ceil(bound(n, e, log=math.log2)),
    "factor 4": lambda n, e: math.ceil(bound(n, e, four=1)),
    "ε³/3 is missing": lambda n, e: math.ceil(bound(n, e, cubic=0)),
    "sign of ε³/3": lambda n, e: math.ceil(bound(n, e, cubic=-1 / 3)),
    "number of pairs": lambda n, e: math.ceil(bound(n * (n - 1) / 2, e)),
    "for n=300, epsilon=0.2 it is 1,317, and you give 7": lambda n, e: 7,
    "return a number": lambda n, e: math.inf,
}


@pytest.mark.parametrize("named", BOUNDS)
def test_a_wrong_number_of_dimensions_is_named(named):
    verdict = checks.enough_dimensions(BOUNDS[named])
    assert not verdict.passed and named in verdict.message


def wave(x, w, b):
    return math.sqrt(2 / len(w)) * torch.cos(x @ w.T + b)


SINKS = {
    "√(2/D) is missing": lambda x, w, b: torch.cos(x @ w.T + b),
    "2 under the root": lambda x, w, b: torch.cos(x @ w.T + b) / math.sqrt(len(w)),
    "size of an input": lambda x, w, b: math.sqrt(2 / x.shape[1]) * torch.cos(x @ w.T + b),
    "the root of that": lambda x, w, b: 2 / len(w) * torch.cos(x @ w.T + b),
    "b is missing": lambda x, w, b: wave(x, w, 0),
    "b is taken away": lambda x, w, b: wave(x, w, -b),
    "the sine": lambda x, w, b: math.sqrt(2 / len(w)) * torch.sin(x @ w.T + b),
    "turned over": lambda x, w, b: wave(x, w, b).T,
    "the shape is (4, 6)": lambda x, w, b: wave(x, w, b)[:, :3],
    "return a tensor": lambda x, w, b: wave(x, w, b).tolist(),
    "off": lambda x, w, b: wave(x, 2 * w, b),
}


@pytest.mark.parametrize("named", SINKS)
def test_wrong_features_are_named(named):
    verdict = checks.kitchen_sinks(SINKS[named])
    assert not verdict.passed and named in verdict.message
