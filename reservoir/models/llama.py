"""A language model of the Llama family, and the reader of llama2.c's files."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, GatedFeedForward, Linear, RMSNorm, RotaryAttention
from reservoir.models.config import ModelConfig
from reservoir.models.generating import Generating
from reservoir.weights import Pretrained, owned, set_origin
from reservoir.weights.files import WeightsError

HEAD = struct.Struct("<7i")  # dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len


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

    def sized(self, vocab: int) -> LlamaConfig:
        """Return the configuration with a vocabulary of 0 filled in."""
        return self.filled_in(vocab=vocab)

    def build(self) -> Llama:
        """Make the model, its memory not initialised."""
        return Llama(self)

    def build_body(self) -> LlamaBody:
        """Make the body alone, without embeddings and output."""
        return LlamaBody(self)


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

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of the next tokens: (batch, length) -> (batch, length, vocab)."""
        return self.output(self.hidden(ids))


def load_llama2c(path: Path | str) -> Llama:
    """Read a model in llama2.c's first format: seven numbers, then all weights in fp32, kind after kind.

    Raises:
        WeightsError: the file is missing, cut off, or none of these.
    """
    path = Path(path)
    if not path.is_file():
        raise WeightsError(f"there is no file {path}")
    content = path.read_bytes()
    if len(content) < HEAD.size:
        raise WeightsError(f"{path} is cut off: it has {len(content)} bytes, not even a head")
    d_model, d_ff, layers, n_heads, n_kv_heads, vocab, length = HEAD.unpack_from(content)
    sizes = (d_model, d_ff, layers, n_heads, n_kv_heads, length)
    if min(sizes) < 1 or max(sizes) > 1 << 20 or vocab == 0 or d_model % n_heads or n_heads % n_kv_heads:
        raise WeightsError(
            f"{path} is no model of llama2.c: it begins with {', '.join(map(str, (*sizes, vocab)))}"
        )
    if vocab < 0:
        raise WeightsError(f"{path}: its output is not tied to its embeddings; only tied models are read")
    try:
        config = LlamaConfig(vocab, d_model, n_heads, d_ff, layers, n_kv_heads, length)
    except ValueError as error:
        raise WeightsError(f"{path} is no model of llama2.c that can be built: {error}") from error
    kv = d_model * n_kv_heads // n_heads
    kinds = {  # in the file's order
        "embedding": (vocab, d_model),
        "mixing.norm": (layers, d_model),
        "attention.query": (layers, d_model, d_model),
        "attention.key": (layers, kv, d_model),
        "attention.value": (layers, kv, d_model),
        "attention.out": (layers, d_model, d_model),
        "feed_forward.norm": (layers, d_model),
        "feed_forward.gate": (layers, d_ff, d_model),
        "feed_forward.down": (layers, d_model, d_ff),
        "feed_forward.up": (layers, d_ff, d_model),
        "norm": (d_model,),
    }
    tables = length * (d_model // n_heads)  # cosines and sines, which we compute
    sizes_of = [math.prod(shape) for shape in kinds.values()]
    wanted = HEAD.size + 4 * (sum(sizes_of) + tables)
    if len(content) != wanted:
        raise WeightsError(f"{path} has {len(content):,} bytes, but a model of its sizes has {wanted:,}")
    model = config.build()
    numbers = torch.from_numpy(np.frombuffer(content, dtype="<f4", offset=HEAD.size).astype(np.float32))
    parts = numbers[: sum(sizes_of)].split(sizes_of)
    found = {kind: part.view(shape) for (kind, shape), part in zip(kinds.items(), parts, strict=True)}
    found["attention.kv"] = torch.cat([found["attention.key"], found["attention.value"]], 1)
    with torch.no_grad():
        for item in owned(model):
            if item.stream.startswith("layer."):
                _, layer, kind = item.stream.split(".", 2)
                item.parameter.copy_(found[kind][int(layer)])
            else:
                item.parameter.copy_(found[item.stream])
            set_origin(item, Pretrained(str(path)))
    return model.eval()
