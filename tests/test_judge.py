"""The judge of claims: known tests where it reduces to them, and few wrong verdicts where nothing differs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reservoir_lab.evidence.judge import (
    AnyOf,
    Comparison,
    Estimate,
    Every,
    Spread,
    judge,
)

A, B = (31.2, 30.8, 31.1), (29.0, 29.3, 28.9)


def above(a, b, margin=0.0, *, spread=None, **more):
    """That the mean of `a` is more than a margin above that of `b`."""
    spread = spread or Spread()
    return Comparison(Estimate.of(a, spread=spread) - Estimate.of(b, spread=spread), low=margin, **more)


def within(a, b, margin):
    return Comparison(Estimate.of(a) - Estimate.of(b), -margin, margin)


scores = st.tuples(*[st.floats(0, 100).map(lambda x: round(x, 3))] * 3)


def test_without_similar_rows_it_is_welchs_test():
    found = Estimate.of(A) - Estimate.of(B)
    assert found.p_above() == pytest.approx(
        stats.ttest_ind(A, B, equal_var=False, alternative="greater").pvalue
    )
    low, high = found.interval()
    theirs = stats.ttest_ind(A, B, equal_var=False).confidence_interval()
    assert (low, high) == pytest.approx((theirs.low, theirs.high))


def test_against_a_fixed_number_it_is_the_t_test_of_one_sample():
    found = Estimate.of(A) - Estimate(30.0)
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
    assert judge(above(A, B, spread=quiet)).outcome == "holds here"
    assert judge(above(A, (29.0, 29.3, 0.7), spread=quiet)).outcome == "cannot tell"


@given(scores, scores)
def test_both_directions_cannot_hold(a, b):
    words = {judge(above(x, y)).outcome for x, y in ((a, b), (b, a))}
    assert words in ({"holds here", "does not hold here"}, {"cannot tell"})


@given(scores, scores, st.floats(-50, 50))
def test_adding_the_same_to_both_sides_changes_nothing(a, b, shift):
    moved = above(tuple(x + shift for x in a), tuple(x + shift for x in b))
    assert judge(moved).outcome == judge(above(a, b)).outcome


def test_fewer_than_three_runs_decide_nothing():
    verdict = judge(above(A, (20.0, 20.1)))
    assert verdict.outcome == "cannot tell" and "fewer than 3 independent runs" in verdict.why


def test_an_unfit_comparison_decides_nothing_and_does_not_hide_a_contrary_one():
    unfit = above(A, B, name="depth", unfit="its baseline loses to no encoder")
    assert judge(unfit).outcome == "unfit" and "no encoder" in judge(unfit).why
    assert judge(Every((unfit, above(B, A)))).outcome == "does not hold here"
    assert judge(Every((unfit, above(A, B)))).outcome == "unfit"
    assert judge(AnyOf((unfit, above(A, B)))).outcome == "holds here"
    assert judge(AnyOf((unfit, above(B, A)))).outcome == "cannot tell"
    assert judge(AnyOf((unfit, unfit))).outcome == "unfit"


def test_any_of_several_stays_open_for_the_part_that_was_not_tested():
    single = above((31.0,), (30.0,), name="few")
    assert judge(AnyOf((single, above(B, A)))).why == "few: fewer than 3 independent runs a side"
    assert judge(Every((single, above(A, B)))).why == "few: fewer than 3 independent runs a side"


def test_what_could_be_tested_in_one_direction_alone_counts_as_tested():
    single, unfit = above((31.0,), (30.0,)), above(A, B, unfit="its baseline loses to no encoder")
    for open_part in (single, unfit):
        assert math.isnan(judge(open_part).p)
        assert judge(Every((open_part, above(A, B)))).p > 0.05  # the other part could have been contrary


def test_a_yes_or_no_is_not_told_as_a_figure():
    assert judge(Comparison(Estimate(1.0), low=0.5, silent=True)).why == ""
    assert judge(Comparison(Estimate(1.0), low=0.5)).why == "1.00, as the claim says"


def test_one_contrary_comparison_among_many_needs_more_evidence():
    """Holm's correction: what refutes a claim of one comparison may not refute one of forty."""
    close, even = above((30.0, 30.2, 29.9), (30.8, 30.6, 31.0)), above(A, A[::-1])
    assert judge(close).outcome == "does not hold here"
    assert judge(Every((close, *[even] * 40))).outcome == "cannot tell"


