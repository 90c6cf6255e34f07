"""A language model: the transformer's decoder alone, which says the next token from those before it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor, nn

from reservoir.layers import (
    Dropout,
    Embedding,
    LayerNorm,
    LearnedPositions,
    Linear,
    SinusoidalPositions,
)
from reservoir.layers.feed_forward import Activation
from reservoir.models.stack import CAUSAL, LayerKind, causal_attention, check_kinds, stack


@dataclass(frozen=True)
class LanguageModelConfig:
    """Sizes and choices of a language model.

    Args:
        vocab: number of tokens; 0 is filled in from the data.
        d_model, n_heads, d_ff: as in `EncoderDecoderConfig`.
        layers: depth.
        norm_first: pre-LN if true, with one more norm at the end; post-LN if not.
        dropout: on the embeddings and on each sublayer's output.
        attention_dropout, activation_dropout: on attention weights and inside the feed-forward layers.
        activation: "relu", "gelu", or "gelu-tanh", GPT-2's approximation of it.
        positions: "sinusoidal" or "learned".
        max_length: number of learned positions.
        tie: whether the output shares the table of embeddings (Press & Wolf 2017).
        kinds: what each layer is, from the bottom up: "transformer", or "ffn" for a feed-forward layer alone. If empty,
            all are transformer layers. The other kinds of `reservoir.models.stack` look ahead.
        scale_embeddings: whether embeddings are multiplied by √d_model (Vaswani et al. 2017, §3.4); GPT-2's are not.
    """

    vocab: int = 0
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    layers: int = 6
    norm_first: bool = True
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: Activation = "relu"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 1024
    tie: bool = True
    kinds: tuple[LayerKind, ...] = ()
    scale_embeddings: bool = True

    def __post_init__(self) -> None:
        if self.positions not in ("sinusoidal", "learned"):
            raise ValueError(f"positions must be 'sinusoidal' or 'learned', got {self.positions!r}")
        check_kinds(self.kinds, self.layers, known=CAUSAL)

    def sized(self, vocab: int) -> LanguageModelConfig:
        """The same with a vocabulary of 0 filled in."""
        return replace(self, vocab=self.vocab or vocab)

    def build(self) -> LanguageModel:
        """The model, its memory not initialised."""
        return LanguageModel(self)

    def build_body(self) -> Body:
        """What reads, without embeddings and output."""
        return Body(self)


class Body(nn.Module):
    """What reads, between embeddings and output: positions, causal layers, and the last norm.

    Its memory is not initialised. Streams are named as in the encoder-decoder, so the same freezing plans hold.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.config = c = config
        self.positions = (
            LearnedPositions(c.max_length, c.d_model, stream="positions")
            if c.positions == "learned"
            else SinusoidalPositions(c.d_model)
        )
        self.dropout = Dropout(c.dropout)
        self.layers = stack(c, c.layers, prefix="layer", kinds=c.kinds, mixing=causal_attention)
        self.norm = LayerNorm(c.d_model, stream="norm") if c.norm_first else nn.Identity()

    def states(self, x: Tensor) -> Tensor:  # (batch, length, d_model) -> same
        """The last states of embedded tokens, or of whatever stands in their place."""
        x = self.dropout(self.positions(x))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class LanguageModel(Body):
    """Reads tokens, and says at each position what may come next.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__(config)
        self.embedding = Embedding(config.vocab, config.d_model, stream="embedding")
        self.output = Linear(config.d_model, config.vocab, stream="output", bias=False)
        if config.tie:
            self.output.weight = self.embedding.weight

    def hidden(self, ids: Tensor) -> Tensor:  # (batch, length) -> (batch, length, d_model)
        """The last states."""
        x = self.embedding(ids)
        return self.states(x * math.sqrt(self.config.d_model) if self.config.scale_embeddings else x)

    def forward(self, ids: Tensor) -> Tensor:  # (batch, length) -> logits (batch, length, vocab)
        return self.output(self.hidden(ids))
