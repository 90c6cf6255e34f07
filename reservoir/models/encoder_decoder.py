"""The encoder-decoder transformer of Vaswani et al. (2017), with its mixing and feed-forward layers as arguments."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor, nn

from reservoir.layers import (
    Cache,
    CrossAttention,
    DecoderLayer,
    Dropout,
    Embedding,
    LayerNorm,
    LearnedPositions,
    Linear,
    SinusoidalPositions,
)
from reservoir.layers.feed_forward import Activation
from reservoir.models.mixings import MIXINGS, check_mixing
from reservoir.models.stack import (
    LayerKind,
    Make,
    bare,
    causal_attention,
    check_kinds,
    feed_forward,
    stack,
    tie_layers,
)


@dataclass(frozen=True)
class EncoderDecoderConfig:
    """Sizes and choices of an encoder-decoder.

    Args:
        src_vocab, tgt_vocab: number of tokens on either side.
        d_model: width of the residual stream.
        n_heads: attention heads; divides d_model.
        d_ff: inner width of the feed-forward layers.
        encoder_layers, decoder_layers: depth on either side.
        norm_first: pre-LN if true, with one more norm at the end of each side; post-LN if not.
        dropout: on the embeddings and on each sublayer's output.
        attention_dropout, activation_dropout: on attention weights and inside the feed-forward layers.
        activation: "relu" or "gelu".
        positions: "sinusoidal" or "learned".
        max_length: number of learned positions, and of the tokens that an encoder's transforms and matrices over tokens
            are made for; sinusoidal positions and attention have no limit.
        tie: "all" shares one table between source, target and output (Press & Wolf 2017), "output" the
            target's with the output, "none" shares nothing.
        padding: the id that fills up short sentences.
        encoder_kinds: what each encoder layer is, from the bottom up: "transformer"; or a feed-forward layer ("ffn"),
            a recurrent one ("gru") or a dynamic convolution ("conv") alone, in its residual connection. Empty: all
            are transformer layers.
        kernel: width of the convolutions' windows.
        layer_drop: chance with which an encoder layer is left out of a training step (Fan et al. 2020).
        share_layers: one encoder layer and one decoder layer, used at every depth (Dehghani et al. 2019).
        bare: norms without weights and biases, linear maps without biases.
        encoder_mixing: what mixes the positions of each encoder layer, keys of `reservoir.models.mixings.MIXINGS`; of a
            layer that is not a transformer layer it says nothing. Empty: attention in all.
    """

    src_vocab: int
    tgt_vocab: int
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6
    norm_first: bool = False
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: Activation = "relu"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 1024
    tie: Literal["all", "output", "none"] = "all"
    padding: int = 0
    encoder_kinds: tuple[LayerKind, ...] = ()
    kernel: int = 7
    layer_drop: float = 0.0
    share_layers: bool = False
    bare: bool = field(default=False, metadata={"omit_if_default": True})
    encoder_mixing: tuple[str, ...] = field(default=(), metadata={"omit_if_default": True})

    def __post_init__(self) -> None:
        check_kinds(self.encoder_kinds, self.encoder_layers, argument="encoder_kinds")
        check_mixing(self.encoder_mixing, self.encoder_layers, argument="encoder_mixing")
        if not 0 <= self.layer_drop < 1:
            raise ValueError(f"layer_drop must be in [0, 1), got {self.layer_drop}")
        if self.tie not in ("all", "output", "none"):
            raise ValueError(f"tie must be 'all', 'output' or 'none', got {self.tie!r}")
        if self.positions not in ("sinusoidal", "learned"):
            raise ValueError(f"positions must be 'sinusoidal' or 'learned', got {self.positions!r}")
        if self.tie == "all" and self.src_vocab != self.tgt_vocab:
            raise ValueError(
                f"tie='all' needs one vocabulary, got src_vocab={self.src_vocab} and tgt_vocab={self.tgt_vocab};"
                " use tie='output'"
            )

    def to_json(self) -> dict:
        return asdict(self)

    def sized(self, vocab: int) -> EncoderDecoderConfig:
        """The same with vocabularies of 0 filled in."""
        return replace(self, src_vocab=self.src_vocab or vocab, tgt_vocab=self.tgt_vocab or vocab)

    def build(self) -> EncoderDecoder:
        """The model, its memory not initialised."""
        return EncoderDecoder(self)


def configured(config: EncoderDecoderConfig, index: int, stream: str) -> nn.Module:
    """The mixing that the configuration names for encoder layer `index`."""
    name = config.encoder_mixing[index] if config.encoder_mixing else "attention"
    return MIXINGS[name](config, index, stream)


class EncoderDecoder(nn.Module):
    """Reads a source sentence, writes a target sentence token by token.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`.

    Args:
        config: sizes and choices.
        encoder_mixing, decoder_mixing: make the mixing of layer i of either side; the encoder's is as the configuration
            says if nothing is given. The decoder's must not look ahead, and takes a cache.
        encoder_feed_forward, decoder_feed_forward: make the feed-forward layer of layer i.
    """

    def __init__(
        self,
        config: EncoderDecoderConfig,
        *,
        encoder_mixing: Make = configured,
        decoder_mixing: Make = causal_attention,
        encoder_feed_forward: Make = feed_forward,
        decoder_feed_forward: Make = feed_forward,
    ):
        super().__init__()
        self.config = c = config
        shared = "embedding" if c.tie == "all" else None
        self.src_embedding = Embedding(
            c.src_vocab, c.d_model, stream=shared or "encoder.embedding", padding=c.padding
        )
        self.tgt_embedding = (
            self.src_embedding
            if shared
            else Embedding(c.tgt_vocab, c.d_model, stream="decoder.embedding", padding=c.padding)
        )
        self.src_positions, self.tgt_positions = (self._positions(side) for side in ("encoder", "decoder"))
        self.dropout = Dropout(c.dropout)
        self.layer_drop = c.layer_drop
        self.prefix = None  # a `reservoir.training.CachedPrefix`
        residual = dict(d_model=c.d_model, norm_first=c.norm_first, dropout=c.dropout)
        self.encoder = stack(
            c,
            c.encoder_layers,
            prefix="encoder",
            kinds=c.encoder_kinds,
            mixing=encoder_mixing,
            feed_forward=encoder_feed_forward,
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(
                decoder_mixing(c, i, f"decoder.{i}"),
                CrossAttention(
                    c.d_model, c.n_heads, stream=f"decoder.{i}.cross", dropout=c.attention_dropout
                ),
                decoder_feed_forward(c, i, f"decoder.{i}"),
                stream=f"decoder.{i}",
                **residual,
            )
            for i in range(c.decoder_layers)
        )
        if c.share_layers:
            tie_layers(self.encoder), tie_layers(self.decoder)
        self.encoder_norm, self.decoder_norm = (
            LayerNorm(c.d_model, stream=f"{side}.norm") if c.norm_first else nn.Identity()
            for side in ("encoder", "decoder")
        )
        self.output = Linear(c.d_model, c.tgt_vocab, stream="output", bias=False)
        if c.tie != "none":
            self.output.weight = self.tgt_embedding.weight
        if c.bare:
            bare(self)

    def _positions(self, side: str) -> nn.Module:
        if self.config.positions == "learned":
            return LearnedPositions(self.config.max_length, self.config.d_model, stream=f"{side}.positions")
        return SinusoidalPositions(self.config.d_model)

    def embed(self, ids: Tensor, embedding: Embedding, positions: nn.Module, start: int = 0) -> Tensor:
        # (batch, length) -> (batch, length, d_model)
        return self.dropout(positions(embedding(ids) * math.sqrt(self.config.d_model), start))

    def src_mask(self, src: Tensor) -> Tensor | None:
        """(batch, src_len), true at tokens, false at padding; None when nothing is padded."""
        mask = src != self.config.padding
        return None if src.is_meta or (not src.is_cuda and bool(mask.all())) else mask

    def encode(self, src: Tensor, mask: Tensor | None = None) -> Tensor:
        # (batch, src_len), (batch, src_len) -> (batch, src_len, d_model)
        x = self.bottom(src, mask, 0) if self.prefix is None else self.prefix(self, src, mask)
        for layer in self.encoder[self.prefix.layers if self.prefix is not None else 0 :]:
            if self.training and self.layer_drop and torch.rand(()) < self.layer_drop:
                continue
            x = layer(x, mask)
        return self.encoder_norm(x)

    def bottom(self, src: Tensor, mask: Tensor | None, layers: int) -> Tensor:
        """The stream after the lowest `layers` encoder layers: (batch, src_len) -> (batch, src_len, d_model)."""
        x = self.embed(src, self.src_embedding, self.src_positions)
        for layer in self.encoder[:layers]:
            x = layer(x, mask)
        return x

    def new_cache(self) -> list[tuple[Cache, Cache]]:
        """An empty cache for decoding: own keys and values, and those of the encoder's output, for each layer."""
        return [(Cache(), Cache()) for _ in self.decoder]

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        cache: list[tuple[Cache, Cache]] | None = None,
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
