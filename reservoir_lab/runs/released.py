"""The readers of language models that others released: GPT-2's files and llama2.c's."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reservoir.models import LanguageModel, LanguageModelConfig, Llama, LlamaConfig
from reservoir.weights import Pretrained, WeightsError, owned, set_origin
from reservoir.weights.files import read_json, read_safetensors, read_small, shortened

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


def load_gpt2(path: Path | str, *, vocab: int | None = None) -> LanguageModel:
    """A GPT-2 with its weights, every tensor of which has the origin "pretrained".

    Args:
        path: a safetensors file, or a folder with `model.safetensors` and perhaps `config.json`, as
            `transformers` saves them. Without a `config.json` a head is taken to be 64 wide, as in every size that was
            released.
        vocab: how many tokens the file must have; any number if None.

    Raises:
        WeightsError: the file is missing, damaged or of another model, or has another vocabulary.
    """
    path = Path(path)
    file = path / "model.safetensors" if path.is_dir() else path
    tensors = _read(file)
    config = _config(file, tensors, path)
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


def _config(file: Path, tensors: dict[str, Tensor], path: Path) -> LanguageModelConfig:
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
        return LanguageModelConfig(
            vocab,
            d_model=d_model,
            n_heads=n_heads,
            d_ff=d_ff,
            layers=layers,
            activation="gelu-tanh",
            positions="learned",
            max_length=max_length,
            scale_embeddings=False,
            dropout=0.0,
        )
    except ValueError as error:
        raise WeightsError(f"{file} is no GPT-2 that can be built: {error}") from error


def _theirs(stream: str) -> tuple[str, bool]:
    """GPT-2's name of a tensor of ours, and whether it has it transposed."""
    bias = stream.endswith(".bias")
    stream, ending = (stream.removesuffix(".bias"), "bias") if bias else (stream, "weight")
    if stream in WHOLE:
        return f"{WHOLE[stream]}.{ending}", False
    _, layer, rest = stream.split(".", 2)
    return f"h.{layer}.{LAYER[rest]}.{ending}", "c_" in LAYER[rest] and not bias


HEAD = struct.Struct("<7i")  # dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len


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
