"""The judge of the bench: its pitfalls, and what it errs in worlds whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from reservoir_lab.evidence import ruling
from reservoir_lab.evidence.ruling import alike, cheaper, compare, holm, interval, rule

N = 20


def rows(seed, *means, sd=1.0, n=N):
    rng = np.random.default_rng(seed)
    return [list(mean + sd * rng.standard_normal(n)) for mean in means]


def test_it_agrees_with_scipys_permutation_test():
    a, b = rows(0, 0.6, 0.0)

    def welch(x, y, axis):
        return stats.ttest_ind(x, y, axis=axis, equal_var=False).statistic

    theirs = stats.permutation_test(
        (a, b),
        welch,
        vectorized=True,
        n_resamples=19_999,
        alternative="greater",
        rng=np.random.default_rng(1),
    )
    assert compare(a, b).above == pytest.approx(theirs.pvalue, abs=0.005)


def test_its_interval_is_close_to_welchs_where_that_is_right():
    a, b = rows(1, 5.0, 3.0)
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.99)
    assert interval(a, b) == pytest.approx((theirs.low, theirs.high), abs=0.2)


@pytest.mark.parametrize("value", [0.0, 100.0, 1 / 3])
def test_rows_that_are_identical_and_constant_are_not_told_apart(value):
    found = compare([value] * N, [value] * N)
    assert found.p == 1
    assert rule(found) == "undecided"


def test_rows_that_are_constant_and_unequal_are():
    assert rule(compare([100.0] * N, [99.0] * N)) == "holds"


def test_one_deviating_run_decides_nothing():
    a, b = [100.0] * (N - 1) + [0.0], [100.0] * N
    assert rule(compare(a, b)) == "undecided"
    low, high = interval(a, b)
    assert low < 0 <= high


@pytest.mark.parametrize("bad", [[math.nan] * N, [math.inf] * N, []])
def test_what_is_no_score_is_refused(bad):
    with pytest.raises(ValueError, match="a must be finite numbers"):
        compare(bad, [1.0] * N)


def test_nine_runs_get_no_verdict():
    a, b = rows(2, 100.0, 0.0, n=9)
    assert rule(compare(a, b)) == "undecided"
    a, b = rows(2, 100.0, 0.0, n=10)
    assert rule(compare(a, b)) == "holds"
    assert rule(compare(b, a)) == "does not hold"


def test_enough_shuffles_for_the_smallest_level():
    """A hundred claims of one source: the smallest p that the test can give is below the first one's share."""
    a, b = rows(3, 100.0, 0.0)
    assert 100 * compare(a, b).p < ruling.LEVEL


def test_shares_are_fishers():
    a, b = [1] * 18 + [0] * 2, [1] * 8 + [0] * 12
    found = compare(a, b, measure="share")
    assert found.above == pytest.approx(stats.fisher_exact([[18, 2], [8, 12]], "greater").pvalue)
    assert (found.a, found.b) == (0.9, 0.4)
    assert rule(found) == "holds"
    with pytest.raises(ValueError, match="0 or 1"):
        compare([0.5], b, measure="share")


def test_a_run_that_never_arrives_costs_most():
    a, b = [math.inf] * 10 + [5.0] * 10, [5.0] * 20
    assert rule(cheaper(a, b)) == "holds"
    assert rule(cheaper(b, b)) == "undecided"
    with pytest.raises(ValueError, match="numbers or infinity"):
        cheaper([math.nan], b)


def test_as_good_as_needs_a_reference_that_could_have_been_better():
    a, b = rows(4, 60.0, 60.0)
    assert alike(a, b, within=3, chance=2) == "holds"
    assert alike([x - 10 for x in a], b, within=3, chance=2) == "does not hold"
    assert alike(a, b, within=0.5, chance=2) == "undecided"
    assert alike([99.9] * N, [99.9] * N, within=3, chance=2) == "undecided"  # both at the ceiling
    assert alike([3.0] * N, [3.0] * N, within=3, chance=2) == "undecided"  # both guess


def test_holm_is_scipys_neighbour_and_keeps_the_order():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]) == [1.0, 1.0]


@pytest.mark.parametrize("sd", [1.0, 5.0])
def test_it_rarely_finds_a_difference_that_is_not_there(sd):
    """Quick: 300 worlds in which two rows have one mean and, perhaps, unequal scatter."""
    rng = np.random.default_rng(7)
    found = [compare(rng.normal(size=N), rng.normal(scale=sd, size=N)).p < ruling.LEVEL for _ in range(300)]
    assert sum(found) <= stats.binom.ppf(0.999, 300, 0.015)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_it_rarely_finds_a_difference_between_rows_that_learn_as_often(share):
    rng = np.random.default_rng(8)
    found = [
        compare(rng.random(N) < share, rng.random(N) < share, measure="share").p < ruling.LEVEL
        for _ in range(500)
    ]
    assert sum(found) <= stats.binom.ppf(0.999, 500, 0.01)
