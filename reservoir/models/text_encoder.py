"""An encoder of texts, and two heads on it: a masked language model (Devlin et al. 2019) and a classifier of texts;
and FNet as it was released.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Dropout, Embedding, EncoderLayer, FeedForward, Fourier, LayerNorm, Linear
from reservoir.layers.block import Activation
from reservoir.models.config import EncoderConfig, ModelConfig
from reservoir.models.pretrained import Familiar
from reservoir.models.stack import (
    LAYER_KINDS,
    MIXINGS,
    LayerKind,
    Make,
    bare,
    check_names,
    named,
    positions,
    stack,
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


class TextEncoder(Familiar, nn.Module):
    """A bidirectional encoder: a state for each token of a text.

    The streams are "embedding", "positions", "encoder.0.…" and "norm", whatever the head: weights that were
    pretrained under one head can be taken by name under another.

    Args:
        config: sizes and choices.
        mixing: makes the mixing of layer i; as the configuration says if None.
    """

    def __init__(self, config: TextEncoderConfig, *, mixing: Make | None = None):
        super().__init__()
        self.config = c = config
        self.embedding = Embedding(c.vocab, c.d_model, stream="embedding", padding=c.padding)
        self.positions = positions(c, "positions")
        self.dropout = Dropout(c.dropout)
        self.layer_drop = c.layer_drop
        self.layers = stack(c, c.layers, prefix="encoder", kinds=c.kinds, mixing=mixing or named(c.mixing))
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
        for layer in self.layers:
            if self.training and self.layer_drop and torch.rand(()) < self.layer_drop:
                continue
            x = layer(x, mask)
        return self.norm(x[:, :length])


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


EPS = 1e-12  # of every norm


@dataclass(frozen=True)
class FNetConfig(ModelConfig):
    """Sizes of an FNet; the defaults are FNet-base's (Lee-Thorp et al. 2022). Large: 1024, 4096, 24 layers.

    Args:
        vocab: number of tokens; 0 is filled in from the data.
        d_model: width of the residual stream.
        d_ff: inner width of the feed-forward layers.
        layers: depth.
        max_length: number of positions.
        types: kinds of segments that a token may belong to.
        dropout: on the embeddings and on each feed-forward layer's output; Fourier mixing has none.
    """

    vocab: int = 32_000
    d_model: int = 768
    d_ff: int = 3072
    layers: int = 12
    max_length: int = 512
    types: int = 4
    dropout: float = 0.1

    def sized(self, vocab: int) -> FNetConfig:
        """Return the configuration with a vocabulary of 0 filled in."""
        return self.filled_in(vocab=vocab)

    def build(self) -> FNet:
        """Make the model, its memory not initialised."""
        return FNet(self)


class FNet(Familiar, nn.Module):
    """Embeddings of tokens, positions and segments, a norm and a linear map; then post-LN layers that mix by Fourier.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes.
    """

    def __init__(self, config: FNetConfig):
        super().__init__()
        self.config = c = config
        self.embedding = Embedding(c.vocab, c.d_model, stream="embedding")
        self.positions = Embedding(c.max_length, c.d_model, stream="positions")
        self.types = Embedding(c.types, c.d_model, stream="types")
        self.embedding_norm = LayerNorm(c.d_model, stream="embedding.norm")
        self.projection = Linear(c.d_model, c.d_model, stream="projection")
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(self._layer(f"encoder.{i}") for i in range(c.layers))
        self.pooler = Linear(c.d_model, c.d_model, stream="pooler")
        for module in self.modules():
            if isinstance(module, LayerNorm):
                module.eps = EPS

    def _layer(self, stream: str) -> EncoderLayer:
        c = self.config
        feed_forward = FeedForward(c.d_model, c.d_ff, stream=f"{stream}.feed_forward", activation="gelu-tanh")
        layer = EncoderLayer(
            Fourier(), feed_forward, d_model=c.d_model, stream=stream, norm_first=False, dropout=c.dropout
        )
        assert layer.mixing is not None
        layer.mixing.dropout = Dropout(0.0)
        return layer

    def forward(self, ids: Tensor, types: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the states of all tokens, and of the first one what the pooler makes of it.

        Args:
            ids: (batch, length) token ids.
            types: (batch, length) the segment of each token; all 0 if None.

        Returns:
            (batch, length, d_model) and (batch, d_model).
        """
        if ids.shape[1] > self.config.max_length:
            raise ValueError(
                f"the model has {self.config.max_length} positions, but the sequence needs {ids.shape[1]}"
            )
        types = torch.zeros_like(ids) if types is None else types
        positions = self.positions.effective_weight()[: ids.shape[1]].to(ids.device)
        x = self.embedding(ids) + self.types(types) + positions
        x = self.dropout(self.projection(self.embedding_norm(x)))
        for layer in self.layers:
            x = layer(x)
        return x, self.pooler(x[:, 0]).tanh()
