"""Windows of text: each token is predicted once, the order is the seed's, and scoring leaves nothing out."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reservoir.datasets import Windows


@given(st.integers(2, 60), st.integers(1, 12), st.integers(1, 5), st.integers(0, 3), st.integers(0, 3))
def test_a_token_is_predicted_at_most_once_an_epoch_and_few_never(size, length, batch, seed, number):
    if size <= length:
        return
    epoch = Windows(range(size), length=length, batch=batch, seed=seed).epoch(number)
    said = torch.cat([part[:, 1:].flatten() for part in epoch]).tolist()
    assert len(set(said)) == len(said) and set(said) <= set(range(1, size))
    assert len(said) > size - 1 - 2 * length  # the offset at the front and the rest at the end
    for part in epoch:
        assert part.shape[1] == length + 1 and torch.equal(part[:, 1:], part[:, :-1] + 1)


@given(st.integers(2, 60), st.integers(1, 12), st.integers(1, 5))
def test_scoring_predicts_every_token_but_the_first_once_and_in_order(size, length, batch):
    if size <= length:
        return
    said = []
    for part, count in Windows(range(size), length=length, batch=batch, seed=0).in_order():
        assert part.shape[1] == length + 1
        said += part[:, 1:].flatten()[:count].tolist()
    assert said == list(range(1, size))


def test_the_order_depends_on_seed_and_epoch_alone():
    def order(seed, number):
        return [part.tolist() for part in Windows(range(500), length=7, batch=4, seed=seed).epoch(number)]

    assert order(0, 1) == order(0, 1)
    assert order(0, 0) != order(0, 1) and order(0, 0) != order(1, 0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"length": 0}, "length"),
        ({"batch": 0}, "batch"),
        ({"seed": -1}, "seed"),
        ({"length": 10}, "10 tokens"),
    ],
)
def test_a_wrong_argument_is_named(changes, named):
    with pytest.raises(ValueError, match=named):
        Windows(range(10), **{"length": 3, "batch": 2, "seed": 0, **changes})
