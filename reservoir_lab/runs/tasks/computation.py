"""Tasks that are not language as part of a run: bits, expressions, pictures and proteins, all of them as sequences."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor

from reservoir.datasets import Examples, Generated, Stored
from reservoir.datasets.examples import Batch, padded, padded_numbers
from reservoir.models import UniversalConfig
from reservoir.training import ComputationTask
from reservoir_lab import corpora
from reservoir_lab.corpora import Files, calculations, own, pictures, proteins
from reservoir_lab.corpora.calculations import BitMemory, BitXor
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.runs.tasks.batch_spec import FILLED, BatchSpec, share_of, token_ids

SAMPLES, SHOWN = 6, 60  # test sequences that a record shows, and how many numbers of each
SHAPES = {"digits": (8, 8, 1, 10), "mnist": (28, 28, 1, 10), "cifar10": (32, 32, 3, 10)}
"""Rows, columns and channels of a picture, and how many classes there are."""
RESIDUES = 256  # that a protein is taken to have where nobody has looked
VALID, TEST = 1, 2  # of generated tasks: seeds of what is held out; training draws from its own


@dataclass(frozen=True)
class Computation:
    """What all of these tasks share.

    Args:
        batch: sequences in a batch.
        held_out: how many sequences validate; as many test, where there is no test set of its own.
    """

    batch: int = 32
    held_out: int = 1000

    @property
    def data(self) -> str:
        """The name of the corpus, as `reservoir_lab.corpora.content` knows it."""
        raise NotImplementedError

    @property
    def vocabulary(self) -> int:
        """How many tokens there are; 0 where a position is numbers."""
        return 0

    def load(self, vocabulary: None = None) -> tuple[Examples, range]:
        """The sequences, and the ids of the tokens that they are made of."""
        return self.examples(), range(self.vocabulary)

    def task(self, corpus: Examples, vocabulary: range, *, seed: int) -> ComputationTask:
        """What the training loop trains on."""
        return ComputationTask(corpus, batch=self.batch, seed=100 + seed)

    def test(self, model: Any, task: ComputationTask, corpus: Examples) -> tuple[dict, list]:
        """The share of right answers on the test set, and what was said about some sequences."""
        few = corpus.test.part(slice(SAMPLES)).in_order(batch=SAMPLES)[0]
        said = task.predict(model, few)
        samples = [
            {
                "source": _written(few.x[row]),
                "reference": _written(few.y[row]),
                "prediction": _written(said[row]),
            }
            for row in range(len(few))
        ]
        return {"test": task.score(model, corpus.test) | {"sequences": len(corpus.test)}}, samples

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any data."""
        rows = share_of(self.batch, processes)
        batch, tokens = self.shapes(rows)
        return BatchSpec(lambda model: ComputationTask.loss(model, batch), tokens, rows)

    def shapes(self, rows: int) -> tuple[Batch, float]:
        """A batch on the meta device, and how many positions of it are no filling."""
        raise NotImplementedError

    def longest_sequence(self) -> int:
        """The most positions that a training sequence can have."""
        return self.shapes(1)[0].x.shape[1]

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        """The model's sizes with those filled in that the data decides."""
        raise NotImplementedError

    def examples(self) -> Examples:
        """The sequences."""
        raise NotImplementedError


@dataclass(frozen=True)
class Bits(Computation):
    """Bit memory and bit exclusive-or (Lu et al. 2021), drawn without end.

    Args:
        kind: "memory" or "xor".
        length, strings, patch: as in `BitMemory`; the exclusive-or has two strings and patches of one bit.
    """

    kind: Literal["memory", "xor"] = "memory"
    length: int = 1000
    strings: int = 5
    patch: int = 50

    @property
    def data(self) -> str:
        return f"bit {self.kind}"

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        patch = self.patch if self.kind == "memory" else 1
        return replace(config.sized(patch, 2 * patch), every=True)

    def shapes(self, rows: int) -> tuple[Batch, float]:
        patch, strings = (self.patch, self.strings + 1) if self.kind == "memory" else (1, 2)
        places = self.length // patch
        x = torch.empty(rows, strings * places, patch, device="meta")
        return Batch(x, token_ids(rows, places, patch)), rows * strings * places

    def examples(self) -> Examples:
        task = (
            BitMemory(self.length, self.strings, self.patch) if self.kind == "memory" else BitXor(self.length)
        )
        endless = Generated(task.draw)
        held_out = (endless.some(self.held_out, seed=seed) for seed in (VALID, TEST))
        return Examples(f"bit {self.kind}", ("0", "1"), endless, *held_out)


