"""Stacks of layers with a head: a masked language model (Devlin et al. 2019) and a classifier of texts on one encoder,
and the tagger, which is the model of the bench.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Dropout, LayerNorm, LearnedPositions, Linear
from reservoir.layers.block import Activation
from reservoir.models.config import EncoderConfig, TransformerConfig
from reservoir.models.stack import (
    CAUSAL,
    CAUSAL_MIXINGS,
    LAYER_KINDS,
    MIXINGS,
    LayerKind,
    StackModel,
    bare,
    check_names,
    token_mask,
)
from reservoir.weights.initialisation import Normal


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

    def sized(self, vocab: int, classes: int = 0) -> Self:
        """Return the configuration with sizes of 0 filled in; the mask is one token more than the data have."""
        return super().sized(vocab + 1, classes)


class TextEncoder(StackModel):
    """A bidirectional encoder: a state for each token of a text.

    The streams are "embedding", "positions", "encoder.0.…" and "norm", whatever the head: weights that were
    pretrained under one head can be taken by name under another.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: TextEncoderConfig):
        super().__init__(config, prefix="encoder", mixing=config.mixing)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the last states of token ids: (batch, length) -> (batch, length, d_model)."""
        length = ids.shape[1]
        if self.config.filled:
            if length > self.config.max_length:
                raise ValueError(
                    f"texts are filled up to max_length and may have at most {self.config.max_length} tokens, got"
                    f" {length}"
                )
            ids = F.pad(ids, (0, self.config.max_length - length), value=self.config.padding)
        x = self.embedding(ids) * math.sqrt(self.config.d_model)
        mask = None if self.config.filled else token_mask(ids, self.config.padding)
        return self.norm(self.stream(x, mask)[:, :length])


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


START = Normal(0.3)
"""How a tagger's embeddings and positions start. Of the spreads from 0.2 to 1, this one learned circles soonest."""
KINDS: tuple[LayerKind, ...] = ("transformer", "attention", "ffn", "ffn-4", "ffn-16", "gru", "conv")
ONLY_BACK: tuple[LayerKind, ...] = (*CAUSAL, "attention", "ffn-4", "ffn-16")


@dataclass(frozen=True)
class TaggerConfig(TransformerConfig):
    """Sizes and choices of a tagger; its sequences all have the same length, `max_length`.

    Args:
        vocab: number of tokens, the padding 0 included; 0 is filled in from the data.
        outputs: numbers that the model gives at each place; 0 is filled in from the data.
        layers: depth.
        causal: whether a place sees only itself and those before it.
        kinds: what each layer is, from the bottom up, of `KINDS`. Empty: all are transformer layers.
        mixing: what mixes the places of each transformer layer, keys of `reservoir.models.stack.MIXINGS`; of
            `CAUSAL_MIXINGS` if causal. Empty: attention in all.
        kernel: width of the convolutions' windows.
        layer_drop: chance with which a layer is left out of a training step (Fan et al. 2020).
        share_layers: one layer, used at every depth (Dehghani et al. 2019).
        bare: norms without weights and biases, linear maps without biases.
    """

    vocab: int = 0
    outputs: int = 0
    _: KW_ONLY
    d_model: int = 32
    n_heads: int = 2
    d_ff: int = 128
    dropout: float = 0.0
    positions: Literal["sinusoidal", "learned"] = "learned"
    layers: int = 2
    causal: bool = False
    kinds: tuple[LayerKind, ...] = ()
    mixing: tuple[str, ...] = ()
    kernel: int = 7
    layer_drop: float = 0.0
    share_layers: bool = False
    bare: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "; a causal model must not read what lies ahead" if self.causal else ""
        check_names("kinds", self.kinds, self.layers, known=ONLY_BACK if self.causal else KINDS, why=why)
        known = CAUSAL_MIXINGS if self.causal else MIXINGS
        check_names("mixing", self.mixing, self.layers, known=known, why=why)

    def build(self) -> Tagger:
        """Make the model, its memory not initialised."""
        return Tagger(self)


class Tagger(StackModel):
    """Embeddings, a stack of layers, and a readout at each place.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`. The streams are "embedding",
    "positions", "encoder.0.…", "norm" and "readout".

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: TaggerConfig):
        known = CAUSAL_MIXINGS if config.causal else MIXINGS
        super().__init__(config, prefix="encoder", mixing=config.mixing, known=known)
        self.embedding.initialisations = {"weight": START}
        if isinstance(self.positions, LearnedPositions):
            self.positions.table.initialisations = {"weight": START}
        self.readout = Linear(config.d_model, config.outputs, stream="readout", bias=False)

    def states(self, ids: Tensor) -> Tensor:
        """Return the last states of token ids, before the last norm: (batch, length) -> (batch, length, d_model)."""
        return self.stream(self.embedding(ids))

    def forward(self, ids: Tensor, places: int | None = None) -> Tensor:
        """Return the output at the last `places` places, or at all: (batch, length) -> (batch, places, outputs)."""
        x = self.states(ids)
        return self.readout(self.norm(x if places is None else x[:, -places:]))
