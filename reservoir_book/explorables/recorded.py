"""Explorables of recorded runs: frozen components (chapter 4), parts of a frozen body (7), hidden networks (8)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.weights import Mask, initialise, report, supermask
from reservoir.weights.freezing import COMPONENTS
from reservoir_book import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS
from reservoir_lab import recipes
from reservoir_lab.corpora import images
from reservoir_lab.evidence import sources
from reservoir_lab.recipes import universal
from reservoir_lab.recipes.components import ROWS, TABLES, in_table
from reservoir_lab.recipes.supermasks import PERCENTAGES
from reservoir_lab.runs import Record, Run, find_records
from reservoir_lab.runs.building import bare_model
from reservoir_lab.runs.convergence import epochs_to_converge
from reservoir_lab.runs.registry import Scale


def curves(records: Iterable[Record]) -> list[list[list[float]]]:
    """The validation curve of each record: its steps, and its metric to two decimals."""
    return [
        [
            [point["step"] for point in one.points],
            [round(point["metrics"][one.metric], 2) for point in one.points],
        ]
        for one in records
    ]


def parameters(run: Run, parts: Mapping[str, Iterable[str]]) -> tuple[dict[str, int], int]:
    """Parameters of each part of a run's model, and of the rest of it.

    Args:
        run: whose model is counted; nothing is drawn for it.
        parts: for each part the patterns of its stream names.
    """
    with torch.device("meta"):  # shapes need no memory
        rows = report(bare_model(run)).rows
    of = {
        part: sum(row.parameters for row in rows if any(fnmatchcase(row.stream, glob) for glob in globs))
        for part, globs in parts.items()
    }
    return of, sum(row.parameters for row in rows) - sum(of.values())


PARTS = tuple(COMPONENTS)
DRAWN = ("as-trained", "identity", "hollow")
POSTER = {
    "components": ("poster/big", "BLEU"),
    "narrow": ("poster/narrow", "BLEU"),
    "language": ("poster/lm", "PPL"),
}


@functools.cache
def counted(family: str, scale: Scale) -> dict[str, Any]:
    """What the model of a family is made of at a scale: its layers, and the parameters of each component.

    Returns:
        embeddings, norms: parameters in all; attention, feed_forward: of one of them; encoder, decoder: layers; across:
        attentions of a decoder layer; width: d_ff over d_model.
    """
    run = recipes.get(f"{family}/baseline", scale=scale)
    of, rest = parameters(run, COMPONENTS)
    model: Any = run.model
    language = family == "language"
    encoder, decoder = (0, model.layers) if language else (model.encoder_layers, model.decoder_layers)
    across = 1 if language else 2
    return {
        "embeddings": of["embeddings"],
        "attention": of["attention"] // (encoder + across * decoder),
        "feed_forward": of["feed_forward"] // (encoder + decoder),
        "norms": rest,
        "encoder": encoder,
        "decoder": decoder,
        "across": across,
        "width": model.d_ff / model.d_model,
    }


def rows_of(family: str) -> list[dict[str, Any]]:
    """The rows of a table: what moves in each, what the poster prints, and what was recorded at the laptop scale."""
    where, score = POSTER[family]
    printed = sources.table(where)
    found = []
    for row, (name, plan, _) in ((row, of) for row, of in ROWS.items() if in_table(family, row)):
        records = find_records(f"{family}/{row}")
        figures = {"score": score, "epochs": "Epochs"}
        found.append(
            {
                "row": row,
                "frozen": [part for part in PARTS if getattr(plan, part)],
                "drawn": plan.drawn,
                "poster": {"name": name}
                | {key: printed.figure(name, of).printed for key, of in figures.items()},
                "scores": [round(one.score, 2) for one in records],
                "epochs": [round(epochs_to_converge(one), 2) for one in records if one.epoch_steps],
                "curves": curves(records),
            }
        )
    return found


def bars(counts: Iterable[Mapping[str, int]], origin_of: Mapping[str, str]) -> str:
    """A still picture: a bar for each model, cut by the parameters of its parts, in the colours of their origins."""
    drawn = []
    for number, of in enumerate(counts):
        unit = 480 / sum(of.values())
        pieces = [(max(3.0, n * unit), ORIGINS[origin_of[part]]) for part, n in of.items()]
        drawn.append(pictures.bar(0, 48 * number, 22, pieces))
        drawn.append(pictures.text(0, 48 * number + 38, ", ".join(of).replace("_", "-"), font_size=12))
    return pictures.svg(500, 24 * len(drawn), *drawn)


class FrozenComponents(Explorable, folder="frozen_components"):
    """Click components of a transformer on and off: the stack in the colours of its origins, its cost, its record.

    Make it with `FrozenComponents.recorded()`.

    Attributes:
        table: a family of recipes, "components", "narrow" or "language".
        embeddings, attention, feed_forward: whether that component is trained.
        drawn: how frozen attention or feed-forward maps are drawn, one of `DRAWN`.
        tables: for each table its sizes, its rows, and what they are called.
    """

    table = traitlets.Enum(list(TABLES), "components").tag(sync=True)
    embeddings = traitlets.Bool(True).tag(sync=True)
    attention = traitlets.Bool(True).tag(sync=True)
    feed_forward = traitlets.Bool(False).tag(sync=True)
    drawn = traitlets.Enum(list(DRAWN), "as-trained").tag(sync=True)
    tables = traitlets.Dict().tag(sync=True)

    @classmethod
    def recorded(cls, **settings: Any) -> FrozenComponents:
        """The explorable with the records that there are."""
        settings.setdefault("label", "Which components move?")
        settings.setdefault(
            "text",
            "A transformer as boxes, each as long as it has parameters: embeddings at the bottom, above them layers of"
            " attention and feed-forward maps. The feed-forward boxes are frozen and drawn from a seed, the others"
            " are trained. Below stand the poster's score and ours.",
        )
        tables = {
            family: {
                "score": {"BLEU": "BLEU", "PPL": "perplexity"}[score],
                "larger": score == "BLEU",
                "poster": counted(family, "full"),
                "ours": counted(family, "laptop"),
                "rows": rows_of(family),
            }
            for family, (_, score) in POSTER.items()
        }
        return cls(tables=tables, **settings)

    def picture(self) -> str | None:
        """The components' parameters at the poster's sizes, in the colours of their origins."""
        if not self.tables:
            return None
        of = self.tables[self.table]["poster"]
        layers = of["encoder"] + of["decoder"]
        attentions = of["encoder"] + of["across"] * of["decoder"]
        counts = {"embeddings": 1, "attention": attentions, "feed_forward": layers}
        origins = {part: "trained" if getattr(self, part) else "seeded" for part in PARTS}
        if self.drawn == "identity":
            origins |= {part: "fixed" for part in PARTS[1:] if not getattr(self, part)}
        return bars([{part: n * of[part] for part, n in counts.items()}], origins)


SIZES: dict[str, tuple[str, Scale]] = {
    "our small GPT on digits": ("universal/digits/pretrained/lr-1e-3", "laptop"),
    "GPT-2 on CIFAR-10": ("universal/cifar10/pretrained/lr-1e-3", "full"),
}


def named(part: str) -> str:
    """The part's name as a setting."""
    return part.replace("-", "_")


