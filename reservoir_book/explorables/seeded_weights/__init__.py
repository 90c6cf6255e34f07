"""Type a seed and a name, and see the weights that they stand for: the first idea of the book, to play with."""

from __future__ import annotations

import math

import traitlets
from torch import Tensor

from reservoir.weights import Stream, draws
from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS

DISTRIBUTIONS = ("uniform", "sign", "normal", "orthogonal")


def seeded_weights(seed: int, name: str, *, kind: str = "uniform", size: int = 16) -> Tensor:
    """What `SeededWeights` shows: a (size, size) matrix with a standard deviation of 1 / √size.

    Args:
        seed, name: of the stream.
        kind: one of `DISTRIBUTIONS`, the draws of `reservoir.weights.draws`.
        size: rows and columns.
    """
    stream, shape = Stream(seed, name), (size, size)
    match kind:
        case "uniform":
            return draws.uniform(stream, shape, bound=math.sqrt(3 / size))
        case "sign":
            return draws.sign(stream, shape, scale=1 / math.sqrt(size))
        case "normal":
            return draws.normal(stream, shape, std=1 / math.sqrt(size))
        case "orthogonal":
            return draws.orthogonal(stream, *shape, gain=1.0)
    raise ValueError(f"kind must be one of {', '.join(DISTRIBUTIONS)}, got {kind!r}")


class SeededWeights(Explorable, source=__file__):
    """A matrix of weights that is stored as a seed and a name, drawn in the page with the bits that Python draws.

    Args:
        seed: a whole number.
        name: of the tensor's stream.
        kind: one of `DISTRIBUTIONS`.
        size: rows and columns, 4 to 32.
    """

    label = traitlets.Unicode("Weights from a seed").tag(sync=True)
    text = traitlets.Unicode(
        "A square matrix of small squares, strong in colour where a weight is large and pale where it is negative. "
        "A seed and a name are all that is stored; any other seed, and any other name, gives an unrelated matrix."
    ).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    name = traitlets.Unicode("encoder.0.attention.out").tag(sync=True)
    kind = traitlets.Enum(DISTRIBUTIONS, "uniform").tag(sync=True)
    size = traitlets.Int(16, min=4, max=32).tag(sync=True)

    def picture(self) -> str:
        """The matrix as it is at first."""
        weights = seeded_weights(self.seed, self.name, kind=self.kind, size=self.size)
        shares = ((weights / weights.abs().max() + 1) / 2).tolist()
        cells = (
            pictures.rect(10 * x, 10 * y, 9, 9, fill_opacity=0.04 + 0.96 * share)
            for y, row in enumerate(shares)
            for x, share in enumerate(row)
        )
        return pictures.svg(10 * self.size, 10 * self.size, *cells, fill=ORIGINS["seeded"])
