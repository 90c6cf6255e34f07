"""The explorables of chapter 1 compute in JavaScript what the library computes in Python, on the same seed."""

import math

import numpy as np
import pytest
import torch
from javascript import JS, in_javascript
from scipy import stats
from scipy.optimize import nnls

from reservoir.reservoirs import FourierFeatures, RandomProjection
from reservoir.weights import Stream
from reservoir.weights.draws import normal, sign


def javascript(body: str, asked) -> list:
    """What `body`, an expression of `asked`, comes to under node."""
    models = "".join(
        f"import * as {name} from '{(JS / file).as_uri()}';"
        for name, file in (
            ("projection", "random_projection/model.mjs"),
            ("separability", "separability/model.mjs"),
        )
    )
    script = f"{models}\nconst asked = given;\nconsole.log(JSON.stringify({body}));"
    return in_javascript(script, asked)


@pytest.mark.parametrize("kind", ["gaussian", "sign", "sparse"])
@pytest.mark.parametrize("cloud", ["scattered", "words"])
def test_projected_distances_agree_with_python(kind, cloud):
    n, d, seed, sizes = 20, 96, 5, [1, 7, 64]
    found = javascript(
        "((held) => asked.sizes.map((k) => [...held.ratios(k)]))(new projection.Projections(asked))",
        dict(n=n, d=d, seed=seed, kind=kind, cloud=cloud, sizes=sizes),
    )
    points = normal(Stream(seed, "points"), (n, d), std=1.0) if cloud == "scattered" else torch.eye(d)[:n]
    before = torch.pdist(points.double()).square()
    for k, ratios in zip(sizes, found, strict=True):
        after = RandomProjection(d, k, seed=seed, kind=kind).double()(points.double())
        assert np.allclose(ratios, torch.pdist(after).square() / before, rtol=1e-5, atol=1e-7)


def test_the_theorem_and_the_density_agree_with_python():
    asked = [[300, 0.2], [1000, 0.1], [40, 0.9]]
    assert javascript("asked.map(([n, e]) => projection.enough(n, e))", asked) == [
        math.ceil(4 * math.log(n) / (e**2 / 2 - e**3 / 3)) for n, e in asked
    ]
    (epsilon,) = javascript("asked.map((k) => projection.promised(k, 40))", [300])
    assert 4 * math.log(40) / (epsilon**2 / 2 - epsilon**3 / 3) == pytest.approx(300, rel=1e-6)
    assert javascript("[projection.promised(50, 40) ?? null]", 0) == [None]  # nothing is promised there
    places = [[0.3, 1], [1.0, 4], [1.2, 500]]
    assert javascript("asked.map(([x, k]) => projection.density(x, k))", places) == pytest.approx(
        [stats.chi2.pdf(x, k, scale=1 / k) for x, k in places], rel=1e-9
    )


def test_cover_s_chance_agrees_with_whole_numbers():
    asked = [[1, 1], [4, 3], [20, 10], [60, 30], [60, 2], [5, 30]]
    exact = [sum(math.comb(n - 1, k) for k in range(d)) / 2 ** (n - 1) for n, d in asked]
    assert javascript("asked.map(([n, d]) => separability.chance(n, d))", asked) == pytest.approx(exact)


def python_separator(points: np.ndarray, labels: np.ndarray):
    z = labels[:, None] * points
    mixture, _ = nnls(
        np.vstack([z.T, np.ones(len(z))]), np.r_[np.zeros(z.shape[1]), 1.0], maxiter=100 * len(z)
    )
    w = mixture @ z
    return (w, None) if (z @ w > 0).all() else (None, mixture / mixture.sum())


@pytest.mark.parametrize("lifted", [False, True])
def test_drawings_and_their_separators_agree_with_python(lifted):
    sizes = [(4, 2), (12, 6), (20, 10), (40, 20), (30, 15), (60, 30), (3, 9), (60, 26)]
    asked = [dict(seed=3, number=i, n=n, d=d, lifted=lifted) for n, d in sizes for i in range(4)]
    found = javascript(
        "asked.map((one) => { const { points, labels } = separability.draw(one);"
        " const { w, mixture } = separability.separator(points, labels);"
        " const flat = (array) => array && [...array];"
        " return { points: points.map(flat), labels: flat(labels), w: flat(w), mixture: flat(mixture) }; })",
        asked,
    )
    outcomes = set()
    for one, theirs in zip(asked, found, strict=True):
        n, d = one["n"], one["d"]
        stream = Stream(3, f"separability/{one['number']}")
        points = normal(stream.sub("points"), (n, 2 if lifted else d), std=1.0).double()
        if lifted:
            points = FourierFeatures(2, d, seed=3, gamma=5.0).double()(points)
        labels = sign(stream.sub("labels"), (n,), scale=1.0).double().numpy()
        assert np.allclose(theirs["points"], points, atol=1e-5) and theirs["labels"] == labels.tolist()
        w, mixture = python_separator(points.numpy(), labels)
        outcomes.add(w is None)
        if w is None:
            assert theirs.get("w") is None
            z = labels[:, None] * points.numpy()
            assert np.allclose(np.array(theirs["mixture"]) @ z, 0, atol=1e-5)  # a proof, as Python's is
            assert min(theirs["mixture"]) >= 0 and np.allclose(mixture @ z, 0, atol=1e-5)
        else:
            assert np.allclose(theirs["w"], w, atol=1e-5)
    assert outcomes == {True, False}


def test_the_perceptron_separates_what_can_be_separated_and_counts_what_it_leaves():
    body = (
        "asked.map((one) => { const { points, labels } = separability.draw(one);"
        " const { wrong, w } = separability.perceptron(points, labels, 5000);"
        " const right = points.filter((p, i) => labels[i] * separability.dot(p, w) > 0).length;"
        " return [wrong, points.length - right, separability.separator(points, labels).w !== undefined]; })"
    )
    found = javascript(body, [dict(seed=1, number=i, n=16, d=8, lifted=False) for i in range(20)])
    assert all(wrong == counted for wrong, counted, _ in found)
    assert all(separable for wrong, _, separable in found if wrong == 0)
    solved = [wrong == 0 for wrong, _, separable in found if separable]
    assert 0 < len(solved) < len(found) and np.mean(solved) > 0.8  # a narrow gap may take longer
