"""Tasks that are not language as part of a run: bits, expressions, pictures, proteins, and the puzzles of the bench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets import Examples, Generated, Stored
from reservoir.datasets.batches import Minibatch, padded, padded_numbers, raw_words
from reservoir.datasets.bench import Circle, Facts, Grammar, Puzzle
from reservoir.models import TaggerConfig, UniversalConfig
from reservoir.training import ComputationTask
from reservoir.training.classification import METRIC, PuzzleTask
from reservoir.weights.accounting import rounded
from reservoir_lab import corpora
from reservoir_lab.corpora import Files, calculations, examples
from reservoir_lab.corpora.calculations import BitMemory, BitXor
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.corpora.own import FILES
from reservoir_lab.corpora.own_texts import numbers_of, own_sequences
from reservoir_lab.runs.tasks import FILLED, BatchSpec, Settings, share_of, token_ids

LOOK = 10**9 + 3  # number of the stream that chooses which facts validate
SHAPES = {"digits": (8, 8, 1, 10), "mnist": (28, 28, 1, 10), "cifar10": (32, 32, 3, 10)}
"""Rows, columns and channels of a picture, and how many classes there are."""
RESIDUES = 256  # that a protein is taken to have where nobody has looked
VALID, TEST = 1, 2  # of generated tasks: seeds of what is held out; training draws from its own


Inputs = dict[str, Any]
"""What a model has to be told of inputs of one's own: sizes of pictures; mean and spread of numbers."""
Own = tuple[dict[str, Stored], tuple[str, ...], Inputs, list[str]]
"""Examples of one's own by part, their classes, what a model has to be told of them, and what there is to say."""


