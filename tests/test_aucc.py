"""The area under a convergence curve, by hand on triangles and by its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir.training.events import aucc

CURVES = st.lists(
    st.tuples(st.floats(0, 100), st.floats(-50, 50)), min_size=1, max_size=8, unique_by=lambda point: point[0]
).map(sorted)
HORIZONS = st.floats(0.5, 150)


def value(points, horizon, **options) -> float:
    return aucc([t for t, _ in points], [m for _, m in points], horizon=horizon, **options).value


def test_a_triangle_is_half_its_height():
    assert value([(0, 0), (10, 30)], 10) == pytest.approx(15)


def test_the_curve_is_cut_between_points():
    # Up to 4 of 10 the triangle has risen to 12: an area of 24, over 4.
    assert value([(0, 0), (10, 30)], 4) == pytest.approx(6)


def test_the_curve_is_flat_after_its_last_point():
    assert value([(0, 0), (10, 30)], 20) == pytest.approx((150 + 300) / 20)


def test_before_its_first_point_the_curve_rises_from_the_floor():
    assert value([(5, 20), (10, 20)], 10) == pytest.approx(20)  # no floor given: flat
    assert value([(5, 20), (10, 20)], 10, floor=0) == pytest.approx((50 + 100) / 10)
    assert value([(5, 20)], 2.5, floor=0) == pytest.approx(5)  # cut before the first point
    assert value([(0, 20), (10, 20)], 10, floor=0) == pytest.approx(20)  # a point at 0 needs none


def test_a_falling_metric_is_negated_and_says_so():
    found = aucc([0, 10], [8, 2], horizon=10, larger_is_better=False, axis="steps")
    assert (found.value, found.orientation) == (pytest.approx(-5), "negated")
    assert (found.horizon, found.axis) == (10, "steps")
    assert aucc([0, 10], [8, 2], horizon=10).orientation == "larger is better"
    assert aucc([10], [8], horizon=10, larger_is_better=False, floor=10).value == pytest.approx(-9)


@given(CURVES, HORIZONS)
def test_the_area_is_a_mean_height(points, horizon):
    heights = [m for _, m in points]
    assert min(heights) - 1e-6 <= value(points, horizon) <= max(heights) + 1e-6


@given(CURVES, HORIZONS, st.floats(-5, 5), st.floats(0.1, 5))
def test_the_area_follows_the_metrics_units_and_not_those_of_time(points, horizon, shift, scale):
    moved = [(t, scale * m + shift) for t, m in points]
    assert value(moved, horizon) == pytest.approx(scale * value(points, horizon) + shift, abs=1e-6)
    slower = [(scale * t, m) for t, m in points]
    assert value(slower, scale * horizon) == pytest.approx(value(points, horizon), abs=1e-6)


@pytest.mark.parametrize(
    ("time", "metric", "horizon", "message"),
    [
        ([], [], 1, "the same number of points, at least one, got 0 and 0"),
        ([1, 2], [1], 1, "the same number of points, at least one, got 2 and 1"),
        ([1], [1], 0, "horizon must be positive, got 0"),
        ([0, 3, 3, 1.5], [1, 1, 1, 1], 1, "time must not fall .* got 1.5 after 3$"),
        ([-1, 1], [1, 1], 1, "must start at 0 or later, got -1 first$"),
    ],
)
def test_a_curve_that_is_none_is_an_error(time, metric, horizon, message):
    with pytest.raises(ValueError, match=message):
        aucc(time, metric, horizon=horizon)
