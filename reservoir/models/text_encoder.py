"""An encoder of texts: embeddings, positions and a stack of layers, to put a head on."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Self

import torch
from torch import Tensor, nn

from reservoir.layers import Dropout, Embedding, LayerNorm
from reservoir.layers.feed_forward import Activation
from reservoir.models.config import EncoderConfig
from reservoir.models.familiar import Familiar
from reservoir.models.mixings import check_mixing, named
from reservoir.models.stack import (
    LayerKind,
    Make,
    bare,
    check_kinds,
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
        mixing: what mixes the positions of each transformer layer, keys of `reservoir.models.mixings.MIXINGS`. Empty:
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
        check_kinds(self.kinds, self.layers)
        check_mixing(self.mixing, self.layers)

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
        self.layers = stack(
            c,
            c.layers,
            prefix="encoder",
            kinds=c.kinds,
            mixing=mixing or named(c.mixing),
        )
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
            if self.training and self.config.layer_drop and torch.rand(()) < self.config.layer_drop:
                continue
            x = layer(x, mask)
        return self.norm(x[:, :length])