def test_one_of_many_that_holds_needs_more_evidence():
    close, even = above((30.8, 30.6, 31.0), (30.0, 30.2, 29.9)), above(A, A[::-1])
    assert judge(AnyOf((close,))).outcome == "holds here"
    assert judge(AnyOf((close, *[even] * 40))).outcome == "cannot tell"


def test_equivalence_needs_a_margin_and_enough_runs():
    near, same = (31.0, 31.1, 30.9, 31.0), (31.05, 31.0, 30.95, 31.1)
    assert judge(within(near, same, 1.0)).outcome == "holds here"
    assert judge(within(near, same, 0.01)).outcome == "cannot tell"
    assert judge(within(near, B, 0.5)).outcome == "does not hold here"
    with pytest.raises(ValueError, match="needs a lower bound below the upper, got 0 and 0"):
        within(near, same, 0.0)


def test_figures_that_no_run_moves_are_compared_as_they_are():
    assert judge(Comparison(Estimate(2.0), low=1.0)).outcome == "holds here"
    assert judge(Comparison(Estimate(2.0), low=2.0)).outcome == "does not hold here"
    assert judge(Comparison(Estimate(2.0), 2.0, 2.0, closed=True)).outcome == "holds here"
    assert math.isnan(judge(Comparison(Estimate(2.0), low=1.0)).p)


def test_a_row_that_occurs_twice_moves_both_occurrences():
    a, b, c = Estimate.of(A), Estimate.of(B), Estimate.of((20.0, 25.0, 30.0))
    gap = (a - c) - (b - c)
    assert gap.mean == pytest.approx((a - b).mean)
    assert gap.interval() == pytest.approx((a - b).interval())


@pytest.mark.parametrize("value", ["ratio", "log"])
def test_ratios_and_logarithms_move_as_their_derivatives_say(value):
    a, b = (st_.tolist() for st_ in np.random.default_rng(0).normal([[30.0], [20.0]], 0.3, (2, 4000)))
    made = Estimate.of(a) / Estimate.of(b) if value == "ratio" else Estimate.of(a).log()
    rng = np.random.default_rng(1)
    means = [[np.mean(rng.choice(side, 4000)) for _ in range(400)] for side in (a, b)]
    resampled = np.divide(*means) if value == "ratio" else np.log(means[0])
    assert made.errors[1][0] == pytest.approx(float(np.std(resampled)), rel=0.15)


def test_what_could_have_been_shown_is_shown_four_times_in_five():
    rng, shown = np.random.default_rng(1), 0
    spread = Spread(1.0, 1e6)
    size = np.median(
        [above(rng.normal(0, 1, 8), rng.normal(0, 1, 8), spread=spread).gap.detectable() for _ in range(50)]
    )
    for _ in range(400):
        a, b = rng.normal(size, 1, 8), rng.normal(0, 1, 8)
        shown += judge(above(a, b, spread=spread)).outcome == "holds here"
    assert 0.7 < shown / 400 < 0.9


def test_bad_comparisons_are_refused():
    with pytest.raises(ValueError, match="finite"):
        Estimate.of((math.nan, 1.0, 2.0))
    with pytest.raises(ValueError, match="at least one"):
        Estimate.of(())
    with pytest.raises(ValueError, match="positive figure to divide by"):
        Estimate.of(A) / Estimate(0.0)
    with pytest.raises(ValueError, match="at least one comparison"):
        judge(Every(()))


def test_many_rows_do_not_make_their_variances_better_known():
    """Welch's degrees of freedom of two rows with three runs are at most four, of four rows as well, of six three."""
    rows = [Estimate.of(np.array(A) + shift) for shift in range(6)]
    mean = (rows[1] + rows[2] + rows[3] + rows[4] + rows[5]) * (1 / 5) - rows[0]
    assert [df for _, df in (rows[1] - rows[0]).errors] == pytest.approx([4, 4])
    assert [df for _, df in mean.errors][-1] == pytest.approx(1.44 / 0.504)
    four = rows[0] + rows[1] - rows[2] - rows[3]
    assert [df for _, df in four.errors][-1] == 4
    assert [df for _, df in (four + rows[4] - rows[5]).errors][-1] == 3


def test_runs_that_do_not_differ_decide_nothing_whatever_their_neighbours_do():
    same = [Estimate.of([100.0] * 3, spread=Spread(1.0, 4.0)) for _ in range(2)]
    found = judge(Comparison(same[0] - same[1], low=2.0))
    assert found.outcome == "cannot tell" and "do not differ at all" in found.why
