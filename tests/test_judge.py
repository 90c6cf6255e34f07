"""The judge of claims: known tests where it reduces to them, and few wrong verdicts where nothing differs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reservoir.evidence import calibration
from reservoir.evidence.judge import Comparison, Spread, expected_false, judge

A, B = (31.2, 30.8, 31.1), (29.0, 29.3, 28.9)
scores = st.tuples(*[st.floats(0, 100).map(lambda x: round(x, 3))] * 3)


def test_without_similar_rows_it_is_welchs_test():
    found = Comparison(A, B)
    assert found.p_above() == pytest.approx(
        stats.ttest_ind(A, B, equal_var=False, alternative="greater").pvalue
    )
    low, high = found.interval()
    theirs = stats.ttest_ind(A, B, equal_var=False).confidence_interval()
    assert (low, high) == pytest.approx((theirs.low, theirs.high))


def test_against_a_fixed_number_it_is_the_t_test_of_one_sample():
    found = Comparison(A, 30.0)
    assert found.p_above() == pytest.approx(stats.ttest_1samp(A, 30.0, alternative="greater").pvalue)


def test_rows_that_scatter_alike_share_one_variance_and_others_keep_their_own():
    rng = np.random.default_rng(0)
    alike = Spread.of(rng.normal(0, 2.0, (200, 3)))
    assert alike.df > 20 and alike.variance == pytest.approx(4.0, rel=0.2)
    uneven = Spread.of(rng.normal(0, 1, (200, 3)) * np.exp(rng.normal(0, 1.5, 200))[:, None])
    assert uneven.df < 3
    assert Spread.of([(1.0,), (2.0, 3.0)]) == Spread()


def test_a_difference_must_survive_both_tests():
    """A row one of whose runs failed is not above another, however little its neighbours scatter."""
    quiet = Spread(0.01, math.inf)
    assert judge([Comparison(A, B, spread=quiet)]).outcome == "holds here"
    assert judge([Comparison(A, (29.0, 29.3, 0.7), spread=quiet)]).outcome == "cannot tell"


@given(scores, scores)
def test_both_directions_cannot_hold(a, b):
    words = {judge([Comparison(x, y)]).outcome for x, y in ((a, b), (b, a))}
    assert words in ({"holds here", "does not hold here"}, {"cannot tell"})


@given(scores, scores, st.floats(-50, 50))
def test_adding_the_same_to_both_sides_changes_nothing(a, b, shift):
    moved = Comparison(tuple(x + shift for x in a), tuple(x + shift for x in b))
    assert judge([moved]).outcome == judge([Comparison(a, b)]).outcome


def test_fewer_than_three_runs_decide_nothing():
    verdict = judge([Comparison(A, (20.0, 20.1))])
    assert verdict.outcome == "cannot tell" and "fewer than 3 runs" in verdict.why


def test_an_unfit_comparison_decides_nothing_and_does_not_hide_a_contrary_one():
    unfit = Comparison(A, B, name="depth", unfit="its baseline loses to no encoder")
    assert judge([unfit]).outcome == "cannot tell" and "no encoder" in judge([unfit]).why
    assert judge([unfit, Comparison(B, A)]).outcome == "does not hold here"


def test_one_contrary_comparison_among_many_needs_more_evidence():
    """Holm's correction: what refutes a claim of one comparison may not refute one of forty."""
    close, even = Comparison((30.0, 30.2, 29.9), (30.8, 30.6, 31.0)), Comparison(A, A[::-1])
    assert judge([close]).outcome == "does not hold here"
    assert judge([close, *[even] * 40]).outcome == "cannot tell"


def test_equivalence_needs_a_margin_and_enough_runs():
    near, same = (31.0, 31.1, 30.9, 31.0), (31.05, 31.0, 30.95, 31.1)
    assert judge([Comparison(near, same, "within", 1.0)]).outcome == "holds here"
    assert judge([Comparison(near, same, "within", 0.01)]).outcome == "cannot tell"
    assert judge([Comparison(near, B, "within", 0.5)]).outcome == "does not hold here"
    with pytest.raises(ValueError, match=r"margin must be positive .*, got 0"):
        Comparison(near, same, "within", 0.0)


def test_what_could_have_been_shown_is_shown_four_times_in_five():
    rng, shown = np.random.default_rng(1), 0
    spread = Spread(1.0, 1e6)
    size = np.median(
        [
            Comparison(tuple(rng.normal(0, 1, 8)), tuple(rng.normal(0, 1, 8)), spread=spread).detectable()
            for _ in range(50)
        ]
    )
    for _ in range(400):
        a, b = rng.normal(size, 1, 8), rng.normal(0, 1, 8)
        shown += judge([Comparison(tuple(a), tuple(b), spread=spread)]).outcome == "holds here"
    assert 0.7 < shown / 400 < 0.9


def test_bad_comparisons_are_refused():
    with pytest.raises(ValueError, match="relation must be 'above' or 'within', got 'below'"):
        Comparison(A, B, "below")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="finite"):
        Comparison((math.nan, 1.0, 2.0), B)
    with pytest.raises(ValueError, match="at least one comparison"):
        judge([])


def test_the_expected_share_of_false_verdicts_is_that_of_benjamini_and_hochberg():
    sure = [judge([Comparison(A, B)])] * 3
    unsure = [judge([Comparison((1.0, 2.0, 3.0), (1.5, 2.5, 2.0))])] * 5
    survive, share = expected_false([*sure, *unsure])
    assert survive == 3 and share == pytest.approx(sure[0].p)
    assert expected_false(unsure) == (0, 0.0)


TABLES = [np.random.default_rng(3).normal(0, [[0.5], [1.0], [1.5], [0.7], [1.2]] * 4, (20, 3)).tolist()]
SHAPES = {
    "one": calibration.above(1),
    "five": calibration.above(5),
    "order": calibration.order(12),
    "equal": calibration.within(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("kind", calibration.WORLDS)
def test_few_verdicts_are_wrong_where_nothing_differs(name, kind):
    found = calibration.residuals(TABLES)
    outcomes = calibration.rates(SHAPES[name], calibration.WORLDS[kind], found, worlds=150)
    # 5 % of 150 is 7.5; a true rate of 5 % gives more than 16 once in a thousand times.
    assert 1 - outcomes["cannot tell"] <= 16 / 150


@pytest.mark.slow
def test_an_effect_is_seen():
    found = calibration.residuals(TABLES)
    assert (
        calibration.rates(calibration.above(1, effect=8.0), calibration.World(), found, worlds=100)[
            "holds here"
        ]
        > 0.9
    )
