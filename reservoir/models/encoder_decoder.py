"""The encoder-decoder transformer of Vaswani et al. (2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from torch import Tensor, nn

from reservoir.layers import Cache, CrossAttention, DecoderLayer, Dropout, Embedding, Linear
from reservoir.models.config import EncoderConfig
from reservoir.models.stack import (
    CAUSAL_MIXINGS,
    LAYER_KINDS,
    MIXINGS,
    LayerKind,
    bare,
    check_names,
    feed_forward,
    last_norm,
    positions,
    stack,
    through,
    tie_layers,
    token_mask,
)


@dataclass(frozen=True)
class EncoderDecoderConfig(EncoderConfig):
    """Sizes and choices of an encoder-decoder; those of its layers are `EncoderConfig`'s.

    Args:
        src_vocab, tgt_vocab: number of tokens on either side; 0 is filled in from the data.
        encoder_layers, decoder_layers: depth on either side.
        tie: "all" shares one table between source, target and output (Press & Wolf 2017), "output" the
            target's with the output, "none" shares nothing.
        encoder_kinds: what each encoder layer is, from the bottom up (see `reservoir.models.stack`). Empty: all are
            transformer layers.
        encoder_mixing: what mixes the positions of each encoder layer, keys of `reservoir.models.stack.MIXINGS`;
            layers that are no transformer layers ignore it. Empty: attention in all.
    """

    src_vocab: int
    tgt_vocab: int
    _: KW_ONLY
    encoder_layers: int = 6
    decoder_layers: int = 6
    norm_first: bool = False
    tie: Literal["all", "output", "none"] = "all"
    encoder_kinds: tuple[LayerKind, ...] = ()
    share_layers: bool = False  # part of every identity, unlike that of text encoders
    encoder_mixing: tuple[str, ...] = field(default=(), metadata={"omit_if_default": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("encoder_kinds", self.encoder_kinds, self.encoder_layers, known=LAYER_KINDS)
        check_names("encoder_mixing", self.encoder_mixing, self.encoder_layers, known=MIXINGS)
        if self.tie == "all" and self.src_vocab != self.tgt_vocab:
            raise ValueError(
                f"tie='all' needs one vocabulary, got src_vocab={self.src_vocab} and tgt_vocab={self.tgt_vocab};"
                " use tie='output'"
            )

    def build(self) -> EncoderDecoder:
        """Make the model, its memory not initialised."""
        return EncoderDecoder(self)


class EncoderDecoder(nn.Module):
    """Reads a source sentence, writes a target sentence token by token.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: EncoderDecoderConfig):
        super().__init__()
        self.config = c = config
        stream = "embedding" if c.tie == "all" else "encoder.embedding"
        self.src_embedding = Embedding(c.src_vocab, c.d_model, stream=stream, padding=c.padding)
        self.tgt_embedding = self.src_embedding
        if c.tie != "all":
            self.tgt_embedding = Embedding(
                c.tgt_vocab, c.d_model, stream="decoder.embedding", padding=c.padding
            )
        self.src_positions = positions(c, "encoder.positions")
        self.tgt_positions = positions(c, "decoder.positions")
        self.dropout = Dropout(c.dropout)
        self.layer_drop = c.layer_drop
        self.encoder = stack(
            c, c.encoder_layers, prefix="encoder", kinds=c.encoder_kinds, mixing=c.encoder_mixing
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(
                CAUSAL_MIXINGS["attention"](c, f"decoder.{i}"),
                CrossAttention(
                    c.d_model, c.n_heads, stream=f"decoder.{i}.cross", dropout=c.attention_dropout
                ),
                feed_forward(c, f"decoder.{i}"),
                stream=f"decoder.{i}",
                d_model=c.d_model,
                norm_first=c.norm_first,
                dropout=c.dropout,
            )
            for i in range(c.decoder_layers)
        )
        if c.share_layers:
            tie_layers(self.encoder)
            tie_layers(self.decoder)
        self.encoder_norm = last_norm(c, "encoder.norm")
        self.decoder_norm = last_norm(c, "decoder.norm")
        self.output = Linear(c.d_model, c.tgt_vocab, stream="output", bias=False)
        if c.tie != "none":
            self.output.weight = self.tgt_embedding.weight
        if c.bare:
            bare(self)

    def embed(self, ids: Tensor, embedding: Embedding, positions: nn.Module, start: int = 0) -> Tensor:
        # (batch, length) -> (batch, length, d_model)
        return self.dropout(positions(embedding(ids) * math.sqrt(self.config.d_model), start))

    def src_mask(self, src: Tensor) -> Tensor | None:
        """Return (batch, src_len), true at tokens and false at padding; None when nothing is padded."""
        return token_mask(src, self.config.padding)

    def encode(self, src: Tensor, mask: Tensor | None = None) -> Tensor:
        # (batch, src_len), (batch, src_len) -> (batch, src_len, d_model)
        x = self.embed(src, self.src_embedding, self.src_positions)
        return self.encoder_norm(through(self, self.encoder, x, mask))

    def new_cache(self) -> Sequence[tuple[Cache, Cache]]:
        """An empty cache for decoding: own keys and values, and those of the encoder's output, for each layer."""
        return [(Cache(), Cache()) for _ in self.decoder]

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        cache: Sequence[tuple[Cache, Cache]] | None = None,
    ) -> Tensor:
        """Hidden states of the target's positions.

        Args:
            tgt: (batch, tgt_len); with a cache, only the tokens that are not in it yet.
            memory: (batch, src_len, d_model), the encoder's output. In beam search tgt may have `beam` rows for
                each row of memory.
            mask: (batch, src_len) of the source.
            cache: from `new_cache`; grows by tgt_len.

        Returns:
            (batch, tgt_len, d_model)
        """
        start = 0 if cache is None else len(cache[0][0])
        x = self.embed(tgt, self.tgt_embedding, self.tgt_positions, start)
        for i, layer in enumerate(self.decoder):
            x = layer(x, memory, mask, None if cache is None else cache[i])
        return self.decoder_norm(x)

    def hidden(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The decoder's last states: (batch, src_len), (batch, tgt_len) -> (batch, tgt_len, d_model)."""
        mask = self.src_mask(src)
        return self.decode(tgt, self.encode(src, mask), mask)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        # (batch, src_len), (batch, tgt_len) -> logits (batch, tgt_len, tgt_vocab)
        return self.output(self.hidden(src, tgt))
