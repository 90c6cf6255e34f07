"""Language models: a stack of causal layers that predicts the next token, how it goes on after a text, and the
readers of GPT-2's and llama2.c's files.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from reservoir.layers import Dropout, Embedding, GatedFeedForward, LayerNorm, Linear, RMSNorm, RotaryAttention
from reservoir.layers.arguments import check_number
from reservoir.models.config import ModelConfig, TransformerConfig
from reservoir.models.pretrained import Familiar
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
from reservoir.weights import Pretrained, owned, set_origin
from reservoir.weights.files import WeightsError, read_json, read_safetensors, read_small, shortened


class Generating(Familiar):
    """What language models share whose last states of token ids are `hidden` and whose logits are `output` of these.

    Attributes:
        hidden: token ids (batch, length) -> (batch, length, d_model); no position depends on what follows.
        output: (..., d_model) -> (..., vocab).
        room: how many tokens `hidden` can read at once; 0 for any number.
    """

    hidden: Callable[[Tensor], Tensor]
    output: Linear
    room: int

    @torch.inference_mode()
    def generate(  # type: ignore[override]
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
        module = cast(nn.Module, self)  # what this is mixed into
        was_training = module.training
        module.eval()
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
            module.train(was_training)
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


D_HEAD = 64  # in every released size
WHOLE = {"embedding": "wte", "positions": "wpe", "norm": "ln_f"}
LAYER = {
    "mixing.norm": "ln_1",
    "attention.qkv": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "feed_forward.norm": "ln_2",
    "feed_forward.up": "mlp.c_fc",
    "feed_forward.down": "mlp.c_proj",
}
"""Our stream names, of the whole and of a layer, and GPT-2's. What it calls "c_…" its file has as (in, out)."""


def load_gpt2(path: Path | str, *, vocab: int | None = None, dropout: float = 0.0) -> LanguageModel:
    """A GPT-2 with its weights, every tensor of which has the origin "pretrained".

    Args:
        path: a safetensors file, or a folder with `model.safetensors` and perhaps `config.json`, as
            `transformers` saves them. Without a `config.json` a head is taken to be 64 wide, as in every size that was
            released.
        vocab: how many tokens the file must have; any number if None.
        dropout: on the embeddings and on each sublayer's output, for further training.

    Raises:
        WeightsError: the file is missing, damaged or of another model, or has another vocabulary.
    """
    path = Path(path)
    file = path / "model.safetensors" if path.is_dir() else path
    tensors = _read(file)
    config = _config(file, tensors, path, dropout)
    if vocab is not None and config.vocab != vocab:
        raise WeightsError(
            f"{file} has {config.vocab:,} tokens, but {vocab:,} are asked for; use its own tokeniser"
        )
    model = config.build()
    with torch.no_grad():
        for item in owned(model):
            name, turned = _theirs(item.stream)
            if name not in tensors:
                raise WeightsError(f"{file} has no tensor {name!r}: it is no GPT-2, or not all of one")
            value = tensors.pop(name)
            value = value.T if turned else value
            if value.shape != item.parameter.shape:
                raise WeightsError(
                    f"{file}: {name!r} is {tuple(value.shape)}, but the other tensors make it"
                    f" {tuple(item.parameter.shape)}"
                )
            item.parameter.copy_(value)
            set_origin(item, Pretrained(str(path)))
    if left := sorted(tensors):
        raise WeightsError(f"{file} has tensors that no GPT-2 has: {', '.join(left[:3])}")
    return model.eval()


def _read(file: Path) -> dict[str, Tensor]:
    found, _ = read_safetensors(file)
    tensors = {
        name.removeprefix("transformer."): tensor
        for name, tensor in found.items()
        if not re.search(r"\.attn\.(masked_)?bias$", name)  # triangles that hide what lies ahead
    }
    head = tensors.pop("lm_head.weight", None)
    if head is not None and not torch.equal(head, tensors.get("wte.weight", head[:0])):
        raise WeightsError(f"{file}: its output is not tied to its embeddings, as GPT-2's is")
    return tensors


def _config(file: Path, tensors: dict[str, Tensor], path: Path, dropout: float) -> LanguageModelConfig:
    try:
        vocab, d_model = tensors["wte.weight"].shape
        max_length = len(tensors["wpe.weight"])
        d_ff = tensors["h.0.mlp.c_fc.weight"].shape[1]
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise WeightsError(f"{file} is no GPT-2: its embeddings or its first layer are missing") from error
    layers = 1 + max(int(found[1]) for name in tensors if (found := re.match(r"h\.(\d+)\.", name)))
    beside = path / "config.json" if path.is_dir() else path.with_name("config.json")
    said = read_json(read_small(beside), str(beside)) if beside.is_file() else {}
    n_heads = said.get("n_head", d_model // D_HEAD)
    if type(n_heads) is not int or n_heads < 1 or d_model % n_heads:
        todo = f"correct n_head in {beside}" if beside.is_file() else "add its config.json"
        raise WeightsError(
            f"{file}: {d_model} features cannot be shared out among {shortened(n_heads)} heads; {todo}"
        )
    try:
        config = LanguageModelConfig(
            vocab,
            d_model=d_model,
            n_heads=n_heads,
            d_ff=d_ff,
            layers=layers,
            activation="gelu-tanh",
            positions="learned",
            max_length=max_length,
            scale_embeddings=False,
        )
    except ValueError as error:
        raise WeightsError(f"{file} is no GPT-2 that can be built: {error}") from error
    return replace(config, dropout=dropout)


def _theirs(stream: str) -> tuple[str, bool]:
    """GPT-2's name of a tensor of ours, and whether it has it transposed."""
    bias = stream.endswith(".bias")
    stream, ending = (stream.removesuffix(".bias"), "bias") if bias else (stream, "weight")
    if stream in WHOLE:
        return f"{WHOLE[stream]}.{ending}", False
    _, layer, rest = stream.split(".", 2)
    return f"h.{layer}.{LAYER[rest]}.{ending}", "c_" in LAYER[rest] and not bias


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
