"""Masked language modelling as a task: windows of text with tokens masked anew in each epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.datasets import Vocabulary, Windows
from reservoir.datasets.batches import Lazy
from reservoir.layers.arguments import check_number
from reservoir.models import MaskedLanguageModel
from reservoir.training.losses import smoothed_cross_entropy
from reservoir.training.masking import MaskedBatch, mask
from reservoir.training.task import device_of, perplexity
from reservoir.weights import Stream

NOTHING = -1  # an id that no token has, since windows hold no padding
SPECIALS = Vocabulary.unk + 1


class MaskedLanguageModellingTask:
    """Train on predicting the masked tokens of `train`, validate on `valid`.

    A window is a beginning-of-sentence and a stretch of the text. Which tokens are masked depends on the seed, the
    epoch and the batch's number alone: each epoch masks other tokens (Liu et al. 2019, §4.1), and a resumed run masks
    the same ones. Validation and testing always mask the same tokens.

    Args:
        train, valid, test: tokens in order.
        vocabulary: what cut them. The mask is one more token, after all others.
        length: tokens of a window, the beginning-of-sentence included.
        batch: windows in a batch.
        seed: of the order of the data and of what is hidden.
        share: of the tokens that the model has to predict.
    """

    metric, larger_is_better = "perplexity", False

    def __init__(
        self,
        train: Sequence[int] | np.ndarray,
        valid: Sequence[int] | np.ndarray,
        test: Sequence[int] | np.ndarray,
        *,
        vocabulary: Vocabulary,
        length: int,
        batch: int,
        seed: int,
        share: float = 0.15,
    ):
        for name, ids in (("train", train), ("valid", valid), ("test", test)):
            check_number(f"tokens of {name}", len(ids), least=2, whole=True)
        check_number(
            "length", length, least=2, whole=True, why="the beginning of the sentence is one of the tokens"
        )
        check_number("batch", batch, least=1, whole=True)
        check_number("share", share, above=0, most=1)
        self.vocabulary, self.mask_id, self.share, self.seed = vocabulary, len(vocabulary), share, seed
        self.train = Windows(train, length=length - 1, batch=batch, seed=seed)
        self.valid, self.test = (
            Windows(_whole(part, length - 1), length=min(length, len(part)) - 1, batch=batch, seed=0)
            for part in (valid, test)
        )

    def epoch(self, number: int) -> Sequence[MaskedBatch]:
        """The batches of an epoch."""
        windows = self.train.epoch(number)
        return Lazy(
            len(windows),
            lambda index: self.hide(windows[index], Stream(self.seed, f"masking/{number}/{index}")),
        )

    def hide(self, windows: Tensor, stream: Stream) -> MaskedBatch:
        """A batch of `Windows` with a beginning-of-sentence before each, and holes."""
        ids = F.pad(windows[:, :-1], (1, 0), value=Vocabulary.bos)
        return mask(ids, stream, mask_id=self.mask_id, specials=SPECIALS, share=self.share)

    def size(self, batch: MaskedBatch) -> tuple[int, int]:
        """Tokens that are asked about, and tokens that are read."""
        return len(batch.targets), batch.ids.numel()

    @staticmethod
    def loss(model: MaskedLanguageModel, batch: MaskedBatch) -> Tensor:
        """Cross-entropy, summed over the masked tokens, in nats; only their rows go through the output layer."""
        batch = batch.to(device_of(model))
        rows = model.hidden(batch.ids).flatten(0, 1).index_select(0, batch.positions)
        weight = model.output.effective_weight()
        return smoothed_cross_entropy(model.head(rows), weight, batch.targets, padding=NOTHING)[0]

    def validate(self, model: MaskedLanguageModel) -> dict[str, float]:
        """Perplexity per masked token on the validation text, and the accuracy in percent."""
        return self.score(model, self.valid)

    @torch.inference_mode()
    def score(self, model: MaskedLanguageModel, windows: Windows) -> dict[str, float]:
        """Perplexity and accuracy on the hidden tokens of a text."""
        nats, right, asked = 0.0, 0, 0
        for batch in self.hidden_once(windows):
            batch = batch.to(device_of(model))
            rows = model.hidden(batch.ids).flatten(0, 1).index_select(0, batch.positions)
            logits = model.output(model.head(rows)).float()
            nats += F.cross_entropy(logits, batch.targets, reduction="sum").item()
            right += int((logits.argmax(-1) == batch.targets).sum())
            asked += len(batch.targets)
        return {"perplexity": perplexity(nats, asked), "accuracy": 100 * right / asked}

    def hidden_once(self, windows: Windows) -> Iterator[MaskedBatch]:
        """All windows of a text in order; what is hidden depends on neither seed nor model."""
        for index, (batch, _) in enumerate(windows.in_order()):
            yield self.hide(batch, Stream(0, f"masking/held-out/{index}"))

    @torch.inference_mode()
    def fill(
        self, model: MaskedLanguageModel, ids: Sequence[int], *, best: int = 5
    ) -> list[list[tuple[int, float]]]:
        """The `best` most probable tokens, with their probabilities, for each mask in `ids`.

        Args:
            ids: one text, as the model reads it: with its beginning-of-sentence, and `mask_id` where it is asked.
        """
        row = torch.tensor([list(ids)], device=device_of(model))
        holes = (row[0] == self.mask_id).nonzero()[:, 0]
        logits = model.output(model.head(model.hidden(row)[0, holes])).float()
        logits[:, :SPECIALS] = -math.inf
        logits[:, self.mask_id] = -math.inf  # neither is ever hidden
        found = logits.softmax(-1).topk(min(best, self.mask_id - SPECIALS))
        return [
            list(zip(tokens, chances, strict=True))
            for tokens, chances in zip(found.indices.tolist(), found.values.tolist(), strict=True)
        ]


def _whole(ids: Sequence[int] | np.ndarray, length: int) -> Sequence[int] | np.ndarray:
    """As much of a text as whole windows cover."""
    return ids[: (len(ids) - 1) // length * length + 1] if len(ids) > length else ids
