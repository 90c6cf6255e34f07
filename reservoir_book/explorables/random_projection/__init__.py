"""Distances after a random projection: drag the dimension, and see how many of them stay what they were."""

from __future__ import annotations

import traitlets

from reservoir_book.explorables.base import Explorable


class RandomProjection(Explorable, source=__file__):
    """Forty points under a random projection: ratios of squared distances, next to what the theorem promises.

    The weights are those of `reservoir.weights.RandomProjection(d, k, seed=seed, kind=kind)`.

    Attributes:
        k, d: dimensions after and before.
        epsilon: the relative error of a squared distance that is shaded.
        kind: "gaussian", "sign" or "sparse".
        cloud: "scattered" points, or "words" with a one in a place of their own.
        seed: of points and projection.
    """

    k = traitlets.Int(32).tag(sync=True)
    d = traitlets.Int(1024).tag(sync=True)
    epsilon = traitlets.Float(0.3).tag(sync=True)
    kind = traitlets.Enum(["gaussian", "sign", "sparse"], "gaussian").tag(sync=True)
    cloud = traitlets.Enum(["scattered", "words"], "scattered").tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