@dataclass(frozen=True)
class Computation(Settings):
    """What all of these tasks share.

    Args:
        batch: sequences in a batch.
        held_out: how many sequences validate; as many test, where there is no test set of its own.
    """

    batch: int = 32
    held_out: int = 1000

    @property
    def vocabulary(self) -> int:
        """How many tokens there are; 0 where a position is numbers."""
        return 0

    def prepare(self, vocabulary: None = None) -> tuple[Examples, range]:
        """The sequences, and the ids of the tokens that they are made of."""
        return self.examples(), range(self.vocabulary)

    def task(self, corpus: Examples, vocabulary: range, *, seed: int) -> ComputationTask:
        """What the training loop trains on."""
        return ComputationTask(corpus, batch=self.batch, seed=100 + seed)

    def test(self, model: Any, task: ComputationTask, corpus: Examples) -> dict[str, dict]:
        """The share of right answers on the test set."""
        return {"test": task.score(model, corpus.test) | {"sequences": len(corpus.test)}}

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any data."""
        rows = share_of(self.batch, processes)
        batch, tokens = self.shapes(rows)
        return BatchSpec(lambda model: ComputationTask.loss(model, batch), tokens, rows)

    def shapes(self, rows: int) -> tuple[Minibatch, float]:
        """A batch on the meta device, and how many positions of it are no filling."""
        raise NotImplementedError

    def longest_sequence(self) -> int:
        """The most positions that a training sequence can have."""
        return self.shapes(1)[0].x.shape[1]

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

    def shapes(self, rows: int) -> tuple[Minibatch, float]:
        patch, strings = (self.patch, self.strings + 1) if self.kind == "memory" else (1, 2)
        places = self.length // patch
        x = torch.empty(rows, strings * places, patch, device="meta")
        return Minibatch(x, token_ids(rows, places, patch)), rows * strings * places

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
        depth, arguments, shortest, longest: as in `reservoir_lab.corpora.calculations.draw_expressions`.
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

    def shapes(self, rows: int) -> tuple[Minibatch, float]:
        batch = Minibatch(token_ids(rows, self.longest), token_ids(rows), token_ids(rows))
        return batch, rows * (self.shortest + self.longest) / 2

    def examples(self) -> Examples:
        ids = {token: number for number, token in enumerate(calculations.VOCABULARY)}
        total = self.n + 2 * self.held_out
        found, values = calculations.draw_expressions(
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

    corpus_field: ClassVar[str] = "images"
    images: str = "digits"
    patch: int = 4
    shrink: int = 1
    n: int = 0
    tested: int = 0
    size: tuple[int, int] = field(default=(0, 0), metadata={"omit_if_default": True})
    channels: int = field(default=0, metadata={"omit_if_default": True})
    files: Files = field(default_factory=Files)

    @property
    def own(self) -> bool:
        """Whether the pictures are the reader's."""
        return self.images.startswith(FILES)

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

    def shapes(self, rows: int) -> tuple[Minibatch, float]:
        high, wide, channels, _ = self.shape()
        patch, step = self.patch or 1, (self.patch or 1) * self.shrink
        length, features = (high // step) * (wide // step), patch**2 * (channels if self.patch else 1)
        return Minibatch(torch.empty(rows, length, features, device="meta"), token_ids(rows)), rows * length

    def sequences(self, pixels: Tensor) -> Tensor:
        """Pictures as sequences of numbers."""
        if self.shrink > 1:
            pixels = examples.shrunk(pixels, self.shrink)
        if not self.patch:
            return examples.bytes_in_a_row(pixels)
        return examples.patches(pixels, self.patch)

    def examples(self) -> Examples:
        if self.own:
            return _own(self, content_digest(self.images))
        corpus = corpora.images(self.images)
        end = len(corpus.train) - self.held_out  # the last validate
        cuts = (slice(min(self.n or end, end)), slice(end, None))
        train, valid = (self.stored(corpus.train.pixels[cut], corpus.train.labels[cut]) for cut in cuts)
        test = self.stored(corpus.test.pixels, corpus.test.labels)
        return Examples(self.images, corpus.classes, train, valid, test.part(slice(self.tested or len(test))))

    def stored(self, pixels: Tensor, labels: Tensor) -> Stored:
        """Pictures as the model reads them."""
        return Stored(pixels, labels, prepare=self.sequences)

    def own_parts(self, name: str, *, known: tuple[str, ...] = (), inputs: Inputs | None = None) -> Own:
        """Pictures of one's own.

        Args:
            name: "files:PATH".
            known: the classes of a model that is to be scored: then nothing is split.
            inputs: the size, the channels and the scale that such a model takes.
        """
        given = inputs or {"size": self.size, "channels": self.channels}
        parts, classes, scale, notes = corpora.own_pictures.own_pictures(
            name,
            self.files,
            patch=self.patch * self.shrink,
            size=tuple(given["size"]),
            channels=given["channels"],
            scale=given.get("scale", 0),
            known=known,
        )
        rows, columns, channels = next(iter(parts.values()))[0].shape[1:]
        found: Inputs = {"size": [rows, columns], "channels": channels} | ({"scale": scale} if scale else {})
        return {part: self.stored(*one) for part, one in parts.items()}, classes, found, notes

    def of_things(self, things: Sequence[Any], inputs: Inputs) -> Stored:
        """Pictures, by their paths, as a model of such inputs reads them."""
        given = tuple(inputs["size"]), inputs["channels"], inputs.get("scale", 0)
        pixels = torch.stack([corpora.own_pictures.read_picture(path, *given) for path in things])
        return self.stored(pixels, torch.zeros(len(pixels), dtype=torch.int64))


@dataclass(frozen=True)
class Sequences(Computation):
    """Which class does a sequence of your own numbers belong to?

    Args:
        corpus: "files:PATH", a table with a column of labels, and numbers in the others.
        features: numbers of a position.
        files: which columns are read, and how they are split.
    """

    corpus: str = ""
    features: int = 1
    files: Files = field(default_factory=Files)

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        return config.sized(self.features, len(self.examples().classes))

    def shapes(self, rows: int) -> tuple[Minibatch, float]:
        corpus = self.examples()
        longest = max(
            part.x.shape[1] for part in (corpus.train, corpus.valid, corpus.test) if isinstance(part, Stored)
        )
        batch = Minibatch(
            torch.empty(rows, longest, self.features, device="meta"), token_ids(rows), token_ids(rows)
        )
        return batch, FILLED * rows * longest

    def examples(self) -> Examples:
        return _own(self, content_digest(self.corpus))

    def stored(self, rows: Sequence[Sequence[float]], labels: Sequence[int], inputs: Inputs) -> Stored:
        """Sequences as the model reads them: shifted and scaled as those that it was trained on."""
        mean, spread = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("mean", "spread"))
        shaped = [torch.tensor(row, dtype=torch.float64).view(-1, self.features) for row in rows]
        x, last = padded_numbers([((row - mean) / spread).float() for row in shaped])
        return Stored(x, torch.tensor(labels), last=last)

    def own_parts(self, name: str, *, known: tuple[str, ...] = (), inputs: Inputs | None = None) -> Own:
        """Sequences of one's own; the arguments are as in `Pictures.own_parts`, and inputs have mean and spread."""
        parts, classes, notes = own_sequences(name, self.files, known, features=self.features)
        if inputs is None:
            flat = (number for row in parts["train"][0] for number in row)
            whole = torch.tensor(list(flat), dtype=torch.float64).view(-1, self.features)
            mean, spread = whole.mean(0), whole.std(0, correction=0)
            inputs = {"mean": mean.tolist(), "spread": torch.where(spread > 0, spread, 1.0).tolist()}
        return {part: self.stored(*one, inputs) for part, one in parts.items()}, classes, inputs, notes

    def of_things(self, things: Sequence[Any], inputs: Inputs) -> Stored:
        """Sequences, in a text with spaces between or as numbers, as a model of such inputs reads them."""
        rows = [
            numbers_of(
                thing.split()
                if isinstance(thing, str)
                else [str(float(number)) for number in np.ravel(thing)],
                f"sequence {number}",
                self.features,
            )
            for number, thing in enumerate(things, start=1)
        ]
        return self.stored(rows, [0] * len(rows), inputs)


