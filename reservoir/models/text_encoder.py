"""An encoder of texts, and two heads on it: a masked language model (Devlin et al. 2019) and a classifier of texts."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Dropout, Embedding, LayerNorm, Linear
from reservoir.layers.block import Activation
from reservoir.models.config import EncoderConfig
from reservoir.models.stack import (
    LAYER_KINDS,
    MIXINGS,
    LayerKind,
    bare,
    check_names,
    named,
    positions,
    stack,
    through,
    tie_layers,
    token_mask,
)


@dataclass(frozen=True)
class TextEncoderConfig(EncoderConfig):
    """Sizes and choices of a text encoder; those of its layers are `EncoderConfig`'s, its defaults RoBERTa-base's.

    Args:
        vocab: number of tokens, the mask, which is the last, included; 0 is filled in from the data.
        layers: depth.
        kinds: what each layer is, from the bottom up (see `reservoir.models.stack`). Empty: all are transformer layers.
        mixing: what mixes the positions of each transformer layer, keys of `reservoir.models.stack.MIXINGS`. Empty:
            attention in all.
        filled: texts are filled up to `max_length` and padding is read as any other token, in every layer, so that
            what a transform does to a text neither depends on its neighbours nor is cut off between two layers.
    """

    vocab: int = 0
    _: KW_ONLY
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    layers: int = 12
    activation: Activation = "gelu"
    max_length: int = 512
    kinds: tuple[LayerKind, ...] = ()
    mixing: tuple[str, ...] = ()
    filled: bool = field(default=False, metadata={"omit_if_default": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("kinds", self.kinds, self.layers, known=LAYER_KINDS)
        check_names("mixing", self.mixing, self.layers, known=MIXINGS)

    def sized(self, pieces: int) -> Self:
        """Return the configuration with a vocabulary of 0 filled in: that of the data, and the mask."""
        return self.filled_in(vocab=pieces + 1)


class TextEncoder(nn.Module):
    """A bidirectional encoder: a state for each token of a text.

    The streams are "embedding", "positions", "encoder.0.…" and "norm", whatever the head: weights that were
    pretrained under one head can be taken by name under another.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: TextEncoderConfig):
        super().__init__()
        self.config = c = config
        self.embedding = Embedding(c.vocab, c.d_model, stream="embedding", padding=c.padding)
        self.positions = positions(c, "positions")
        self.dropout = Dropout(c.dropout)
        self.layer_drop = c.layer_drop
        self.layers = stack(c, c.layers, prefix="encoder", kinds=c.kinds, mixing=named(c.mixing))
        if c.share_layers:
            tie_layers(self.layers)
        self.norm = LayerNorm(c.d_model, stream="norm") if c.norm_first else nn.Identity()
        if c.bare:
            bare(self)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the last states of token ids: (batch, length) -> (batch, length, d_model)."""
        length = ids.shape[1]
        if self.config.filled:
            if length > self.config.max_length:
                raise ValueError(
                    f"texts are filled up to max_length and may have at most {self.config.max_length} tokens, got"
                    f" {length}"
                )
            ids = nn.functional.pad(ids, (0, self.config.max_length - length), value=self.config.padding)
        x = self.dropout(self.positions(self.embedding(ids) * math.sqrt(self.config.d_model)))
        mask = None if self.config.filled else token_mask(ids, self.config.padding)
        return self.norm(through(self, self.layers, x, mask)[:, :length])


@dataclass(frozen=True)
class MaskedLanguageModelConfig(TextEncoderConfig):
    """Sizes and choices of a masked language model; the defaults are RoBERTa-base's (Liu et al. 2019) in pre-LN."""

    def build(self) -> MaskedLanguageModel:
        """Make the model, its memory not initialised."""
        return MaskedLanguageModel(self)


class MaskedLanguageModel(nn.Module):
    """Logits of the token at each position of a text in which some are hidden.

    The head is RoBERTa's: one linear map, GELU and a norm, then the table of embeddings once more as the output
    (Press & Wolf 2017). RoBERTa adds a bias for every token to that; here there is none.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: MaskedLanguageModelConfig):
        super().__init__()
        self.config = config
        self.encoder = TextEncoder(config)
        self.transform = Linear(config.d_model, config.d_model, stream="head.transform")
        self.transform_norm = LayerNorm(config.d_model, stream="head.norm")
        self.output = Linear(config.d_model, config.vocab, stream="output", bias=False)
        self.output.weight = self.encoder.embedding.weight
        if config.bare:
            bare(self)

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


class TextClassifier(nn.Module):
    """A text classifier as RoBERTa has it: encoder, pooling, one hidden layer, readout.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: TextClassifierConfig):
        super().__init__()
        self.config = config
        self.encoder = TextEncoder(config)
        self.dropout = Dropout(config.dropout)
        self.dense = Linear(config.d_model, config.d_model, stream="readout.dense")
        self.readout = Linear(config.d_model, config.classes, stream="readout")
        if config.bare:
            bare(self)

    def features(self, ids: Tensor) -> Tensor:
        """Return what the readout sees of each text: (batch, length) -> (batch, d_model).

        The mean of a text of padding alone is zero.
        """
        x = self.encoder(ids)
        if self.config.pooling == "first":
            return x[:, 0]
        mask = (ids != self.config.padding)[..., None]
        return (x * mask).sum(1) / mask.sum(1).clamp(min=1)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of the classes: (batch, length) -> (batch, classes)."""
        hidden = torch.tanh(self.dense(self.dropout(self.features(ids))))
        return self.readout(self.dropout(hidden))
