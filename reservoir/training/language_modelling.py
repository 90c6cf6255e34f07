"""Language modelling as tasks on windows of text: the next token, or tokens that are masked anew in each epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.datasets import Vocabulary, Windows
from reservoir.datasets.batches import Lazy, Rows
from reservoir.layers.arguments import check_number
from reservoir.models import LanguageModel, MaskedLanguageModel
from reservoir.training.task import device_of, perplexity, smoothed_cross_entropy
from reservoir.weights import Stream

NOTHING = -1  # an id that no token has, since windows hold no padding
SPECIALS = Vocabulary.unk + 1
MASKED, REPLACED = 0.8, 0.1  # of the chosen positions; the rest stays as it is
Text = Sequence[int] | np.ndarray


class _Windowed:
    """What both tasks share: three texts in windows, each of which predicts `length` tokens."""

    metric, larger_is_better = "perplexity", False

    def __init__(
        self,
        train: Text,
        valid: Text,
        test: Text,
        *,
        length: int,
        batch: int,
        seed: int,
        vocabulary: Any = None,
    ):
        for name, ids in (("train", train), ("valid", valid), ("test", test)):
            check_number(f"tokens of {name}", len(ids), least=2, whole=True)  # to read, and to predict
        self.vocabulary = vocabulary
        self.train = Windows(train, length=length, batch=batch, seed=seed)
        self.valid = Windows(valid, length=min(length, len(valid) - 1), batch=batch, seed=0)
        self.test = Windows(test, length=min(length, len(test) - 1), batch=batch, seed=0)


class LanguageModellingTask(_Windowed):
    """Train on predicting the next token of `train`, validate on `valid`.

    Args:
        train, valid, test: tokens in order.
        vocabulary: their tokens, to read what the model writes.
        length: tokens that a window predicts.
        batch: windows in a batch.
        seed: of the order of the data.
    """

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
        return smoothed_cross_entropy(model.hidden(batch[:, :-1]), weight, batch[:, 1:], padding=None)[0]

    def validate(self, model: LanguageModel) -> dict[str, float]:
        """Perplexity per token on the validation text."""
        nats, tokens = self.score(model, self.valid)
        return {"perplexity": perplexity(nats, tokens)}

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


@dataclass(frozen=True)
class MaskedBatch(Rows):
    """Texts with masked tokens.

    Args:
        ids: what the model reads, (batch, length).
        positions: the tokens to predict, as indices into `ids.flatten()`, rising, (asked,).
        targets: what stood there, (asked,).
    """

    ids: Tensor
    positions: Tensor
    targets: Tensor

    def part(self, index: int, of: int) -> MaskedBatch:
        """Every `of`-th text from number `index` on, with its own holes."""
        length = self.ids.shape[1]
        row, column = self.positions // length, self.positions % length
        mine = row % of == index
        positions = row[mine] // of * length + column[mine]
        return MaskedBatch(self.ids[index::of], positions, self.targets[mine])


def mask(ids: Tensor, stream: Stream, *, mask_id: int, share: float = 0.15) -> MaskedBatch:
    """Choose the tokens that the model has to predict, and mask them (Devlin et al. 2019, §3.1).

    Of all tokens that are not special, `share` is chosen, rounded to a whole number and at least one. Of these 80 %
    become the mask, 10 % a random token, and 10 % stay: fine-tuning has no masks, so the model must not rely on them.

    Args:
        ids: (batch, length); those of the four special pieces are never chosen and never put in.
        stream: random words; the same stream hides the same tokens.
        mask_id: the mask's id, above all others: tokens are 4 … `mask_id` - 1.
        share: of the tokens that are chosen, in (0, 1].

    Raises:
        ValueError: `share` is out of range, or there is no token to hide.
    """
    check_number("share", share, above=0, most=1)
    flat = ids.flatten()
    tokens = (flat >= SPECIALS).nonzero()[:, 0]
    if not len(tokens):
        raise ValueError(f"there is no token to hide among {len(flat)}: all are special")
    words = stream.words(0, len(tokens) * 2, device=ids.device).view(2, -1)
    asked = tokens[words[0].argsort(stable=True)[: max(1, round(share * len(tokens)))]]  # in random order
    masked, replaced = (round(part * len(asked)) for part in (MASKED, MASKED + REPLACED))
    read = flat.clone()
    read[asked[:masked]] = mask_id
    read[asked[masked:replaced]] = SPECIALS + words[1, masked:replaced] % (mask_id - SPECIALS)
    positions = asked.sort().values
    return MaskedBatch(read.view_as(ids), positions, flat[positions])


class MaskedLanguageModellingTask(_Windowed):
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

    def __init__(
        self,
        train: Text,
        valid: Text,
        test: Text,
        *,
        vocabulary: Vocabulary,
        length: int,
        batch: int,
        seed: int,
        share: float = 0.15,
    ):
        why = "the beginning of the sentence is one of the tokens"
        check_number("length", length, least=2, whole=True, why=why)
        check_number("share", share, above=0, most=1)
        self.mask_id, self.share, self.seed = len(vocabulary), share, seed
        valid, test = (_whole(ids, length - 1) for ids in (valid, test))
        super().__init__(train, valid, test, length=length - 1, batch=batch, seed=seed, vocabulary=vocabulary)

    def epoch(self, number: int) -> Sequence[MaskedBatch]:
        """The batches of an epoch."""
        windows, stream = self.train.epoch(number), f"masking/{number}"
        return Lazy(
            len(windows), lambda index: self.hide(windows[index], Stream(self.seed, f"{stream}/{index}"))
        )

    def hide(self, windows: Tensor, stream: Stream) -> MaskedBatch:
        """A batch of `Windows` with a beginning-of-sentence before each, and holes."""
        ids = F.pad(windows[:, :-1], (1, 0), value=Vocabulary.bos)
        return mask(ids, stream, mask_id=self.mask_id, share=self.share)

    def size(self, batch: MaskedBatch) -> tuple[int, int]:
        """Tokens that are asked about, and tokens that are read."""
        return len(batch.targets), batch.ids.numel()

    @staticmethod
    def loss(model: MaskedLanguageModel, batch: MaskedBatch) -> Tensor:
        """Cross-entropy, summed over the masked tokens, in nats; only their rows go through the output layer."""
        batch = batch.to(device_of(model))
        rows = model.hidden(batch.ids).flatten(0, 1).index_select(0, batch.positions)
        weight = model.output.effective_weight()
        return smoothed_cross_entropy(model.head(rows), weight, batch.targets, padding=None)[0]

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
        logits = model(row)[0, row[0] == self.mask_id].float()
        logits[:, :SPECIALS] = -math.inf
        logits[:, self.mask_id] = -math.inf  # neither is ever hidden
        found = logits.softmax(-1).topk(min(best, self.mask_id - SPECIALS))
        pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
        return [list(zip(tokens, chances, strict=True)) for tokens, chances in pairs]


def _whole(ids: Text, length: int) -> Text:
    """As much of a text as whole windows cover."""
    return ids[: (len(ids) - 1) // length * length + 1] if len(ids) > length else ids
