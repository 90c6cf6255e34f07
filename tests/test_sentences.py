"""Chapter 1's sentence encoders: which rows give their readout as many features, and the rules that compare them."""

import pytest

from reservoir_lab import recipes
from reservoir_lab.recipes.components import ENCODERS
from reservoir_lab.runs.building import outline


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_rows_that_are_compared_have_readouts_of_one_width(scale):
    features = {
        row: outline(recipes.get(f"sentences/{row}", scale=scale)).readout.weight.shape[1] for row in ENCODERS
    }
    assert features["even-bag"] == features["lstm"] == features["echo-states"] == features["projection"]
    assert features["wide-bag"] == features["wide-projection"] == features["wide-echo-states"]