@lru_cache(maxsize=1)
def _own(task: Pictures | Sequences, digest: str) -> Examples:
    """Examples of one's own; of several test sets, the first."""
    with torch.device("cpu"):  # also for a model that has no storage
        parts, classes, inputs, notes = task.own_parts(task.data)
    test = next(part for part in sorted(parts) if part.startswith("test"))
    ends = {"train": getattr(task, "n", 0), test: getattr(task, "tested", 0)}
    made = (parts[part].part(slice(ends.get(part) or None)) for part in ("train", "valid", test))
    return Examples(task.data, classes, *made, notes=tuple(notes), inputs=inputs)


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
    def vocabulary(self) -> int:
        return examples.TOKENS

    def fit(self, config: UniversalConfig, vocabulary: int) -> UniversalConfig:
        return replace(config.sized(vocabulary, examples.FOLDS), tokens=True)

    def shapes(self, rows: int) -> tuple[Minibatch, float]:
        length = min(self.longest, RESIDUES)
        return Minibatch(token_ids(rows, length), token_ids(rows), token_ids(rows)), FILLED * rows * length

    def longest_sequence(self) -> int:
        return self.longest

    def examples(self) -> Examples:
        if self.corpus == "tape":
            return examples.proteins(longest=self.longest)
        parts = (
            examples.made_up(n, seed=seed) for seed, n in enumerate((1000, self.held_out, self.held_out))
        )
        return Examples("made-up proteins", tuple(f"fold {n}" for n in range(examples.FOLDS)), *parts)


@dataclass(frozen=True)
class OnPuzzle(Settings):
    """A puzzle, and how it is trained on.

    Args:
        puzzle: the task.
        batch: sequences in a batch.
        held_out: how many sequences validate while a run trains. Facts are those that are learned.
        tested: how many are asked in the end; of facts all, of grammar all sentences that are held out.
        rounded: bits; the model is scored once more with each matrix rounded to so many an entry
            (`reservoir.weights.accounting.rounded`), as "accuracy at 8 bits".
    """

    puzzle: Puzzle = field(default_factory=Circle)
    batch: int = 32
    held_out: int = 64
    tested: int = 2000
    rounded: tuple[int, ...] = ()

    @property
    def vocabulary(self) -> int:
        """How many tokens there are, the padding included."""
        return self.puzzle.sizes.vocabulary + 1

    @property
    def data(self) -> str:
        """The name of the data, as `content_digest` knows it."""
        return type(self.puzzle).__name__.lower()

    def prepare(self, vocabulary: None = None, *, seed: int = 0) -> tuple[Examples, range]:
        """The sequences that the seed draws, and the ids of their tokens."""
        return self.examples(seed), range(self.vocabulary)

    def examples(self, seed: int) -> Examples:
        """What is trained on, validated on and asked in the end."""
        puzzle, names = self.puzzle, tuple(map(str, range(self.puzzle.sizes.answers)))
        if isinstance(puzzle, Facts):
            table = puzzle.table(seed)
            order = np.argsort(raw_words(seed, LOOK)(puzzle.facts), kind="stable")[: self.held_out]
            parts = (torch.from_numpy(order), torch.arange(puzzle.facts))
            train: Generated | Stored = Generated(partial(puzzle.draw, table=table))
            held_out = [Stored(*puzzle.asked(which, table)) for which in parts]
        elif isinstance(puzzle, Grammar):
            learned, asked = puzzle.split(seed)
            train, test = Stored(*learned), Stored(*asked)
            held_out = [test.part(slice(self.held_out)), test]
        else:
            train = Generated(puzzle.draw)
            held_out = [train.some(n, seed=s) for n, s in ((self.held_out, VALID), (self.tested, TEST))]
        return Examples(self.data, names, train, *held_out)

    def task(self, corpus: Examples, vocabulary: range, *, seed: int) -> PuzzleTask:
        """What the training loop trains on."""
        return PuzzleTask(self.puzzle, corpus, batch=self.batch, seed=100 + seed)

    def test(self, model: Any, task: PuzzleTask, corpus: Examples) -> dict[str, dict]:
        """The measures on what is asked in the end."""
        tests = task.score(model, corpus.test) | {"sequences": len(corpus.test)}
        for bits in self.rounded:
            tests[f"{METRIC} at {bits} bits"] = task.score(rounded(model, bits), corpus.test)[METRIC]
        return {"test": tests}

    def fit(self, config: TaggerConfig, vocabulary: int) -> TaggerConfig:
        """The model's sizes with those filled in that the puzzle decides."""
        sizes = self.puzzle.sizes
        config = config.sized(self.vocabulary, sizes.questions * sizes.answers)
        return replace(config, max_length=sizes.length)

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any data."""
        rows, sizes = share_of(self.batch, processes), self.puzzle.sizes
        batch = Minibatch(token_ids(rows, sizes.length), token_ids(rows, sizes.places, sizes.questions))
        return BatchSpec(lambda model: PuzzleTask.loss(model, batch), rows * sizes.length, rows)

    def longest_sequence(self) -> int:
        """The most places that a sequence has."""
        return self.puzzle.sizes.length
