"""Language modelling as a task: windows of text, cross-entropy, perplexity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets import Vocabulary, Windows
from reservoir.layers.arguments import check_number
from reservoir.models import LanguageModel
from reservoir.training.losses import smoothed_cross_entropy
from reservoir.training.task import device_of, perplexity

NOTHING = -1  # an id that no token has, since windows hold no padding


class LanguageModellingTask:
    """Train on predicting the next token of `train`, validate on `valid`.

    Args:
        train, valid, test: tokens in order.
        vocabulary: their tokens, to read what the model writes.
        length: tokens that a window predicts.
        batch: windows in a batch.
        seed: of the order of the data.
    """

    metric, larger_is_better = "perplexity", False

    def __init__(
        self,
        train: Sequence[int] | np.ndarray,
        valid: Sequence[int] | np.ndarray,
        test: Sequence[int] | np.ndarray,
        *,
        length: int,
        batch: int,
        seed: int,
        vocabulary: Vocabulary | None = None,
    ):
        for name, ids in (("train", train), ("valid", valid), ("test", test)):
            check_number(
                f"tokens of {name}", len(ids), least=2, whole=True, why="one to read and one to predict"
            )
        check_number("length", length, least=1, whole=True)
        check_number("batch", batch, least=1, whole=True)
        self.vocabulary = vocabulary
        self.train = Windows(train, length=length, batch=batch, seed=seed)
        self.valid, self.test = (
            Windows(ids, length=min(length, len(ids) - 1), batch=batch, seed=0) for ids in (valid, test)
        )

    def epoch(self, number: int) -> Sequence[Tensor]:
        """The batches of an epoch."""
        return self.train.epoch(number)

    def size(self, batch: Tensor) -> tuple[int, int]:
        """Tokens to predict, twice: each is seen as well."""
        predicted = batch.shape[0] * (batch.shape[1] - 1)
        return predicted, predicted

    @staticmethod
    def loss(model: LanguageModel, batch: Tensor) -> Tensor:
        """Cross-entropy, summed over tokens, in nats."""
        batch = batch.to(device_of(model))
        weight = model.output.effective_weight()
        return smoothed_cross_entropy(model.hidden(batch[:, :-1]), weight, batch[:, 1:], padding=NOTHING)[0]

    def validate(self, model: LanguageModel) -> dict[str, float]:
        """Perplexity per token on the validation text."""
        nats, tokens = self.score(model, self.valid)
        return {"perplexity": perplexity(nats, tokens)}

    @torch.inference_mode()
    def go_on(self, model: LanguageModel, ids: Sequence[int], *, tokens: int, end: int) -> list[int]:
        """Greedy continuation of `ids` by `tokens` tokens, or fewer where `end` is predicted."""
        seen = torch.tensor([list(ids)], device=device_of(model))
        return model.generate(seen, max_new_tokens=tokens, end=end)[0, len(ids) :].tolist()

    @staticmethod
    @torch.inference_mode()
    def score(model: LanguageModel, windows: Windows) -> tuple[float, int]:
        """The negative log-likelihood of a text in nats, and its number of tokens; windows do not see one another."""
        total, tokens = 0.0, 0
        weight, device = model.output.effective_weight(), device_of(model)
        for batch, size in windows.in_order():
            batch = batch.to(device)
            target = batch[:, 1:].flatten()
            target = torch.where(torch.arange(len(target), device=device) < size, target, NOTHING)
            hidden = model.hidden(batch[:, :-1]).flatten(0, 1)
            total += smoothed_cross_entropy(hidden, weight, target, padding=NOTHING)[1].item()
            tokens += size
        return total, tokens
