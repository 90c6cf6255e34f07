"""A language model: a stack of causal layers that predicts the next token from those before it."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

from torch import Tensor, nn

from reservoir.layers import Dropout, Embedding, LayerNorm, Linear
from reservoir.models.config import TransformerConfig
from reservoir.models.generating import Generating
from reservoir.models.stack import (
    CAUSAL,
    LayerKind,
    bare,
    causal_attention,
    check_names,
    positions,
    stack,
    tie_layers,
)


@dataclass(frozen=True)
class LanguageModelConfig(TransformerConfig):
    """Sizes and choices of a language model; those of its layers are `TransformerConfig`'s.

    Args:
        vocab: number of tokens; 0 is filled in from the data.
        layers: depth.
        tie: whether the output shares the table of embeddings (Press & Wolf 2017).
        kinds: what each layer is, from the bottom up: "transformer", or "ffn" for a feed-forward layer alone. Empty:
            all are transformer layers. The other kinds of `reservoir.models.stack` look ahead.
        scale_embeddings: whether embeddings are multiplied by √d_model (Vaswani et al. 2017, §3.4); GPT-2's are not.
        share_layers: one layer, used at every depth (Dehghani et al. 2019).
        bare: norms without weights and biases, linear maps without biases.
    """

    vocab: int = 0
    _: KW_ONLY
    layers: int = 6
    tie: bool = True
    kinds: tuple[LayerKind, ...] = ()
    scale_embeddings: bool = True
    share_layers: bool = field(default=False, metadata={"omit_if_default": True})
    bare: bool = field(default=False, metadata={"omit_if_default": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "; a causal model must not read what lies ahead"
        check_names("kinds", self.kinds, self.layers, known=CAUSAL, why=why)

    def sized(self, vocab: int) -> LanguageModelConfig:
        """Return the configuration with a vocabulary of 0 filled in."""
        return self.filled_in(vocab=vocab)

    def build(self) -> LanguageModel:
        """Make the model, its memory not initialised."""
        return LanguageModel(self)

    def build_body(self) -> Body:
        """Make the body alone, without embeddings and output."""
        return Body(self)


class Body(nn.Module):
    """The part between embeddings and output: positions, causal layers, and the last norm.

    Its memory is not initialised. Streams are named as in the encoder-decoder, so the same freezing plans hold.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.config = c = config
        self.positions = positions(c, "positions")
        self.dropout = Dropout(c.dropout)
        self.layers = stack(c, c.layers, prefix="layer", kinds=c.kinds, mixing=causal_attention)
        if c.share_layers:
            tie_layers(self.layers)
        self.norm = LayerNorm(c.d_model, stream="norm") if c.norm_first else nn.Identity()
        if c.bare:
            bare(self)

    def states(self, x: Tensor) -> Tensor:
        """Return the last states of embedded inputs: (batch, length, d_model) -> same."""
        x = self.dropout(self.positions(x))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class LanguageModel(Generating, Body):
    """A causal language model (Radford et al. 2018): logits of the next token at each position.

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
        self.room = config.max_length if config.positions == "learned" else 0

    def hidden(self, ids: Tensor) -> Tensor:
        """Return the last states of token ids: (batch, length) -> (batch, length, d_model)."""
        x = self.embedding(ids)
        return self.states(x * math.sqrt(self.config.d_model) if self.config.scale_embeddings else x)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of the next tokens: (batch, length) -> (batch, length, vocab)."""
        return self.output(self.hidden(ids))
