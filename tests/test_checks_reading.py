"""Chapter 0's checks: what is right passes, and each likely mistake is called by its name."""

import statistics

import pytest

from reservoir_book import checks


def kept(n, origin, *, masked=lambda n: -(-n // 8), trained=lambda n: 4 * n, seeded=0, pretrained=0):
    return {"trained": trained(n), "masked": masked(n), "seeded": seeded, "pretrained": pretrained}[origin]


def test_right_answers_pass():
    assert checks.bytes_kept(kept).passed
    assert checks.spread(lambda values: (statistics.mean(values), statistics.stdev(values))).passed
    assert checks.spread(lambda values: [statistics.mean(values), statistics.stdev(values)]).passed


@pytest.mark.parametrize(
    "slip, named",
    [
        ({"trained": lambda n: n}, "a float32 has four"),
        ({"trained": lambda n: 8 * n}, "a float32 has four"),
        ({"masked": lambda n: n}, "one bit a weight"),
        ({"masked": lambda n: n // 8}, "round up"),
        ({"masked": lambda n: n / 8}, "no parts of a byte"),
        ({"masked": lambda n: 4 * n + n // 8}, "come back from the seed"),
        ({"seeded": 8}, "nothing of them"),
        ({"pretrained": 4}, "only named"),
    ],
)
def test_mistakes_with_bytes_are_named(slip, named):
    verdict = checks.bytes_kept(lambda n, origin: kept(n, origin, **slip))
    assert not verdict.passed and named in verdict.message


@pytest.mark.parametrize(
    "written, named",
    [
        (lambda v: (statistics.mean(v), statistics.pstdev(v)), "divided by n - 1"),
        (lambda v: (statistics.mean(v), statistics.variance(v)), "take its root"),
        (lambda v: (statistics.mean(v), statistics.stdev(v) / len(v) ** 0.5), "error of the mean"),
        (lambda v: (statistics.mean(v), max(v) - min(v)), "lowest to the highest"),
        (lambda v: (statistics.stdev(v), statistics.mean(v)), "other way round"),
        (lambda v: (statistics.median(v), statistics.stdev(v)), "the mean of"),
        (lambda v: statistics.mean(v), "two numbers"),
        (lambda v: ("a", "b"), "return a number"),
    ],
)
def test_mistakes_with_the_spread_are_named(written, named):
    verdict = checks.spread(written)
    assert not verdict.passed and named in verdict.message
