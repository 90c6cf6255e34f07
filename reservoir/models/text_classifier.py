"""A text encoder with a readout: what is fine-tuned to classify a text, or a pair of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from reservoir.layers import Dropout, Linear
from reservoir.models.familiar import Familiar
from reservoir.models.stack import Make, bare
from reservoir.models.text_encoder import TextEncoder, TextEncoderConfig


@dataclass(frozen=True)
class TextClassifierConfig(TextEncoderConfig):
    """Sizes and choices of a text classifier; those of its encoder are `TextEncoderConfig`'s.

    Args:
        classes: number of classes; 0 is filled in from the data.
        pooling: what the readout sees of a text: "first" takes the state of its first token, as BERT and RoBERTa do;
            "mean" that of all tokens.
    """

    classes: int = 0
    pooling: Literal["first", "mean"] = "first"

    def sized(self, pieces: int, classes: int = 0) -> TextClassifierConfig:
        """Return the configuration with sizes of 0 filled in."""
        return super().sized(pieces).filled_in(classes=classes)

    def build(self) -> TextClassifier:
        """Make the model, its memory not initialised."""
        return TextClassifier(self)


class TextClassifier(Familiar, nn.Module):
    """A text classifier as RoBERTa has it: encoder, pooling, one hidden layer, readout.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes and choices.
        mixing: as in `TextEncoder`.
    """

    def __init__(self, config: TextClassifierConfig, *, mixing: Make | None = None):
        super().__init__()
        self.config = config
        self.encoder = TextEncoder(config, mixing=mixing)
        self.dropout = Dropout(config.dropout)
        self.dense = Linear(config.d_model, config.d_model, stream="readout.dense")
        self.readout = Linear(config.d_model, config.classes, stream="readout")
        if config.bare:
            bare(self)

    def features(self, ids: Tensor) -> Tensor:
        """Return what the readout sees of each text: (batch, length) -> (batch, d_model)."""
        x = self.encoder(ids)
        if self.config.pooling == "first":
            return x[:, 0]
        mask = (ids != self.config.padding)[..., None]
        return (x * mask).sum(1) / mask.sum(1)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of the classes: (batch, length) -> (batch, classes)."""
        hidden = torch.tanh(self.dense(self.dropout(self.features(ids))))
        return self.readout(self.dropout(hidden))