@dataclass(frozen=True)
class Expressions(Computation):
    """ListOps: what does a nested expression come to?

    Args:
        n: how many are drawn to train on.
        depth, arguments, shortest, longest: as in `reservoir_lab.corpora.calculations.generate`.
    """

    n: int = 20_000
    depth: int = 10
    arguments: int = 10
    shortest: int = 500
    longest: int = 1000

    @property
    def data(self) -> str:
        return "expressions"

    @property
    def vocabulary(self) -> int:
        return len(calculations.FOUR) + 1 + 10

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        return replace(config.sized(vocabulary, 10), tokens=True)

    def shapes(self, rows: int) -> tuple[Batch, float]:
        batch = Batch(token_ids(rows, self.longest), token_ids(rows), token_ids(rows))
        return batch, rows * (self.shortest + self.longest) / 2

    def examples(self) -> Examples:
        ids = {token: number for number, token in enumerate(calculations.VOCABULARY)}
        total = self.n + 2 * self.held_out
        found, values = calculations.generate(
            total,
            seed=0,
            depth=self.depth,
            arguments=self.arguments,
            shortest=self.shortest,
            longest=self.longest,
        )
        whole = padded([[ids[token] for token in one] for one in found], values)
        cuts = pairwise((0, self.n, self.n + self.held_out, total))
        return Examples("ListOps", tuple("0123456789"), *(whole.part(slice(*cut)) for cut in cuts))


