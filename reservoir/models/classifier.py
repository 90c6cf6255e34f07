"""A classifier of texts: embeddings, an encoder, a pooling over the tokens, and a linear readout."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.models.encoders import LSTM, Bag, EchoStates, Projection

Pooling = Literal["mean", "max"]


@dataclass(frozen=True)
class ClassifierConfig:
    """Sizes and choices of a classifier.

    Args:
        vocab: number of tokens; 0 is filled in from the data.
        classes: number of classes; 0 is filled in from the data.
        d_model: width of the embeddings.
        encoder: a key of `ENCODERS`.
        d_encoder: width of what the encoder says of each token; the bag has that of its embeddings.
        pooling: "mean" or "max" over the tokens.
        padding: the id that fills up short texts.
    """

    vocab: int = 0
    classes: int = 0
    d_model: int = 128
    encoder: str = "bag"
    d_encoder: int = 128
    pooling: Pooling = "mean"
    padding: int = 0

    def __post_init__(self) -> None:
        if self.encoder not in ENCODERS:
            raise ValueError(f"encoder must be one of {', '.join(ENCODERS)}, got {self.encoder!r}")
        if self.pooling not in ("mean", "max"):
            raise ValueError(f"pooling must be 'mean' or 'max', got {self.pooling!r}")

    def sized(self, vocab: int, classes: int) -> ClassifierConfig:
        """The same with sizes of 0 filled in."""
        return replace(self, vocab=self.vocab or vocab, classes=self.classes or classes)

    def build(self) -> Classifier:
        """The model, its memory not initialised."""
        return Classifier(self)


Encoder = Callable[[ClassifierConfig], nn.Module]
ENCODERS: dict[str, Encoder] = {
    "bag": Bag,
    "projection": Projection,
    "lstm": LSTM,
    "echo-states": EchoStates,
}
"""Makes an encoder, a module called as `encoder(x, mask)` on (batch, length, d_model) and (batch, length), true at
tokens; it answers (batch, length, d_out), and says `d_out`."""


class Classifier(nn.Module):
    """Reads a text and scores each class.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`. The streams are "embedding",
    "encoder.…" and "readout", so that a freezing plan can leave the readout alone to move.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: ClassifierConfig):
        super().__init__()
        self.config = config
        self.embedding = Embedding(config.vocab, config.d_model, stream="embedding", padding=config.padding)
        self.encoder = ENCODERS[config.encoder](config)
        self.readout = Linear(self.encoder.d_out, config.classes, stream="readout")

    def features(self, ids: Tensor) -> Tensor:  # (batch, length) -> (batch, d_out)
        """What the readout sees of each text."""
        mask = ids != self.config.padding
        # Embeddings start with variance 1 / d_model; an encoder gets them with variance 1 (Vaswani et al. 2017, §3.4).
        x = self.encoder(self.embedding(ids) * math.sqrt(self.config.d_model), mask)
        if self.config.pooling == "max":
            return (
                x.masked_fill(~mask[..., None], -torch.inf)
                .amax(1)
                .masked_fill(~mask.any(1, keepdim=True), 0.0)
            )
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)

    def forward(self, ids: Tensor) -> Tensor:  # (batch, length) -> logits (batch, classes)
        return self.readout(self.features(ids))
