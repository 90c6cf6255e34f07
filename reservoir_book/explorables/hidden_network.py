"""Drag the share of weights that a mask keeps: a random network that reads digits, and the records at that share."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.weights import Mask, initialise, supermask
from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS
from reservoir_lab.corpora import images
from reservoir_lab.recipes.supermasks import PERCENTAGES
from reservoir_lab.runs import find_records

SIDE, HIDDEN, CLASSES = 4, 20, 10
GREYS = 15  # the largest value of a pixel
CURVES = {
    "shared-random": ("one shared layer, random embeddings", "masked"),
    "layers-random": ("layers of their own, random embeddings", "masked"),
    "shared-pretrained": ("one shared layer, pretrained embeddings", "pretrained"),
}
"""The recorded curves that it shows, what they are called, and in which colour."""


class Reader(nn.Module):
    """Two linear maps with a ReLU between, from 16 pixels to 10 digits; all of it drawn from a seed."""

    def __init__(self) -> None:
        super().__init__()
        self.up = Linear(SIDE * SIDE, HIDDEN, stream="reader.up", bias=False)
        self.down = Linear(HIDDEN, CLASSES, stream="reader.down", bias=False)

    def forward(self, x: Tensor) -> Tensor:  # (n, 16) -> logits (n, 10)
        return self.down(torch.relu(self.up(x)))


def drawn_reader(keep: float, *, seed: int) -> Reader:
    """The network whose weights are plus or minus one constant, with scores that have not learned."""
    reader = Reader()
    initialise(reader, seed=seed)
    supermask(reader, Mask(keep=keep, drawn="signed-constant"), seed=seed)
    return reader


@functools.cache
def small_digits() -> dict[str, tuple[Tensor, Tensor]]:
    """scikit-learn's digits in 4 × 4 pixels from 0 to 15, "train" and "test": (n, 16) int64 and (n,) labels."""
    corpus = images("digits")
    found = {}
    for name, part in (("train", corpus.train), ("test", corpus.test)):
        pixels = F.avg_pool2d(part.pixels[..., 0].float(), 2).flatten(1)
        found[name] = ((pixels * GREYS / 255).round().long(), part.labels)
    return found


def seen(pixels: Tensor) -> Tensor:
    """What the network gets of pixels: from -1 to 1."""
    return pixels * 2 / GREYS - 1


def search(keep: float, *, seed: int = 0, steps: int = 300) -> Reader:
    """Find a mask: full batches, Adam on the scores, nothing else moves."""
    pixels, labels = small_digits()["train"]
    x, reader = seen(pixels), drawn_reader(keep, seed=seed)
    scores = [p for p in reader.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(scores, lr=0.02)
    for _ in range(steps):
        loss = F.cross_entropy(reader(x), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return reader.eval()


def accuracy(reader: Reader) -> float:
    """Percent of the test digits."""
    pixels, labels = small_digits()["test"]
    return 100 * (reader(seen(pixels)).argmax(1) == labels).float().mean().item()


def packed(reader: Reader) -> str:
    """The bits of both masks, row by row, four to a hexadecimal digit, the first bit the highest."""
    masks: list[Any] = [reader.up.mask, reader.down.mask]
    bits = torch.cat([mask.chosen().flatten() for mask in masks]).int()
    return "".join(f"{int(8 * a + 4 * b + 2 * c + d):x}" for a, b, c, d in bits.view(-1, 4))


def recorded(curve: str) -> list[dict[str, float]]:
    """A curve's points that have been run: percent, mean, low and high BLEU over seeds, and how many there are."""
    points = []
    for percent in PERCENTAGES:
        values = [one.score for one in find_records(f"keep/{curve}-{percent}")]
        if values:
            of = {"mean": sum(values) / len(values), "low": min(values), "high": max(values)}
            rounded = {name: round(value, 2) for name, value in of.items()}
            points.append({"percent": percent, **rounded, "seeds": len(values)})
    return points


class HiddenNetwork(Explorable, folder="hidden_network"):
    """A random network of 520 weights and the masks that were found in it, which keep from 10 % to 90 % of them.

    The page draws the weights from the seed, applies the bits, and reads the test digits with what is left. Make it
    with `HiddenNetwork.searched()`.

    Attributes:
        keep: percent of the weights that take part, one of those that were searched.
        shown: number of the test digit that it reads.
        seed: of the weights.
        masks: for each percentage the bits of both masks, from `packed`.
        pictures, labels: the test digits, a hexadecimal digit for each pixel, and what they are.
        curves: what was recorded of translation, from `recorded`.
    """

    keep = traitlets.Int(50, min=10, max=90).tag(sync=True)
    shown = traitlets.Int(3, min=0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    masks = traitlets.Dict().tag(sync=True)
    pictures = traitlets.Unicode().tag(sync=True)
    labels = traitlets.Unicode().tag(sync=True)
    curves: traitlets.List = traitlets.List().tag(sync=True)

    @classmethod
    def searched(cls, *, seed: int = 0, steps: int = 300, **settings: Any) -> HiddenNetwork:
        """The explorable with a mask for each percentage, searched now, and the records that there are."""
        settings.setdefault("label", "A network hidden in a random one")
        settings.setdefault(
            "text",
            "A random network from 16 pixels over 20 units to 10 digits, of whose weights a mask keeps half; next to"
            " it the mask of its lower map as a matrix of squares. Below, the recorded BLEU of translators against the"
            " share of weights that is kept.",
        )
        pixels, labels = small_digits()["test"]
        found = {percent: search(percent / 100, seed=seed, steps=steps) for percent in PERCENTAGES}
        return cls(
            seed=seed,
            masks={str(percent): packed(reader) for percent, reader in found.items()},
            pictures="".join(f"{value:x}" for value in pixels.flatten().tolist()),
            labels="".join(map(str, labels.tolist())),
            curves=[
                {"name": name, "origin": origin, "points": recorded(curve)}
                for curve, (name, origin) in CURVES.items()
            ],
            **settings,
        )

    def picture(self) -> str | None:
        """The mask of the lower map: a square for each weight, filled where it is kept, stronger where it is plus."""
        bits = self.masks.get(str(self.keep))
        if not bits:
            return None
        kept = [int(digit, 16) >> shift & 1 for digit in bits for shift in (3, 2, 1, 0)]
        weights = drawn_reader(self.keep / 100, seed=self.seed).up.weight.flatten().tolist()
        width = SIDE * SIDE
        cells = []
        for i, weight in enumerate(weights):
            opacity = (1 if weight > 0 else 0.4) if kept[i] else 0.06
            cells.append(pictures.rect(12 * (i % width), 12 * (i // width), 11, 11, fill_opacity=opacity))
        return pictures.svg(12 * width, 12 * HIDDEN, *cells, fill=ORIGINS["masked"])
