"""A masked language model (Devlin et al. 2019): a text encoder that predicts tokens hidden from it."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import LayerNorm, Linear
from reservoir.models.familiar import Familiar
from reservoir.models.stack import Make
from reservoir.models.text_encoder import TextEncoder, TextEncoderConfig


@dataclass(frozen=True)
class MaskedLanguageModelConfig(TextEncoderConfig):
    """Sizes and choices of a masked language model; the defaults are RoBERTa-base's (Liu et al. 2019) in pre-LN."""

    def build(self) -> MaskedLanguageModel:
        """Make the model, its memory not initialised."""
        return MaskedLanguageModel(self)


class MaskedLanguageModel(Familiar, nn.Module):
    """Logits of the token at each position of a text in which some are hidden.

    The head is RoBERTa's: one linear map, GELU and a norm, then the table of embeddings once more as the output
    (Press & Wolf 2017). RoBERTa adds a bias for every token to that; here there is none.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes and choices.
        mixing: as in `TextEncoder`.
    """

    def __init__(self, config: MaskedLanguageModelConfig, *, mixing: Make | None = None):
        super().__init__()
        self.config = config
        self.encoder = TextEncoder(config, mixing=mixing)
        self.transform = Linear(config.d_model, config.d_model, stream="head.transform")
        self.transform_norm = LayerNorm(config.d_model, stream="head.norm")
        self.output = Linear(config.d_model, config.vocab, stream="output", bias=False)
        self.output.weight = self.encoder.embedding.weight

    def hidden(self, ids: Tensor) -> Tensor:
        """Return the encoder's last states: (batch, length) -> (batch, length, d_model)."""
        return self.encoder(ids)

    def head(self, hidden: Tensor) -> Tensor:
        """Return what the output compares with each token's embedding: (..., d_model) -> same.

        Only the rows of hidden tokens need it.
        """
        return self.transform_norm(F.gelu(self.transform(hidden)))

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of each position's token: (batch, length) -> (batch, length, vocab)."""
        return self.output(self.head(self.hidden(ids)))
