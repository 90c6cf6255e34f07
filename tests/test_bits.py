"""The tasks on bits ask what they say they ask."""

import pytest
import torch

from reservoir_lab.corpora.calculations import BitMemory, BitXor

MEMORY = BitMemory(length=40, strings=3, patch=8)


def test_the_last_string_is_one_of_those_before_with_half_of_it_hidden():
    x, y = MEMORY.draw(200, seed=0)
    assert x.shape == (200, 20, 8) and y.shape == (200, 5, 8)
    strings = x.view(200, 4, 40)
    asked = 2.0 * y.view(200, 40) - 1.0
    which = (strings[:, :3] == asked[:, None]).all(-1)
    assert which.any(1).all() and (which.float().mean(0) - 1 / 3).abs().max() < 0.15
    last, hidden = strings[:, 3], strings[:, 3] == 0
    assert torch.equal(last[~hidden], asked[~hidden])
    assert abs(float(hidden.float().mean()) - 0.5) < 0.03
    assert set(strings[:, :3].unique().tolist()) == {-1.0, 1.0}


def test_xor_is_the_product_of_signs():
    x, y = BitXor(7).draw(500, seed=1)
    signs = x.view(500, 2, 7)
    assert torch.equal(y[..., 0], (signs.prod(1) < 0).long())
    assert abs(float(y.float().mean()) - 0.5) < 0.03


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(patch=7), "patch must divide length=1000, got 7"),
        (dict(hidden=0.0), "hidden must be in .0, 1., got 0.0"),
        (dict(strings=0), "strings must be at least 1, got 0"),
    ],
)
def test_wrong_sizes_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        BitMemory(**wrong)
