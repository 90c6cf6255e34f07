"""Train and score a tagger on a puzzle of the bench."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

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

    def epoch(self, number: int) -> Sequence[Batch]:
        """The batches of an epoch."""
        return self.examples.train.epoch(number, batch=self.batch, seed=self.seed)

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
        """The measures on the validation set."""
        return self.score(model, self.examples.valid)

    @torch.inference_mode()
    def score(self, model: Tagger, stored: Stored) -> dict[str, float]:
        """The shares of answers that are right, in percent.

        Returns:
            "accuracy" is the share that is judged, and each measure of the puzzle stands under its own name. For facts
            "bits" are those that the model knows of the ones that were asked: the sum of log₂(values) minus the
            cross-entropy.
        """
        right: dict[str, int] = defaultdict(int)
        asked: dict[str, int] = defaultdict(int)
        nats, device = 0.0, device_of(model)
        for batch in stored.in_order(batch=AT_ONCE):
            batch = batch.to(device)
            logits = self.logits(model, batch)
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
