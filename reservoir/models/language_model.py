"""Language models: a stack of causal layers that predicts the next token, and how it goes on after a text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, GatedFeedForward, Linear, RMSNorm, RotaryAttention
from reservoir.layers.arguments import check_number
from reservoir.models.config import ModelConfig, TransformerConfig
from reservoir.models.stack import CAUSAL, CAUSAL_MIXINGS, LayerKind, StackModel, check_names


class Generating(nn.Module):
    """What language models share whose last states of token ids are `hidden` and whose logits are `output` of these.

    Attributes:
        hidden: token ids (batch, length) -> (batch, length, d_model); no position depends on what follows.
        output: (..., d_model) -> (..., vocab).
        room: how many tokens `hidden` can read at once; 0 for any number.
    """

    hidden: Callable[[Tensor], Tensor]
    output: Linear
    room: int

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of the next tokens: (batch, length) -> (batch, length, vocab)."""
        return self.output(self.hidden(ids))

    @torch.no_grad()  # and not inference_mode, whose tokens no model could be trained on
    def generate(
        self,
        ids: Tensor,
        *,
        max_new_tokens: int,
        end: int | None = None,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> Tensor:
        """Continue texts, without dropout. Of a text that is longer than `room`, the last tokens are read.

        Args:
            ids: (batch, length), at least one token each.
            max_new_tokens: how many to add.
            end: the token that ends a text; generation stops where every text has it next, and leaves it out.
            temperature: 0 takes the most probable token; 1 draws from the model's distribution, less from a sharper
                one.
            seed: of the draws.

        Returns:
            the texts with what follows: (batch, length + at most max_new_tokens).

        Raises:
            ValueError: there is no token to go on from, or the temperature is negative.
        """
        check_number("temperature", temperature, least=0)
        check_number("max_new_tokens", max_new_tokens, least=0, whole=True)
        if not ids.shape[1]:
            raise ValueError("there must be a token to go on from: give some text")
        draws = torch.Generator().manual_seed(seed)
        was_training = self.training
        self.eval()
        try:
            for _ in range(max_new_tokens):
                logits = self.output(self.hidden(ids[:, -self.room :])[:, -1])
                if temperature:  # drawn on the CPU, so that a seed says the same on every machine
                    chances = (logits.float().cpu() / temperature).softmax(-1)
                    token = torch.multinomial(chances, 1, generator=draws).to(ids.device)
                else:
                    token = logits.argmax(-1, keepdim=True)
                if end is not None and bool((token == end).all()):
                    break
                ids = torch.cat([ids, token], 1)
        finally:
            self.train(was_training)
        return ids


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

    def build(self) -> LanguageModel:
        """Make the model, its memory not initialised."""
        return LanguageModel(self)


class Body(StackModel):
    """The part between embeddings and output: positions, causal layers, and the last norm.

    Its memory is not initialised. Streams are named as in the encoder-decoder, so the same freezing plans hold.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__(config, prefix="layer", known=CAUSAL_MIXINGS, embeds=False)

    def states(self, x: Tensor) -> Tensor:
        """Return the last states of embedded inputs: (batch, length, d_model) -> same."""
        return self.norm(self.stream(x))


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


@dataclass(frozen=True)
class LlamaConfig(ModelConfig):
    """Sizes of a language model of the Llama family (Touvron et al. 2023).

    Args:
        vocab: number of tokens; 0 is filled in from the data.
        d_model, n_heads, d_ff: as in `TransformerConfig`.
        layers: depth.
        n_kv_heads: heads of keys and values.
        max_length: the longest sequence that it was trained on; longer ones are an error.
    """

    vocab: int = 0
    d_model: int = 64
    n_heads: int = 8
    d_ff: int = 172
    layers: int = 5
    n_kv_heads: int = 4
    max_length: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_heads % self.n_kv_heads or (self.d_model // self.n_heads) % 2:
            raise ValueError(
                "n_kv_heads must divide n_heads, and a head must have an even width, got"
                f" n_kv_heads={self.n_kv_heads}, n_heads={self.n_heads} and d_model={self.d_model}"
            )

    def build(self) -> Llama:
        """Make the model, its memory not initialised."""
        return Llama(self)


class LlamaLayer(nn.Module):
    """Attention and gated feed-forward, each after an RMS norm and in a residual connection.

    Args:
        config: sizes.
        stream: name of this layer, such as "layer.0".
    """

    def __init__(self, config: LlamaConfig, *, stream: str):
        super().__init__()
        c = config
        self.mixing_norm = RMSNorm(c.d_model, stream=f"{stream}.mixing.norm")
        self.attention = RotaryAttention(
            c.d_model, c.n_heads, n_kv_heads=c.n_kv_heads, stream=f"{stream}.attention"
        )
        self.feed_forward_norm = RMSNorm(c.d_model, stream=f"{stream}.feed_forward.norm")
        self.feed_forward = GatedFeedForward(c.d_model, c.d_ff, stream=f"{stream}.feed_forward")

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> same."""
        x = x + self.attention(self.mixing_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class LlamaBody(nn.Module):
    """Layers and the last norm. Streams are named as in `LanguageModel`; positions have no weights.

    Args:
        config: sizes.
    """

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(LlamaLayer(config, stream=f"layer.{i}") for i in range(config.layers))
        self.norm = RMSNorm(config.d_model, stream="norm")

    def states(self, x: Tensor) -> Tensor:
        """Return the last states of embedded inputs: (batch, length, d_model) -> same."""
        if x.shape[1] > self.config.max_length:
            raise ValueError(
                f"the model has {self.config.max_length} positions, but the sequence needs {x.shape[1]}"
            )
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Llama(Generating, LlamaBody):
    """A causal language model of the Llama family; its output shares the table of embeddings.

    Args:
        config: sizes.
    """

    def __init__(self, config: LlamaConfig):
        super().__init__(config)
        self.embedding = Embedding(config.vocab, config.d_model, stream="embedding")
        self.output = Linear(config.d_model, config.vocab, stream="output", bias=False)
        self.output.weight = self.embedding.weight
        self.room = config.max_length

    def hidden(self, ids: Tensor) -> Tensor:
        """Return the last states of token ids: (batch, length) -> (batch, length, d_model)."""
        return self.states(self.embedding(ids))
