"""Chapter 1's sentence encoders: which rows give their readout as many features, and the rules that compare them."""

import pytest

from reservoir_lab import recipes
from reservoir_lab.evidence import claims
from reservoir_lab.evidence.judge import Estimate
from reservoir_lab.recipes.sentences import ROWS
from reservoir_lab.runs.building import outline


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_rows_that_are_compared_have_readouts_of_one_width(scale):
    features = {
        row: outline(recipes.get(f"sentences/{row}", scale=scale)).readout.weight.shape[1] for row in ROWS
    }
    assert features["even-bag"] == features["lstm"] == features["echo-states"] == features["projection"]
    assert features["wide-bag"] == features["wide-projection"] == features["wide-echo-states"]


@pytest.mark.parametrize(
    "name, encoders, bag, expected",
    [
        ("order", ("lstm", "echo-states"), "even-bag", "holds here"),
        ("long-vectors", ("wide-projection", "wide-echo-states"), "wide-bag", "does not hold here"),
    ],
)
def test_the_rules_on_equal_widths_turn(name, encoders, bag, expected):
    opposite = {"holds here": "does not hold here", "does not hold here": "holds here"}

    def judged(figures):
        def look(measure, recipe, among, scale):
            return Estimate(figures[recipe.split("/")[1]])

        return claims.verdict(f"sentences/{name}", look=look).outcome

    assert judged(dict.fromkeys(encoders, 70.0) | {bag: 60.0}) == expected
    assert judged(dict.fromkeys(encoders, 60.0) | {bag: 70.0}) == opposite[expected]
