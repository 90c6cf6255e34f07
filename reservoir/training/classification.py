"""Tasks whose answers are classes: of a text, of a sequence, bits at its last places, or a puzzle of the bench."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.datasets import Batch, Examples, Labelled, Stored, TokenBatches, Vocabulary, pad_sources
from reservoir.datasets.batches import Minibatch
from reservoir.datasets.bench import NOTHING, Facts, Puzzle
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
        shorter = list(map(list, sides))
        while sum(map(len, shorter)) > self.cut - len(self.lead) - len(shorter):
            max(shorter, key=len).pop()
        return shorter

    def predict(self, model: Classifier, texts: Labelled, *, batch: int = 256) -> list[int]:
        """The most probable class of each text, in the order given; `batch` texts of similar length at a time."""
        return self.logits(model, texts, batch=batch).argmax(-1).tolist()

    @torch.inference_mode()
    def logits(self, model: Classifier, texts: Labelled, *, batch: int = 256) -> Tensor:
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
        vocabulary, reading: as in `TextReader`.
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
        **reading: Any,
    ):
        super().__init__(vocabulary, **reading)
        if not len(valid):
            raise ValueError("valid must have at least one text, got none")
        self.valid = valid
        # A class is a target of one token: the batches of translation serve as they are.
        rows, classes = self.encode(train), [[label] for label in train.labels]
        self.train = TokenBatches(rows, classes, max_tokens=max_tokens, seed=seed, max_length=max_length)

    def epoch(self, number: int) -> Sequence[Batch]:
        """The batches of an epoch."""
        return self.train.epoch(number)

    def size(self, batch: Batch) -> tuple[int, int]:
        """Texts, and their tokens."""
        return len(batch.src), int((batch.src != Vocabulary.pad).sum())

    @staticmethod
    def loss(model: Classifier, batch: Batch) -> Tensor:
        """Cross-entropy, summed over texts, in nats."""
        batch = batch.to(device_of(model))
        return F.cross_entropy(model(batch.src).float(), batch.tgt_out[:, 0], reduction="sum")

    def validate(self, model: Classifier) -> dict[str, float]:
        """Accuracy on the validation set, in percent."""
        return {METRIC: accuracy(self.predict(model, self.valid), self.valid.labels)}


def accuracy(found: Sequence[int], right: Sequence[int]) -> float:
    """The share of labels that agree, in percent."""
    return 100 * sum(one == other for one, other in zip(found, right, strict=True)) / len(right)


class ComputationTask:
    """Train a `Universal` on the answers of `examples.train`, validate on `examples.valid`.

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

    def epoch(self, number: int) -> Sequence[Minibatch]:
        """The batches of an epoch."""
        return self.examples.train.epoch(number, batch=self.batch, seed=self.seed)

    def size(self, batch: Minibatch) -> tuple[int, int]:
        """Answers, and positions without padding."""
        whole = batch.x.shape[0] * batch.x.shape[1]
        return batch.y.numel(), whole if batch.last is None else int((batch.last + 1).sum())

    @staticmethod
    def logits(model: Any, batch: Minibatch) -> Tensor:
        """(n, classes); or (n, places, bits, 2), of the last `places` positions."""
        output = model(batch.x, batch.last)
        return output if batch.y.dim() == 1 else output[:, -batch.y.shape[1] :].unflatten(-1, (-1, 2))

    @classmethod
    def loss(cls, model: Any, batch: Minibatch) -> Tensor:
        """Cross-entropy, summed over what is asked, in nats."""
        batch = batch.to(device_of(model))
        logits = cls.logits(model, batch).float().flatten(0, -2)
        return F.cross_entropy(logits, batch.y.flatten(), ignore_index=NOTHING, reduction="sum")

    def validate(self, model: Any) -> dict[str, float]:
        """The share of answers that are right on the validation set, in percent."""
        return self.score(model, self.examples.valid)

    @classmethod
    @torch.inference_mode()
    def score(cls, model: Any, stored: Stored) -> dict[str, float]:
        """The share of answers that are right, in percent.

        Where the answer is bits of which some are visible in the input, as -1 or 1 and not 0, "hidden" is the share
        among the others.
        """
        right = answers = unseen_right = unseen = 0
        for batch in stored.in_order(batch=200):
            batch = batch.to(device_of(model))
            found = cls.logits(model, batch).argmax(-1) == batch.y
            right, answers = right + int(found.sum()), answers + found.numel()
            if found.dim() == 3 and batch.x.shape[-1] == found.shape[-1]:
                hidden = batch.x[:, -found.shape[1] :] == 0
                unseen_right, unseen = unseen_right + int((found & hidden).sum()), unseen + int(hidden.sum())
        scores = {METRIC: 100 * right / answers}
        return scores | ({"hidden": 100 * unseen_right / unseen} if unseen else {})

    @torch.inference_mode()
    def predict(self, model: Any, batch: Minibatch) -> Tensor:
        """The model's answers, as `y`."""
        return self.logits(model, batch.to(device_of(model))).argmax(-1)


class PuzzleTask(ComputationTask):
    """Train a `Tagger` on the sequences of a puzzle.

    Args:
        puzzle: says what is asked and how it is scored.
        examples: its sequences.
        batch: sequences in a batch.
        seed: of what is drawn.
    """

    def __init__(self, puzzle: Puzzle, examples: Examples, *, batch: int, seed: int):
        super().__init__(examples, batch=batch, seed=seed)
        self.puzzle = puzzle

    def size(self, batch: Minibatch) -> tuple[int, int]:
        """Questions, and places."""
        return int((batch.y >= 0).sum()), batch.x.numel()

    @staticmethod
    def logits(model: Any, batch: Minibatch) -> Tensor:
        """(n, places, questions, answers)."""
        places, questions = batch.y.shape[1:]
        return model(batch.x, places).unflatten(-1, (questions, -1))

    def validate(self, model: Any) -> dict[str, float]:
        """The share that is judged, on the validation set: too few are asked for the other measures."""
        return {METRIC: self.score(model, self.examples.valid)[METRIC]}

    @torch.inference_mode()
    def score(self, model: Any, stored: Stored) -> dict[str, float]:  # type: ignore[override]  # asks its puzzle
        """The shares of answers that are right, in percent.

        Returns:
            "accuracy" is the share that is judged, and each measure of the puzzle stands under its own name. For facts
            "bits" are those that the model knows of the ones that were asked: the sum of log₂(values) minus the
            cross-entropy.
        """
        return self.measured(stored, lambda batch: self.logits(model, batch.to(device_of(model))))

    @torch.inference_mode()
    def measured(self, stored: Stored, logits_of: Callable[[Minibatch], Tensor]) -> dict[str, float]:
        """As `score`, of whatever answers: `logits_of` a batch are (n, places, questions, answers)."""
        right: dict[str, int] = defaultdict(int)
        asked: dict[str, int] = defaultdict(int)
        nats = 0.0
        for batch in stored.in_order(batch=1024):
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
