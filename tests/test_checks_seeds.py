"""Checks of chapter 9's exercises: each likely mistake is refused by its name."""

import math

import numpy as np
import pytest

from reservoir_book import checks

PACKED = {
    "return bytes": lambda mask: "bits",
    "a byte on each": lambda mask: bytes(mask),
    "may not be full": lambda mask: np.packbits(
        np.array(mask[: len(mask) // 8 * 8], dtype=bool), bitorder="little"
    ).tobytes(),
    "its lowest": lambda mask: np.packbits(mask).tobytes(),
    "turned over": lambda mask: bytes(255 - b for b in np.packbits(mask, bitorder="little")),
    "and you give": lambda mask: bytes(-(-len(mask) // 8)),
}


@pytest.mark.parametrize("named", PACKED)
def test_bits_that_are_packed_otherwise_are_named(named):
    verdict = checks.packed_bits(PACKED[named])
    assert not verdict.passed and named in verdict.message


def masks(shapes, depth):
    return depth * sum(-(-a * b // 8) for a, b in shapes)


def weights(shapes):
    return sum(a * b for a, b in shapes)


BOUNDS = {
    "return a number": lambda s, d, t: "few",
    "eight make a byte": lambda s, d, t: d * weights(s) + 32 * t,
    "masks of its own": lambda s, d, t: masks(s, 1) + 4 * t,
    "costs nothing": lambda s, d, t: masks(s, d) + 4 * t + 4 * weights(s),
    "whole byte": lambda s, d, t: d * weights(s) / 8 + 4 * t,
    "not for their sum": lambda s, d, t: math.ceil(d * weights(s) / 8) + 4 * t,
    "not down": lambda s, d, t: d * sum(a * b // 8 for a, b in s) + 4 * t,
    "four bytes": lambda s, d, t: masks(s, d) + t,
    "what was trained": lambda s, d, t: masks(s, d),
    "and you give 1": lambda s, d, t: 1,
}


@pytest.mark.parametrize("named", BOUNDS)
def test_a_wrong_bound_is_named(named):
    verdict = checks.bits_bound(BOUNDS[named])
    assert not verdict.passed and named in verdict.message


NEEDED = {
    "return a number": lambda b, w: None or "fast",
    "its bit still comes": lambda b, w: b / w,
    "bytes times bytes": lambda b, w: b * w,
    "do not add it": lambda b, w: b / (w + 1 / 8),
    "an eighth": lambda b, w: b / (w - 1) if w != 1 else math.inf,
    "inverse": lambda b, w: (w - 1 / 8) / b,
    "and you give 1": lambda b, w: 1.0,
}


@pytest.mark.parametrize("named", NEEDED)
def test_a_wrong_rate_is_named(named):
    verdict = checks.break_even(NEEDED[named])
    assert not verdict.passed and named in verdict.message


def test_what_is_right_passes():
    assert checks.packed_bits(lambda mask: np.packbits(mask, bitorder="little").tobytes()).passed
    assert checks.bits_bound(lambda s, d, t: masks(s, d) + 4 * t).passed
    assert checks.break_even(lambda b, w: b / (w - 1 / 8)).passed
