"""GPT-2 from its safetensors file: a language model of ours with the weights that OpenAI released."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from reservoir.models.language_model import LanguageModel, LanguageModelConfig
from reservoir.weights import Pretrained, owned, set_origin
from reservoir.weights.files import WeightsError, read_json, read_safetensors, read_small, shortened

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
