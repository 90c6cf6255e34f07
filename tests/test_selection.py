"""Exactly the k largest, whatever the numbers, their ties and their layout."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from reservoir.weights.masks import kept_count, largest


def by_sorting(scores: torch.Tensor, k: int) -> torch.Tensor:
    order = np.argsort(-scores.numpy().ravel(), kind="stable")
    mask = np.zeros(scores.numel(), dtype=bool)
    mask[order[:k]] = True
    return torch.from_numpy(mask).view(scores.shape)


values = st.one_of(st.sampled_from([-1.0, 0.0, -0.0, 1.0]), st.floats(-10, 10, width=32))


@given(arrays(np.float32, array_shapes(max_dims=3, max_side=7), elements=values), st.floats(0.001, 1.0))
def test_it_is_what_a_stable_sort_finds(array, keep):
    scores = torch.from_numpy(array)
    k = kept_count(scores.numel(), keep)
    mask = largest(scores, k)
    assert int(mask.sum()) == k
    assert torch.equal(mask, by_sorting(scores + 0.0, k))


@settings(max_examples=25)
@given(
    st.integers(0, 1000),
    st.sampled_from(["normal", "few values", "sorted", "periodic", "constant", "heavy"]),
    st.floats(0.01, 0.99),
)
def test_large_ones_as_well(seed, kind, keep):
    n = 40_009
    draw = torch.Generator().manual_seed(seed)
    scores = torch.randn(n, generator=draw)
    scores = {
        "normal": scores,
        "few values": scores.round(),
        "sorted": scores.sort().values,
        "periodic": torch.where(torch.arange(n) % 5 == 0, 100.0 + scores, scores),
        "constant": torch.zeros(n),
        "heavy": scores**9,
    }[kind]
    k = kept_count(n, keep)
    assert torch.equal(largest(scores, k), by_sorting(scores, k))


def test_the_memory_layout_does_not_matter():
    scores = torch.randn(300, 200, generator=torch.Generator().manual_seed(0)).round(decimals=1)
    expected = largest(scores, 30_000)
    assert torch.equal(largest(scores.T.contiguous().T, 30_000), expected)
    assert torch.equal(largest(scores[:, ::2], 5000), largest(scores[:, ::2].clone(), 5000))


@pytest.mark.parametrize(
    ("n", "keep", "k"), [(10, 0.5, 5), (5, 0.5, 2), (7, 0.5, 4), (1000, 0.9, 900), (3, 1.0, 3)]
)
def test_how_many_are_kept(n, keep, k):
    assert kept_count(n, keep) == k


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"keep must be in \(0, 1\], got 1.5"):
        kept_count(10, 1.5)
    with pytest.raises(ValueError, match="k must be from 0 to the 3 scores, got 4"):
        largest(torch.zeros(3), 4)


@pytest.mark.parametrize("n", [5, 32_767, 32_768, 50_000])
@pytest.mark.parametrize("others", ["normal", "constant", "infinite"])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_what_is_not_a_number_is_refused_at_every_size(n, others, share):
    scores = {
        "normal": torch.randn(n, generator=torch.Generator().manual_seed(0)),
        "constant": torch.zeros(n),
        "infinite": torch.tensor([torch.inf, -torch.inf]).repeat(n)[:n],
    }[others]
    scores[2] = torch.nan
    with pytest.raises(ValueError, match=f"scores must be numbers, but 1 of the {n} are NaN"):
        largest(scores, round(share * n))


@pytest.mark.parametrize("n", [1000, 40_000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("sign", [-1, 1])
def test_scores_may_be_infinite(n, share, sign):
    """Most of them, too: what is ruled out gets a score of minus infinity."""
    draw = torch.Generator().manual_seed(1)
    scores = torch.randn(n, generator=draw)
    scores[torch.rand(n, generator=draw) < share] = sign * torch.inf
    for keep in (0.02, 0.4, 0.6, 0.98):
        k = kept_count(n, keep)
        assert torch.equal(largest(scores, k), by_sorting(scores, k))
