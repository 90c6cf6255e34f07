"""An encoder of texts: embeddings, positions and a stack of layers, for whatever head is put on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import torch
from torch import Tensor, nn

from reservoir.layers import Dropout, Embedding, LayerNorm, LearnedPositions, SinusoidalPositions
from reservoir.layers.feed_forward import Activation
from reservoir.models.mixings import MIXINGS, check_mixing
from reservoir.models.stack import LayerKind, Make, bare, check_kinds, stack, tie_layers


@dataclass(frozen=True)
class TextEncoderConfig:
    """Sizes and choices of a text encoder.

    Args:
        vocab: number of tokens, the mask, which is the last, included; 0 is filled in from the data.
        d_model: width of the residual stream.
        n_heads: attention heads; divides d_model.
        d_ff: inner width of the feed-forward layers.
        layers: depth.
        norm_first: pre-LN if true, with one more norm at the end; post-LN if not.
        dropout: on the embeddings and on each sublayer's output.
        attention_dropout, activation_dropout: on attention weights and inside the feed-forward layers.
        activation: "relu" or "gelu".
        positions: "sinusoidal" or "learned".
        max_length: number of learned positions, and of the tokens that transforms and matrices over tokens are made
            for: they take a shorter text as filled up with zeros.
        padding: the id that fills up short texts.
        kinds: what each layer is, from the bottom up (see `reservoir.models.stack`). Empty: all are transformer layers.
        mixing: what mixes the positions of each transformer layer, keys of `reservoir.models.mixings.MIXINGS`. Empty:
            attention in all.
        kernel: width of the convolutions' windows.
        layer_drop: chance with which a layer is left out of a training step (Fan et al. 2020).
        share_layers: one layer, used at every depth (Lan et al. 2020).
        bare: norms without weights and biases, linear maps without biases.
        filled: texts are filled up to `max_length` and padding is read as any other token, in every layer, so that
            what a transform does to a text neither depends on its neighbours nor is cut off between two layers.
    """

    vocab: int = 0
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    layers: int = 12
    norm_first: bool = True
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: Activation = "gelu"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 512
    padding: int = 0
    kinds: tuple[LayerKind, ...] = ()
    mixing: tuple[str, ...] = ()
    kernel: int = 7
    layer_drop: float = 0.0
    share_layers: bool = field(default=False, metadata={"omit_if_default": True})
    bare: bool = field(default=False, metadata={"omit_if_default": True})
    filled: bool = field(default=False, metadata={"omit_if_default": True})

    def __post_init__(self) -> None:
        check_kinds(self.kinds, self.layers)
        check_mixing(self.mixing, self.layers)
        if self.positions not in ("sinusoidal", "learned"):
            raise ValueError(f"positions must be 'sinusoidal' or 'learned', got {self.positions!r}")
        if not 0 <= self.layer_drop < 1:
            raise ValueError(f"layer_drop must be in [0, 1), got {self.layer_drop}")

    def sized(self, pieces: int) -> Self:
        """The same with a vocabulary of 0 filled in: that of the data, and the mask."""
        return replace(self, vocab=self.vocab or pieces + 1)


def configured(config: TextEncoderConfig, index: int, stream: str) -> nn.Module:
    """The mixing that the configuration names for layer `index`."""
    return MIXINGS[config.mixing[index] if config.mixing else "attention"](config, index, stream)


class TextEncoder(nn.Module):
    """Reads a text in both directions and gives a state for each of its tokens.

    The streams are "embedding", "positions", "encoder.0.…" and "norm", whatever stands on top: weights that were
    pretrained under one head are found again under another.

    Args:
        config: sizes and choices.
        mixing: makes what mixes the positions of layer i; as the configuration says if nothing is given.
    """

    def __init__(self, config: TextEncoderConfig, *, mixing: Make = configured):
        super().__init__()
        self.config = c = config
        self.embedding = Embedding(c.vocab, c.d_model, stream="embedding", padding=c.padding)
        self.positions = (
            LearnedPositions(c.max_length, c.d_model, stream="positions")
            if c.positions == "learned"
            else SinusoidalPositions(c.d_model)
        )
        self.dropout = Dropout(c.dropout)
        self.layers = stack(c, c.layers, prefix="encoder", kinds=c.kinds, mixing=mixing)
        if c.share_layers:
            tie_layers(self.layers)
        self.norm = LayerNorm(c.d_model, stream="norm") if c.norm_first else nn.Identity()
        if c.bare:
            bare(self)

    def mask(self, ids: Tensor) -> Tensor | None:
        """(batch, length), true at tokens, false at padding; None when nothing is padded."""
        mask = ids != self.config.padding
        return None if ids.is_meta or (not ids.is_cuda and bool(mask.all())) else mask

    def forward(self, ids: Tensor) -> Tensor:  # (batch, length) -> (batch, length, d_model)
        length = ids.shape[1]
        if self.config.filled:
            if length > self.config.max_length:
                raise ValueError(
                    f"texts are filled up to max_length and may have at most {self.config.max_length} tokens, got"
                    f" {length}"
                )
            ids = nn.functional.pad(ids, (0, self.config.max_length - length), value=self.config.padding)
        x = self.dropout(self.positions(self.embedding(ids) * math.sqrt(self.config.d_model)))
        mask = None if self.config.filled else self.mask(ids)
        for layer in self.layers:
            if self.training and self.config.layer_drop and torch.rand(()) < self.config.layer_drop:
                continue
            x = layer(x, mask)
        return self.norm(x[:, :length])
