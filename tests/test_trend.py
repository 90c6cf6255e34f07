"""What a line through the ladder of sizes says, and what it may not say."""

import json
import re

import numpy as np
import pytest

from reservoir.datasets.shipped import shipped
from reservoir_lab import recipes
from reservoir_lab.evidence import trend
from reservoir_lab.recipes import ladder
from reservoir_lab.runs.building import outline


def test_a_line_goes_through_points_that_lie_on_one():
    line = trend.lines({"a": {10: 1.0, 100: 3.0, 1000: 5.0}})["a"]
    assert line.at(10_000) == pytest.approx((7.0, 7.0, 7.0))
    assert line.steepness == pytest.approx((2.0, 2.0, 2.0))


def test_two_sizes_are_too_few_for_an_interval():
    with pytest.raises(ValueError, match="needs three sizes, got 2"):
        trend.lines({"a": {10: 1.0, 100: 3.0}})


def test_the_interval_covers_what_comes_next_19_times_in_20():
    random, weights, covered = np.random.default_rng(0), (1e4, 1e5, 1e6, 1e7), []
    for _ in range(2000):
        points = {}
        for name, slope in (("a", 0.0), ("b", 0.3), ("c", -1.0)):
            noise = random.normal(0, 0.1, len(weights))
            points[name] = {w: slope * np.log10(w) + e for w, e in zip(weights, noise, strict=True)}
        known = {name: dict(list(found.items())[:3]) for name, found in points.items()}
        for name, line in trend.lines(known).items():
            _, low, high = line.at(weights[-1])
            covered.append(low <= points[name][weights[-1]] <= high)
    assert 0.94 < np.mean(covered) < 0.96


def test_nothing_is_predicted_of_a_size_that_has_been_run(monkeypatch):
    monkeypatch.setattr(trend, "find_records", lambda recipe, scale: ["a record"])
    with pytest.raises(ValueError, match="can no longer be predicted"):
        trend.predict()


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("masks of one layer", "keep/trained"),
        ("frozen attention", "language/baseline"),
        ("Fourier mixing", "mixing/attention"),
    ],
)
def test_the_sources_models_have_so_many_weights_in_their_layers(name, recipe):
    model = outline(recipes.get(recipe, scale="full"))
    matrices = {
        path: p for path, p in model.named_parameters() if p.ndim == 2 and re.search(r"\.\d+\.", path)
    }
    assert sum(p.numel() for p in matrices.values()) == trend.COMPARED[name].source[1]


def test_rows_that_are_compared_are_of_the_ladder():
    for one in trend.COMPARED.values():
        assert {one.row, one.rival, one.control} <= set(ladder.ROWS)


def test_what_is_written_down_is_what_the_three_smaller_sizes_predict():
    written = json.loads((shipped() / "claims" / trend.PREDICTIONS).read_text(encoding="utf-8"))["predicted"]
    lines = trend.trends(ladder.WIDTHS[:-1])
    assert written.keys() == lines.keys()
    for name, line in lines.items():
        assert written[name]["largest"] == pytest.approx(line.at(ladder.weights(ladder.WIDTHS[-1])))
        assert written[name]["sources"] == pytest.approx(line.at(trend.COMPARED[name].source[1]))
        assert written[name]["slope"] == pytest.approx(line.steepness)
