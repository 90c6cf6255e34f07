"""Random labels of random points: which of them a plane can separate, one drawing at a time and on average."""

from __future__ import annotations

import traitlets

from reservoir_book.explorables.base import Explorable


class Separability(Explorable, source=__file__):
    """Cover's theorem, drawn: one labelling that is separated or fails, the share that is, and the formula.

    Lifted points lie in the plane and go through `reservoir.weights.FourierFeatures(2, d, seed=seed, gamma=5)`.

    Attributes:
        n, d: points and dimensions.
        lifted: "no" for points in d dimensions, "yes" for points in the plane that are lifted there.
        number: which drawing is shown.
        seed: of points, labels and features.
    """

    n = traitlets.Int(20).tag(sync=True)
    d = traitlets.Int(10).tag(sync=True)
    lifted = traitlets.Enum(["no", "yes"], "no").tag(sync=True)
    number = traitlets.Int(0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
