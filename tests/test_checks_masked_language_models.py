"""Checks of appendix A8's exercises: each likely mistake is refused by its name."""

import pytest
import torch.nn.functional as F

from reservoir_book import checks

SHARES = {
    "80 % of all tokens": lambda n, s: (round(0.8 * n), round(0.1 * n), round(0.1 * n)),
    "become masks in yours": lambda n, s: (round(s * n), 0, 0),
    "nobody asks about": lambda n, s: (round(0.8 * s * n), 1, n - 1 - round(0.8 * s * n)),
    "your three make": lambda n, s: (round(0.8 * s * n), 0, 0),
    "three numbers": lambda n, s: (1, 2),
    "masks and random": lambda n, s: (0, 0, round(s * n)),
}
LOSSES = {
    "every token": lambda z, t, a: F.cross_entropy(z, t),
    "not asked about": lambda z, t, a: F.cross_entropy(z[~a], t[~a]),
    "is a sum": lambda z, t, a: F.cross_entropy(z[a], t[a], reduction="sum"),
    "you divide by all": lambda z, t, a: F.cross_entropy(z[a], t[a], reduction="sum") / len(t),
    "yours is": lambda z, t, a: 0.0,
}
PAIRS = {
    "comes first": lambda a, b, bos, eos: [*a, eos, *b, eos],
    "between the two": lambda a, b, bos, eos: [bos, *a, *b, eos],
    "no end-of-sentence": lambda a, b, bos, eos: [bos, *a, eos, *b],
    "there is one end": lambda a, b, bos, eos: [bos, *a, eos, *b, eos],
    "are read as": lambda a, b, bos, eos: [bos, *b, eos, *a, eos],
}


@pytest.mark.parametrize("named", SHARES)
def test_wrong_shares_are_named(named):
    verdict = checks.masking_shares(SHARES[named])
    assert not verdict.passed and named in verdict.message


@pytest.mark.parametrize("named", LOSSES)
def test_a_wrong_loss_is_named(named):
    verdict = checks.hidden_loss(LOSSES[named])
    assert not verdict.passed and named in verdict.message


@pytest.mark.parametrize("named", PAIRS)
def test_a_wrong_pair_is_named(named):
    verdict = checks.joined_pair(PAIRS[named])
    assert not verdict.passed and named in verdict.message
