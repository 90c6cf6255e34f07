"""The bench's puzzles as part of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from reservoir.datasets import Examples, Generated, Stored
from reservoir.datasets.batches import raw_words
from reservoir.datasets.bench import Circle, Facts, Grammar, Puzzle
from reservoir.datasets.examples import Batch
from reservoir.models import TaggerConfig
from reservoir.training.classification import METRIC, PuzzleTask
from reservoir.weights.accounting import rounded
from reservoir_lab.runs.tasks.batch_spec import BatchSpec, share_of, token_ids
from reservoir_lab.runs.tasks.computation import TEST, VALID, _written

SAMPLES = 2  # answered sequences that a record shows: there are thousands of records
LOOK = 10**9 + 3  # number of the stream that chooses which facts validate


@dataclass(frozen=True)
class OnPuzzle:
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
        return self.puzzle.vocabulary + 1

    @property
    def data(self) -> str:
        """The name of the data, as `content_digest` knows it."""
        return type(self.puzzle).__name__.lower()

    def load(self, vocabulary: None = None, *, seed: int = 0) -> tuple[Examples, range]:
        """The sequences that the seed draws, and the ids of their tokens."""
        return self.examples(seed), range(self.vocabulary)

    def examples(self, seed: int) -> Examples:
        """What is trained on, validated on and asked in the end."""
        puzzle, names = self.puzzle, tuple(map(str, range(self.puzzle.answers)))
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

    def test(self, model: Any, task: PuzzleTask, corpus: Examples) -> tuple[dict, list]:
        """The measures on what is asked in the end, and some answers."""
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
        tests = task.score(model, corpus.test) | {"sequences": len(corpus.test)}
        for bits in self.rounded:
            tests[f"{METRIC} at {bits} bits"] = task.score(rounded(model, bits), corpus.test)[METRIC]
        return {"test": tests}, samples

    def fit(self, config: TaggerConfig, vocabulary: int) -> TaggerConfig:
        """The model's sizes with those filled in that the puzzle decides."""
        puzzle = self.puzzle
        config = config.filled_in(vocab=self.vocabulary, outputs=puzzle.questions * puzzle.answers)
        return replace(config, max_length=puzzle.length)

    def batch_spec(self, *, processes: int = 1) -> BatchSpec:
        """What one process sees of a batch, without any data."""
        rows = share_of(self.batch, processes)
        places = getattr(self.puzzle, "places", 1 if isinstance(self.puzzle, Facts) else self.puzzle.length)
        batch = Batch(token_ids(rows, self.puzzle.length), token_ids(rows, places, self.puzzle.questions))
        return BatchSpec(lambda model: PuzzleTask.loss(model, batch), rows * self.puzzle.length, rows)

    def longest_sequence(self) -> int:
        """The most places that a sequence has."""
        return self.puzzle.length
