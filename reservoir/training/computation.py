"""Tasks on sequences that are not language: a class for each sequence, or bits at its last positions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.datasets.examples import Batch, Examples, Stored
from reservoir.layers.arguments import check_number
from reservoir.models import Universal
from reservoir.training.task import device_of

METRIC = "accuracy"
AT_ONCE = 200  # sequences that are scored together


class ComputationTask:
    """Train on the labels of `examples.train`, validate on `examples.valid`.

    Args:
        examples: the sequences.
        batch: sequences in a batch.
        seed: of the order of the sequences, or of what is drawn.

    Attributes:
        dropped: 0; no sequence is left out.
    """

    metric, larger_is_better, dropped = METRIC, True, 0

    def __init__(self, examples: Examples, *, batch: int, seed: int):
        check_number("batch", batch, least=1, whole=True)
        check_number("seed", seed, least=0, whole=True)
        self.examples, self.batch, self.seed = examples, batch, seed
        self.train = self

    def epoch(self, number: int) -> Sequence[Batch]:
        """The batches of an epoch."""
        return self.examples.train.epoch(number, batch=self.batch, seed=self.seed)

    def size(self, batch: Batch) -> tuple[int, int]:
        """Answers, and positions without padding."""
        positions = batch.x.shape[0] * batch.x.shape[1] if batch.last is None else int((batch.last + 1).sum())
        return batch.y.numel(), positions

    @staticmethod
    def loss(model: Universal, batch: Batch) -> Tensor:
        """Cross-entropy, summed over answers, in nats."""
        batch = batch.to(device_of(model))
        logits = ComputationTask.logits(model, batch).float()
        return F.cross_entropy(logits.flatten(0, -2), batch.y.flatten(), reduction="sum")

    @staticmethod
    def logits(model: Universal, batch: Batch) -> Tensor:
        """(n, classes); or (n, places, bits, 2), of the last `places` positions."""
        said = model(batch.x, batch.last)
        return said if batch.y.dim() == 1 else said[:, -batch.y.shape[1] :].unflatten(-1, (-1, 2))

    def validate(self, model: Universal) -> dict[str, float]:
        """The share of answers that are right on the validation set, in percent."""
        return self.score(model, self.examples.valid)

    @staticmethod
    @torch.inference_mode()
    def score(model: Universal, stored: Stored) -> dict[str, float]:
        """The share of answers that are right, in percent.

        Where the answer is bits of which some are visible in the input, as -1 or 1 and not 0, "hidden" is the share
        among the others.
        """
        right = answers = unseen_right = unseen = 0
        device = device_of(model)
        for batch in stored.in_order(batch=AT_ONCE):
            batch = batch.to(device)
            found = ComputationTask.logits(model, batch).argmax(-1) == batch.y
            right, answers = right + int(found.sum()), answers + found.numel()
            if found.dim() == 3 and batch.x.shape[-1] == found.shape[-1]:
                hidden = batch.x[:, -found.shape[1] :] == 0
                unseen_right, unseen = unseen_right + int((found & hidden).sum()), unseen + int(hidden.sum())
        scores = {METRIC: 100 * right / answers}
        return scores | ({"hidden": 100 * unseen_right / unseen} if unseen else {})

    @torch.inference_mode()
    def predict(self, model: Universal, batch: Batch) -> Tensor:
        """The model's answer for each sequence: classes or bits."""
        return self.logits(model, batch.to(device_of(model))).argmax(-1)