@dataclass(frozen=True)
class Pictures(Computation):
    """What does a picture show, read patch by patch, or pixel by pixel?

    Args:
        images: a name that `reservoir_lab.corpora.images` knows, or "files:PATH" for a folder of your own with one
            subfolder per class.
        patch: side of a patch; 0 reads grey pixels one after another, as the Long Range Arena does.
        shrink: how many times smaller a picture's sides are made first.
        n: how many of the training pictures are used, from the first on; 0 takes all.
        tested: how many of the test pictures are used, from the first on; 0 takes all.
        size: rows and columns that pictures of your own are resized to; 0 0 chooses them by what there is.
        channels: of pictures of your own: 1 grey, 3 colours, 2 and 4 with opacity; 0 takes as many as they have.
        files: how pictures of your own are split.
    """

    images: str = "digits"
    patch: int = 4
    shrink: int = 1
    n: int = 0
    tested: int = 0
    size: tuple[int, int] = field(default=(0, 0), metadata={"omit_if_default": True})
    channels: int = field(default=0, metadata={"omit_if_default": True})
    files: Files = field(default_factory=Files)

    @property
    def data(self) -> str:
        return self.images

    @property
    def own(self) -> bool:
        """Whether the pictures are the reader's."""
        return self.images.startswith(own.FILES)

    def shape(self) -> tuple[int, int, int, int]:
        """Rows, columns and channels of a picture, and how many classes there are."""
        if not self.own:
            return SHAPES[self.images.partition("-")[0]]
        corpus = self.examples()
        rows, columns, channels = corpus.test.x.shape[1:]
        return rows, columns, channels, len(corpus.classes)

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        *_, channels, classes = self.shape()
        return config.sized(self.patch**2 * channels or 1, classes)

    def shapes(self, rows: int) -> tuple[Batch, float]:
        high, wide, channels, _ = self.shape()
        patch, step = self.patch or 1, (self.patch or 1) * self.shrink
        length, features = (high // step) * (wide // step), patch**2 * (channels if self.patch else 1)
        return Batch(torch.empty(rows, length, features, device="meta"), token_ids(rows)), rows * length

    def sequences(self, pixels: Tensor) -> Tensor:
        """Pictures as sequences of numbers."""
        if self.shrink > 1:
            pixels = pictures.shrunk(pixels, self.shrink)
        if not self.patch:
            return pictures.bytes_in_a_row(pixels)
        return pictures.patches(pixels, self.patch)

    def examples(self) -> Examples:
        if self.own:
            return _own_pictures(self, content_digest(self.images))
        corpus = corpora.images(self.images)
        end = len(corpus.train) - self.held_out  # the last validate
        cuts = (slice(min(self.n or end, end)), slice(end, None))
        train, valid = (
            Stored(corpus.train.pixels[cut], corpus.train.labels[cut], prepare=self.sequences) for cut in cuts
        )
        test = Stored(corpus.test.pixels, corpus.test.labels, prepare=self.sequences)
        return Examples(self.images, corpus.classes, train, valid, test.part(slice(self.tested or len(test))))


@lru_cache(maxsize=1)
def _own_pictures(task: Pictures, digest: str) -> Examples:
    """Pictures of one's own; of several test sets, the first."""
    unit = task.patch * task.shrink
    parts, classes, scale, notes = own.own_pictures(
        task.images, task.files, patch=unit, size=task.size, channels=task.channels
    )
    test = next(part for part in sorted(parts) if part.startswith("test"))
    ends = {"train": task.n, test: task.tested}
    train, valid, held_out = (
        Stored(*parts[part], prepare=task.sequences).part(slice(ends.get(part) or None))
        for part in ("train", "valid", test)
    )
    rows, columns, channels = train.x.shape[1:]
    inputs: dict[str, Any] = {"size": [rows, columns], "channels": channels} | (
        {"scale": scale} if scale else {}
    )
    return Examples(task.images, classes, train, valid, held_out, notes=tuple(notes), inputs=inputs)


@dataclass(frozen=True)
class Sequences(Computation):
    """Which class does a sequence of your own numbers belong to?

    Args:
        corpus: "files:PATH", a table with a column of labels, and numbers in the others.
        features: numbers of a position.
        standardise: shift and scale the numbers, so that those to train on have mean 0 and standard deviation 1.
        files: which columns are read, and how they are split.
    """

    corpus: str = ""
    features: int = 1
    standardise: bool = True
    files: Files = field(default_factory=Files)

    @property
    def data(self) -> str:
        return self.corpus

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        return config.sized(self.features, len(self.examples().classes))

    def shapes(self, rows: int) -> tuple[Batch, float]:
        corpus = self.examples()
        longest = max(
            part.x.shape[1] for part in (corpus.train, corpus.valid, corpus.test) if isinstance(part, Stored)
        )
        batch = Batch(
            torch.empty(rows, longest, self.features, device="meta"), token_ids(rows), token_ids(rows)
        )
        return batch, FILLED * rows * longest

    def examples(self) -> Examples:
        return _own_sequences(self, content_digest(self.corpus))


@lru_cache(maxsize=1)
def _own_sequences(task: Sequences, digest: str) -> Examples:
    parts, classes, notes = own.own_sequences(task.corpus, task.files, features=task.features)
    test = next(part for part in sorted(parts) if part.startswith("test"))
    rows = {
        part: [torch.tensor(row, dtype=torch.float64).view(-1, task.features) for row in parts[part][0]]
        for part in ("train", "valid", test)
    }
    whole = torch.cat(rows["train"])
    mean, spread = whole.mean(0), whole.std(0, correction=0)
    if not task.standardise:
        mean, spread = torch.zeros_like(mean), torch.ones_like(spread)
    spread = torch.where(spread > 0, spread, 1.0)
    made = []
    for part in ("train", "valid", test):
        x, last = padded_numbers([((row - mean) / spread).float() for row in rows[part]])
        made.append(Stored(x, torch.tensor(parts[part][1]), last=last))
    inputs = {"mean": mean.tolist(), "spread": spread.tolist()}
    return Examples(task.corpus, classes, *made, notes=tuple(notes), inputs=inputs)


@dataclass(frozen=True)
class Proteins(Computation):
    """Remote homology: which fold does a protein have?

    Args:
        corpus: "tape" (Rao et al. 2019), or "made-up", which needs no download and is no biology.
        longest: amino acids that are read of a protein.
    """

    corpus: Literal["tape", "made-up"] = "tape"
    longest: int = 1024

    @property
    def data(self) -> str:
        return self.corpus

    @property
    def vocabulary(self) -> int:
        return proteins.TOKENS

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        return replace(config.sized(vocabulary, proteins.FOLDS), tokens=True)

    def shapes(self, rows: int) -> tuple[Batch, float]:
        length = min(self.longest, RESIDUES)
        return Batch(token_ids(rows, length), token_ids(rows), token_ids(rows)), FILLED * rows * length

    def longest_sequence(self) -> int:
        return self.longest

    def examples(self) -> Examples:
        if self.corpus == "tape":
            return proteins.proteins(longest=self.longest)
        parts = (
            proteins.made_up(n, seed=seed) for seed, n in enumerate((1000, self.held_out, self.held_out))
        )
        return Examples("made-up proteins", tuple(f"fold {n}" for n in range(proteins.FOLDS)), *parts)


def _written(numbers: Tensor) -> str:
    """Numbers in a row, as a record shows them."""
    flat = numbers.flatten().tolist()
    shown = " ".join(f"{number:g}" if isinstance(number, int) else f"{number:.2g}" for number in flat[:SHOWN])
    return shown + (" …" if len(flat) > SHOWN else "")
