"""Random features: the kernels they stand for, the maps of other libraries, and where their weights come from."""

import math
from typing import get_args

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import RBFSampler

from reservoir.reservoirs import (
    FourierFeatures,
    RandomProjection,
    ReLUFeatures,
    ThresholdFeatures,
)
from reservoir.reservoirs.random_features import ProjectionKind
from reservoir.weights import (
    Seeded,
    Stream,
    origin_of,
    owned,
    report,
)

DIGITS = torch.tensor(load_digits().data[:12], dtype=torch.float64)
X = (DIGITS - DIGITS.mean(0)) / 16
MAPS = {
    **{
        f"projection-{kind}": lambda d, n, seed, kind=kind: RandomProjection(d, n, seed=seed, kind=kind)
        for kind in get_args(ProjectionKind)
    },
    "fourier": lambda d, n, seed: FourierFeatures(d, n, seed=seed, gamma=0.2),
    "relu": lambda d, n, seed: ReLUFeatures(d, n, seed=seed),
    "threshold": lambda d, n, seed: ThresholdFeatures(d, n, seed=seed, kind="gaussian"),
}
each_map = pytest.mark.parametrize("make", MAPS.values(), ids=MAPS)


def product(features, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    features = features.double()
    return features(x) @ features(y).T


@each_map
def test_products_of_features_are_the_kernel_on_average_and_close_in_on_it(make):
    runs = torch.stack([product(make(64, 500, seed), X, X) for seed in range(40)])
    exact = make(64, 1, 0).kernel(X, X)
    error = (runs.mean(0) - exact).abs()
    assert (error <= 5 * runs.std(0) / 40**0.5 + 2e-3).all()  # 144 entries, five standard errors each
    wide = product(make(64, 8000, 0), X, X)
    assert (wide - exact).square().mean() < (
        runs - exact
    ).square().mean() / 4  # sixteen times as many features


@each_map
def test_a_map_is_frozen_and_costs_nothing_to_store(make):
    features = make(5, 7, 3)
    made_of = report(features)
    assert made_of.trainable == 0 and made_of.stored_bytes == 0 and made_of.total >= 35
    for item in owned(features):
        origin = origin_of(item)
        assert isinstance(origin, Seeded)
        assert torch.equal(origin.draw(item.parameter.shape), item.parameter)
    x = torch.randn(2, 5, requires_grad=True)
    if (out := features(x).sum()).requires_grad:  # a threshold has no slope
        out.backward()
        assert x.grad.abs().sum() > 0  # the layer below would learn


@pytest.mark.parametrize("name", [name for name in MAPS if "orthogonal" not in name])
def test_a_wider_map_has_the_rows_of_the_narrow_one(name):
    narrow, wide = MAPS[name](6, 10, 4), MAPS[name](6, 25, 4)
    assert torch.equal(wide.weight[:10], narrow.weight)


def test_names_and_seeds_tell_maps_apart():
    one = RandomProjection(6, 10, seed=4)
    assert not torch.equal(one.weight, RandomProjection(6, 10, seed=5).weight)
    assert not torch.equal(one.weight, RandomProjection(6, 10, seed=4, stream="other").weight)
    assert torch.equal(one.weight, RandomProjection(6, 10, seed=4).weight)


@pytest.mark.parametrize("kind", get_args(ProjectionKind))
def test_entries_have_mean_zero_and_variance_one(kind):
    w = RandomProjection(100, 800, seed=2, kind=kind).weight.double()
    assert abs(w.mean()) < 5 / math.sqrt(w.numel())
    assert w.square().mean().item() == pytest.approx(1, abs=0.03)
    if kind == "sparse":
        assert (w == 0).double().mean().item() == pytest.approx(2 / 3, abs=0.01)
        assert set(w.abs().unique().tolist()) == {0.0, float(np.float32(3**0.5))}


def test_an_orthogonal_projection_to_all_dimensions_is_an_isometry():
    projection = RandomProjection(64, 64, seed=0, kind="orthogonal").double()
    assert torch.allclose(torch.cdist(projection(X), projection(X)), torch.cdist(X, X), atol=1e-6)


def test_kernels_agree_with_integrals_and_with_scikit_learn():
    x, y = X[:4], X[4:9]
    fourier = FourierFeatures(64, 1, seed=0, gamma=0.2)
    theirs = RBF(length_scale=math.sqrt(1 / (2 * 0.2)))(x.numpy(), y.numpy())
    assert np.allclose(fourier.kernel(x, y), theirs, atol=1e-12)
    # Two inputs span a plane, so the mean over Gaussian vectors is one over the angle of their part in it.
    phi = torch.linspace(0, 2 * math.pi, 200_001, dtype=torch.float64)[:-1]
    for theta in (0.0, 0.3, 1.7, math.pi):
        pair = torch.tensor([[2.0, 0.0], [3 * math.cos(theta), 3 * math.sin(theta)]], dtype=torch.float64)
        seen = torch.stack([phi.cos(), phi.sin()], 1) @ pair.T
        relu = ReLUFeatures(2, 1, seed=0).kernel(pair[:1], pair[1:]).item()
        # the squared length of a Gaussian vector in the plane has mean 2, times the features' factor 2
        assert relu == pytest.approx(4 * (seen.relu()[:, 0] * seen.relu()[:, 1]).mean().item(), abs=1e-6)
        fires = ThresholdFeatures(2, 1, seed=0).kernel(pair[:1], pair[1:]).item()
        assert fires == pytest.approx(2 * ((seen > 0).all(1)).double().mean().item(), abs=1e-4)


def test_kitchen_sinks_and_scikit_learns_agree_in_distribution():
    """Rule: over 300 seeds each, the estimates of the kernel at each of 8 pairs of digits pass a two-sample
    Kolmogorov-Smirnov test at 0.001 / 8, and so do their standard deviations to one part in five."""
    gamma, n, seeds = 0.2, 100, 300
    x, y = X[:8], X[4:]
    ours, theirs = [], []
    for seed in range(seeds):
        ours.append(product(FourierFeatures(64, n, seed=seed, gamma=gamma), x, y).diagonal().numpy())
        sampler = RBFSampler(gamma=gamma, n_components=n, random_state=seed).fit(x.numpy())
        theirs.append((sampler.transform(x.numpy()) * sampler.transform(y.numpy())).sum(1))
    ours, theirs = np.array(ours), np.array(theirs)
    assert min(stats.ks_2samp(a, b).pvalue for a, b in zip(ours.T, theirs.T, strict=True)) > 0.001 / 8
    assert ours.std(0) == pytest.approx(theirs.std(0), rel=0.2)
    # The rule can fail: a gamma that is a fifth too large is found out.
    other = [
        product(FourierFeatures(64, n, seed=seed, gamma=1.2 * gamma), x, y).diagonal()
        for seed in range(seeds)
    ]
    other = torch.stack(other).numpy()
    assert min(stats.ks_2samp(a, b).pvalue for a, b in zip(other.T, theirs.T, strict=True)) < 0.001 / 8


def test_in_one_dimension_the_kernel_is_that_of_the_sums_which_are_drawn():
    features = FourierFeatures(1, 400_000, seed=1, gamma=0.5).double()
    x = torch.tensor([[0.0]], dtype=torch.float64)
    y = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    found = product(features, x, y)
    error = 5 / math.sqrt(400_000)
    a = math.sqrt(
        2 * features.gamma * 3 / 8
    )  # a weight is the sum of eight numbers that are uniform on [-a, a]
    drawn = torch.sinc(a * (x[:, None] - y[None]) / math.pi).pow(8).prod(-1)
    assert torch.allclose(found, drawn, atol=error)
    assert (found - features.kernel(x, y)).abs().max() > error  # which is not the Gaussian's


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"kind must be 'gaussian', .* or 'orthogonal', got 'dense'"):
        RandomProjection(4, 3, seed=0, kind="dense")
    with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
        ReLUFeatures(4, 0, seed=0)
    with pytest.raises(ValueError, match="gamma must be positive, got 0"):
        FourierFeatures(4, 3, seed=0, gamma=0)
    with pytest.raises(ValueError, match="seed must be an integer"):
        ReLUFeatures(4, 3, seed=-1)


def test_the_stream_names_are_those_that_the_docstrings_say():
    features = FourierFeatures(3, 4, seed=9)
    words = Stream(9, "kitchen-sinks.bias").words(0, 4)
    assert [item.stream for item in owned(features)] == ["kitchen-sinks", "kitchen-sinks.bias"]
    assert torch.equal(features.bias > 0, words >= 2**31)
