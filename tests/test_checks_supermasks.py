"""Checks of chapter 8's exercises: each likely mistake is refused by its name, and the solution is taken."""

import math

import pytest
import torch

from reservoir.weights import kept_count, largest
from reservoir_book import checks


def by_threshold(scores, keep):
    size = scores.abs()
    return size >= size.flatten().sort(descending=True).values[kept_count(scores.numel(), keep) - 1]


def published(scores, keep):
    mask = torch.zeros(scores.numel())
    mask[scores.abs().flatten().sort().indices[int((1 - keep) * scores.numel()) :]] = 1
    return mask.view(scores.shape)


def through_a_copy(scores, keep):
    out = scores.abs().clone()
    flat = out.flatten()
    order = flat.sort().indices
    flat[order] = (torch.arange(flat.numel()) >= flat.numel() - kept_count(flat.numel(), keep)).float()
    return out


MASKS = {
    "return a tensor": lambda s, keep: largest(s.abs(), kept_count(s.numel(), keep)).flatten(),
    "nothing but zeros and ones": through_a_copy,
    "keep is the share that is kept": lambda s, keep: largest(
        s.abs(), s.numel() - kept_count(s.numel(), keep)
    ),
    "keep=0.9 means 900": lambda s, keep: published(s, keep),
    "decide between them": by_threshold,
    "you rank S itself": lambda s, keep: largest(s, kept_count(s.numel(), keep)),
    "with the smallest scores": lambda s, keep: largest(-s.abs(), kept_count(s.numel(), keep)),
    "not those with the largest": lambda s, keep: largest(
        torch.arange(s.numel()).float().view(s.shape), kept_count(s.numel(), keep)
    ),
}


@pytest.mark.parametrize("named", MASKS)
def test_a_wrong_mask_is_named(named):
    verdict = checks.top_mask(MASKS[named])
    assert not verdict.passed and named in verdict.message, verdict


GRADIENTS = {
    "of the scores' shape": lambda g, w, s, m: (g * w).sum(),
    "the sign of the score is missing: a": lambda g, w, s, m: g * w,
    "the weight is missing": lambda g, w, s, m: g * s.sign(),
    "never comes back": lambda g, w, s, m: g * w * s.sign() * m,
    "and the sign": lambda g, w, s, m: g * w * m,
    "a sign, not S": lambda g, w, s, m: g * w * s,
    "turned round": lambda g, w, s, m: -g * w * s.sign(),
    "at the first weight": lambda g, w, s, m: g + w,
}


@pytest.mark.parametrize("named", GRADIENTS)
def test_a_wrong_gradient_is_named(named):
    verdict = checks.score_gradient(GRADIENTS[named])
    assert not verdict.passed and named in verdict.message, verdict


def log2_choices(n, keep):
    k = round(keep * n)
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


CHOICES = {
    "you count all masks": lambda n, keep: n,
    "in nats": lambda n, keep: log2_choices(n, keep) * math.log(2),
    "the number of weights that are kept": lambda n, keep: round(keep * n),
    "the order in which": lambda n, keep: (
        (math.lgamma(n + 1) - math.lgamma(n - round(keep * n) + 1)) / math.log(2)
    ),
    "for each weight": lambda n, keep: log2_choices(n, keep) / n,
    "take its logarithm": lambda n, keep: math.comb(n, round(keep * n)) if n < 100 else 0,
    "return a number": lambda n, keep: math.inf,
    "for n=8, keep=0.5 it is 6.129, and you give 1": lambda n, keep: 1,
}


@pytest.mark.parametrize("named", CHOICES)
def test_wrong_choices_are_named(named):
    verdict = checks.choices(CHOICES[named])
    assert not verdict.passed and named in verdict.message, verdict


def test_the_solutions_are_taken():
    assert checks.top_mask(lambda s, keep: largest(s.abs(), kept_count(s.numel(), keep))).passed
    assert checks.score_gradient(lambda g, w, s, m: g * w * s.sign()).passed
    assert checks.choices(log2_choices).passed
