"""The judge of the bench is rarely wrong in worlds whose truth is known, and sees what is there."""

import calibration
import numpy as np
import pytest

WORLDS = 200


@pytest.mark.check
@pytest.mark.parametrize("name", calibration.CASES)
def test_few_verdicts_are_false(name):
    assert calibration.share(name, WORLDS) <= calibration.most(WORLDS)


@pytest.mark.parametrize("name", ["equal scatter", "as good, at the margin", "real rows"])
def test_an_effect_is_seen(name):
    said = list(calibration.verdicts(name, 20, effect=calibration.EFFECT["grammar"]))
    assert said.count("holds") > 15 and "does not hold" not in said


def test_worlds_are_made_of_rows_that_were_run():
    found = calibration.residuals()
    assert len(found) > 100 and all(abs(row.mean()) < 1e-9 for row in found.values())
    assert np.ptp(calibration.real(np.random.default_rng(0), 50.0)) > 0
