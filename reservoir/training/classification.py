"""Classification as a task: batches of texts, cross-entropy, accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from reservoir.datasets import Batch, Labelled, TokenBatches, Vocabulary, pad_sources
from reservoir.layers.arguments import check_number
from reservoir.models import Classifier
from reservoir.training.task import device_of

METRIC = "accuracy"


class TextReader:
    """From texts to token ids, and by a model to their classes.

    Args:
        vocabulary: cuts them into tokens.
        lead: ids that stand before every text, such as the beginning-of-sentence that a model was pretrained with.
        cut: texts are cut to so many tokens, `lead` and the ends of sentences included, in training and in testing: for
            models that are made for no more. Of two sentences the longer one loses its last token, and so on. None
            leaves them whole.

    Raises:
        ValueError: `cut` has no room for the ends of two sentences and one token of each.
    """

    def __init__(self, vocabulary: Vocabulary, *, lead: Sequence[int] = (), cut: int | None = None):
        if cut is not None:
            room = f"the lead has {len(lead)} ids, and two sentences a token and an end each"
            check_number("cut", cut, least=len(lead) + 4, whole=True, why=room)
        self.vocabulary, self.lead, self.cut = vocabulary, tuple(lead), cut

    def encode(self, texts: Labelled) -> list[list[int]]:
        """Token ids of each text; an end-of-sentence stands between two sentences that are judged together."""
        sides = [self.vocabulary.encode_batch(side) for side in zip(*texts.texts, strict=True)]
        return [
            [*self.lead, *[id for side in self._cut(rows) for id in (*side, Vocabulary.eos)][:-1]]
            for rows in zip(*sides, strict=True)
        ]

    def _cut(self, sides: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
        """The sides of a text, the longest of them shortened until all fit."""
        if self.cut is None:
            return sides
        kept, room = [len(side) for side in sides], self.cut - len(self.lead) - len(sides)
        while sum(kept) > room:
            kept[kept.index(max(kept))] -= 1
        return [side[:length] for side, length in zip(sides, kept, strict=True)]

    def predict(self, model: Classifier, texts: Labelled, *, batch: int = 256) -> list[int]:
        """The most probable class of each text, in the order given; `batch` texts of similar length at a time."""
        return self.logits(model, texts, batch=batch).argmax(-1).tolist()

    @torch.inference_mode()
    def logits(self, model: Classifier, texts: Labelled, *, batch: int = 256) -> torch.Tensor:
        """(texts, classes), before the softmax."""
        check_number("batch", batch, least=1, whole=True)
        rows = self.encode(texts)
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        together = [order[start : start + batch] for start in range(0, len(order), batch)]
        batches = [pad_sources([rows[row] for row in chosen]) for chosen in together]
        found = torch.cat([model(ids.to(device_of(model))).float().cpu() for ids in batches])
        return found[torch.tensor(order).argsort()]


class ClassificationTask(TextReader):
    """Train on the classes of `train`, validate on `valid`.

    Args:
        train, valid: labelled texts.
        vocabulary, lead, cut: as in `TextReader`.
        max_tokens: size of a batch, in padded tokens.
        seed: of the order of the data.
        max_length: texts of more tokens are left out of training.
    """

    metric, larger_is_better = METRIC, True

    def __init__(
        self,
        train: Labelled,
        valid: Labelled,
        *,
        vocabulary: Vocabulary,
        max_tokens: int,
        seed: int,
        max_length: int = 128,
        lead: Sequence[int] = (),
        cut: int | None = None,
    ):
        check_number("max_length", max_length, least=1, whole=True)
        super().__init__(vocabulary, lead=lead, cut=cut)
        if not len(valid):
            raise ValueError("valid must have at least one text, got none")
        self.valid = valid
        # A class is a target of one token: the batches of translation serve as they are.
        classes = [[label] for label in train.labels]
        self.train = TokenBatches(
            self.encode(train), classes, max_tokens=max_tokens, seed=seed, max_length=max_length
        )

    def epoch(self, number: int) -> Sequence[Batch]:
        """The batches of an epoch."""
        return self.train.epoch(number)

    def size(self, batch: Batch) -> tuple[int, int]:
        """Texts, and their tokens."""
        return len(batch.src), int((batch.src != Vocabulary.pad).sum())

    @staticmethod
    def loss(model: Classifier, batch: Batch) -> torch.Tensor:
        """Cross-entropy, summed over texts, in nats."""
        batch = batch.to(device_of(model))
        return F.cross_entropy(model(batch.src).float(), batch.tgt_out[:, 0], reduction="sum")

    def validate(self, model: Classifier) -> dict[str, float]:
        """Accuracy on the validation set, in percent."""
        return {METRIC: accuracy(self.predict(model, self.valid), self.valid.labels)}


def accuracy(found: Sequence[int], right: Sequence[int]) -> float:
    """The share of labels that agree, in percent."""
    return 100 * sum(one == other for one, other in zip(found, right, strict=True)) / len(right)
