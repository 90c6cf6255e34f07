"""A classifier of texts: embeddings, an encoder, a pooling over the tokens, and a linear readout."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.models.config import Familiar, ModelConfig
from reservoir.models.encoders import LSTM, Bag, EchoStates, Encoder, Projection

Pooling = Literal["mean", "max"]


@dataclass(frozen=True)
class ClassifierConfig(ModelConfig):
    """Sizes and choices of a classifier.

    Args:
        vocab: number of tokens; 0 is filled in from the data.
        classes: number of classes; 0 is filled in from the data.
        d_model: width of the embeddings.
        encoder: a key of `ENCODERS`.
        d_encoder: width of the encoder's output for each token; the bag has that of its embeddings.
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
        super().__post_init__()
        if self.encoder not in ENCODERS:
            raise ValueError(f"encoder must be one of {', '.join(ENCODERS)}, got {self.encoder!r}")

    def sized(self, vocab: int, classes: int) -> ClassifierConfig:
        """Return the configuration with sizes of 0 filled in."""
        return self.filled_in(vocab=vocab, classes=classes)

    def build(self) -> Classifier:
        """Make the model, its memory not initialised."""
        return Classifier(self)


ENCODERS: dict[str, Callable[[ClassifierConfig], Encoder]] = {
    "bag": Bag,
    "projection": Projection,
    "lstm": LSTM,
    "echo-states": EchoStates,
}
"""Make an encoder by its name: a module called as `encoder(x, mask)`, (batch, length, d_model) and (batch, length) that
is true at tokens -> (batch, length, d_out), with the attribute `d_out`."""


class Classifier(Familiar, nn.Module):
    """A text classifier: embeddings, encoder, pooling, readout.

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

    def features(self, ids: Tensor) -> Tensor:
        """Return what the readout sees of each text: (batch, length) -> (batch, d_out)."""
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

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of the classes: (batch, length) -> (batch, classes)."""
        return self.readout(self.features(ids))
