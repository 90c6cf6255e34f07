"""FNet as it was released, with its own embeddings: the same tensors, so that released weights would fit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reservoir.layers import Dropout, Embedding, EncoderLayer, FeedForward, Fourier, LayerNorm, Linear
from reservoir.models.config import ModelConfig
from reservoir.models.pretrained import Familiar

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
