"""Checks of chapter 6's exercises: each likely mistake is refused by its name."""

import pytest
import torch

from reservoir.layers import fourier
from reservoir_book import checks


def columns(half, d):
    return half[:, 1 : (d + 1) // 2]


def joined(half, second):
    return torch.cat([half, second], 1)


def right_whole(half, d):
    return joined(half, columns(half, d).flip(0, 1).roll(1, 0))


HALVES = {
    "the features alone": lambda half, d: joined(half, columns(half, d).flip(1)),
    "the tokens alone": lambda half, d: joined(half, columns(half, d).flip(0).roll(1, 0)),
    "token 0 is its own mirror image": lambda half, d: joined(half, columns(half, d).flip(0, 1)),
    "the whole is": lambda half, d: joined(half, half[:, 1:].flip(0, 1).roll(1, 0)),
    "must stay as it is": lambda half, d: 2 * right_whole(half, d),
    "not the mirror image": lambda half, d: joined(half, -columns(half, d)),
}
KEPT = {
    "all of them": lambda n, d: n * d,
    "half is nearly right": lambda n, d: n * d // 2,
    "are lost": lambda n, d: (n * d - (2 - n % 2) * (2 - d % 2)) // 2,
    "which side is even": lambda n, d: (n * d + 4) // 2,
    "yours says": lambda n, d: 1,
}
LEAKS = {
    "still mixed in": lambda x, mask, n: fourier(x, length=n),
    "as long as this batch": lambda x, mask, n: fourier(x * mask[..., None]),
    "you hide the rows": lambda x, mask, n: fourier(x, length=n) * mask[..., None],
    "a row for each position": lambda x, mask, n: fourier(x, length=n)[:, :1],
    "filled up with zeros": lambda x, mask, n: x,
}


@pytest.mark.parametrize("named", HALVES)
def test_a_wrong_half_is_named(named):
    verdict = checks.mirrored_half(HALVES[named])
    assert not verdict.passed and named in verdict.message


@pytest.mark.parametrize("named", KEPT)
def test_a_wrong_rank_is_named(named):
    verdict = checks.directions_kept(KEPT[named])
    assert not verdict.passed and named in verdict.message


@pytest.mark.parametrize("named", LEAKS)
def test_a_leak_is_named(named):
    verdict = checks.no_leak(LEAKS[named])
    assert not verdict.passed and named in verdict.message


def test_what_is_right_passes():
    assert checks.mirrored_half(right_whole).passed
    assert checks.directions_kept(lambda n, d: (n * d + (2 - n % 2) * (2 - d % 2)) // 2).passed
    assert checks.no_leak(lambda x, mask, n: fourier(x * mask[..., None], length=n)).passed