@functools.cache
def counted_body(recipe: str, scale: Scale) -> dict[str, int]:
    """The parameters of each part of a recipe's model."""
    of, _ = parameters(recipes.get(recipe, scale=scale), universal.PARTS)
    return {named(part): count for part, count in of.items()}


def body_rows() -> list[dict[str, Any]]:
    """The recipes of `switches/…`: where the body is from, what is trained, and what was recorded at laptop scale."""
    return [
        {
            "start": start,
            "trained": [named(part) for part in universal.PARTS if part in parts],
            "scores": [round(float(one.tests["test"]["accuracy"]), 2) for one in records],
            "curves": curves(records),
        }
        for start in universal.STARTS
        for parts in universal.SWITCHES
        for records in [find_records(universal.switch_name(start, parts))]
    ]


class FrozenBody(Explorable, folder="frozen_body"):
    """Switch parts of a model around a language model's body on and off: their share, and the recorded curve.

    Make it with `FrozenBody.recorded()`.

    Attributes:
        start: what the body was before, "random" or "pretrained".
        input, output, positions, norms, attention, feed_forward: whether that part is trained.
        sizes: for each model that is counted, the parameters of its parts.
        rows: the recipes and their records.
    """

    start = traitlets.Enum(list(universal.STARTS), "random").tag(sync=True)
    input = traitlets.Bool(True).tag(sync=True)
    output = traitlets.Bool(True).tag(sync=True)
    positions = traitlets.Bool(True).tag(sync=True)
    norms = traitlets.Bool(True).tag(sync=True)
    attention = traitlets.Bool(False).tag(sync=True)
    feed_forward = traitlets.Bool(False).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    rows: traitlets.List = traitlets.List().tag(sync=True)

    @classmethod
    def recorded(cls, **settings: Any) -> FrozenBody:
        """The explorable with the records that there are."""
        settings.setdefault("label", "What is trained around a frozen body?")
        settings.setdefault(
            "text",
            "Input, output, positions and norms are trained, attention and feed-forward layers are frozen. Two bars say"
            " how little of a small GPT and of GPT-2 that is. A curve shows how many digits are read right while the"
            " model learns, where that has been run.",
        )
        sizes = {name: counted_body(*where) for name, where in SIZES.items()}
        return cls(sizes=sizes, rows=body_rows(), **settings)

    def picture(self) -> str | None:
        """The models' parts, in the colours of their origins."""
        if not self.sizes:
            return None
        body = "seeded" if self.start == "random" else "pretrained"
        parts = map(named, universal.PARTS)
        frozen = {part: "seeded" if part in ("input", "output") else body for part in parts}
        return bars(
            self.sizes.values(),
            {part: "trained" if getattr(self, part) else origin for part, origin in frozen.items()},
        )


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


def points(curve: str) -> list[dict[str, float]]:
    """A curve's points that have been run: percent, mean, low and high BLEU over seeds, and how many there are."""
    found = []
    for percent in PERCENTAGES:
        values = [one.score for one in find_records(f"keep/{curve}-{percent}")]
        if values:
            of = {"mean": sum(values) / len(values), "low": min(values), "high": max(values)}
            rounded = {name: round(value, 2) for name, value in of.items()}
            found.append({"percent": percent, **rounded, "seeds": len(values)})
    return found


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
        curves: what was recorded of translation, from `points`.
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
                {"name": name, "origin": origin, "points": points(curve)}
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
        weights = drawn_reader(self.keep / 100, seed=self.seed).up.weight  # the first bits are its mask
        mask = torch.tensor(kept[: weights.numel()]).view_as(weights)
        opacities = torch.where(mask == 1, torch.where(weights > 0, 1.0, 0.4), 0.06)
        cells = pictures.grid(opacities.tolist(), ORIGINS["masked"], 12, 12)
        return pictures.svg(12 * SIDE * SIDE, 12 * HIDDEN, cells)
