"""Train and score a tagger on a puzzle of the bench."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.datasets.bench import NOTHING, Facts, Puzzle
from reservoir.datasets.examples import Batch, Examples, Stored
from reservoir.layers.arguments import check_number
from reservoir.models import Tagger
from reservoir.training.computation import METRIC
from reservoir.training.task import device_of

AT_ONCE = 1024  # sequences that are scored together


class PuzzleTask:
    """Train on `examples.train`, validate on `examples.valid`.

    Args:
        puzzle: says what is asked and how it is scored.
        examples: its sequences.
        batch: sequences in a batch.
        seed: of what is drawn.

    Attributes:
        dropped: 0; no sequence is left out.
    """

    metric, larger_is_better, dropped = METRIC, True, 0

    def __init__(self, puzzle: Puzzle, examples: Examples, *, batch: int, seed: int):
        check_number("batch", batch, least=1, whole=True)
        check_number("seed", seed, least=0, whole=True)
        self.puzzle, self.examples, self.batch, self.seed = puzzle, examples, batch, seed
        self.train = self
        self._table: tuple[Tensor, Tensor, list[int]] | None = None

    def epoch(self, number: int) -> Sequence[Batch]:
        """The batches of an epoch."""
        return self.examples.train.epoch(number, batch=self.batch, seed=self.seed)

    def table(self, steps: int) -> tuple[Tensor, Tensor, list[int]]:
        """The batches of the first steps as one table, kept for whoever asks again.

        A batch that is short is filled up with sequences of which nothing is asked.

        Returns:
            x: (steps, batch, length) int16.
            y: (steps, batch, places, questions) int16, `NOTHING` where nothing is asked.
            The places of each batch.
        """
        if self._table is None or len(self._table[0]) < steps:
            batches = list(itertools.islice(self._batches(), steps))
            first = batches[0]
            x = torch.zeros(steps, self.batch, *first.x.shape[1:], dtype=torch.int16)
            y = torch.full((steps, self.batch, *first.y.shape[1:]), NOTHING, dtype=torch.int16)
            for step, batch in enumerate(batches):
                x[step, : len(batch)], y[step, : len(batch)] = batch.x, batch.y
            self._table = x, y, [self.size(batch)[1] for batch in batches]
        x, y, sizes = self._table
        return x[:steps], y[:steps], sizes[:steps]

    def _batches(self) -> Iterator[Batch]:
        for number in itertools.count():
            epoch = self.epoch(number)
            yield from (epoch[index] for index in range(len(epoch)))

    def size(self, batch: Batch) -> tuple[int, int]:
        """Questions, and places."""
        return int((batch.y >= 0).sum()), batch.x.numel()

    @staticmethod
    def logits(model: Tagger, batch: Batch) -> Tensor:
        """(n, places, questions, answers)."""
        places, questions = batch.y.shape[1:]
        return model(batch.x, places).unflatten(-1, (questions, -1))

    @staticmethod
    def loss(model: Tagger, batch: Batch) -> Tensor:
        """Cross-entropy, summed over questions, in nats."""
        batch = batch.to(device_of(model))
        logits = PuzzleTask.logits(model, batch).float()
        return F.cross_entropy(
            logits.flatten(0, -2), batch.y.flatten(), ignore_index=NOTHING, reduction="sum"
        )

    def validate(self, model: Tagger) -> dict[str, float]:
        """The share that is judged, on the validation set: too few are asked for the other measures."""
        return {METRIC: self.score(model, self.examples.valid)[METRIC]}

    @torch.inference_mode()
    def score(self, model: Tagger, stored: Stored) -> dict[str, float]:
        """The shares of answers that are right, in percent.

        Returns:
            "accuracy" is the share that is judged, and each measure of the puzzle stands under its own name. For facts
            "bits" are those that the model knows of the ones that were asked: the sum of log₂(values) minus the
            cross-entropy.
        """
        device = device_of(model)
        return self.measured(stored, lambda batch: self.logits(model, batch.to(device)))

    @torch.inference_mode()
    def measured(self, stored: Stored, logits_of: Callable[[Batch], Tensor]) -> dict[str, float]:
        """As `score`, of whatever answers: `logits_of` a batch are (n, places, questions, answers)."""
        right: dict[str, int] = defaultdict(int)
        asked: dict[str, int] = defaultdict(int)
        nats = 0.0
        for batch in stored.in_order(batch=AT_ONCE):
            logits = logits_of(batch)
            batch = batch.to(logits.device)
            counts = self.puzzle.counts(batch.x, batch.y, logits.argmax(-1) == batch.y)
            for name, (here, there) in counts.items():
                right[name] += here
                asked[name] += there
            if isinstance(self.puzzle, Facts):
                flat = logits.flatten(0, -2).float()
                nats += float(F.cross_entropy(flat, batch.y.flatten(), reduction="sum"))
        shares = {name: 100 * right[name] / asked[name] for name in right}
        scores = {METRIC: next(iter(shares.values())), **shares}
        if isinstance(self.puzzle, Facts):
            scores["bits"] = (len(stored) * math.log(self.puzzle.values) - nats) / math.log(2)
        return scores

    @torch.inference_mode()
    def predict(self, model: Tagger, batch: Batch) -> Tensor:
        """The model's answers, as `y`."""
        return self.logits(model, batch.to(device_of(model))).argmax(-1)


def rounded_measures(measures: dict[str, float]) -> dict[str, float]:
    """Measures to two decimals."""
    return {name: round(value, 2) for name, value in measures.items()}
