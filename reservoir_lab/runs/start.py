"""Starting from a run or a released model: which tensors are taken, and how they are put into another model.

Released are a GPT of ours, which ships with the book, and two models by others: GPT-2 and one in llama2.c's format.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reservoir.datasets import shipped
from reservoir.files import file_digest
from reservoir.models import LanguageModel, LanguageModelConfig, Llama, LlamaConfig
from reservoir.models.pretrained import read_folder
from reservoir.weights import Pretrained, Seeded, WeightsError, owned, recorded_origin, set_origin
from reservoir.weights.files import read_safetensors, tensor_digest
from reservoir.weights.initialisation import NormalAround
from reservoir.weights.naming import Owned
from reservoir_lab.corpora import fetch
from reservoir_lab.runs import registry
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.registry import Scale, results
from reservoir_lab.typed import hint

OURS = "gpt/wikipedia"
NAMES = (OURS, "stories260k", "gpt2")
KNOWN = {
    "b2da1a0779feb921": "8e7eb83482492329",
    "1c8aba56b5cb424d": "76a3e4cd611aa9aa",
    "c9b6729c8d8ec271": "6e6ef5152866a3a6",
}
"""Digests of ours that ship, with those of their first files, by which records know them."""


@dataclass(frozen=True)
class InitFromRun:
    """What a run takes from another one, of the same scale, before its own freezing plan is applied.

    Its texts are cut by that run's vocabulary, since a tensor that was learned for some pieces says nothing about
    others. A tensor that the other run has trained becomes `Pretrained`; one that it had only drawn stays `Seeded`.

    Args:
        recipe, seed: the other run, a registered one.
        streams: patterns over stream names, such as "embedding" or "layer.*": what they match is taken. Without any,
            the vocabulary alone is: the run that learns from scratch, to be compared with those that do not.
        matched: take each tensor's mean and standard deviation only, and draw a tensor with these from this run's
            seed.
        same_seed: take the other run of this run's seed instead of `seed`, so that runs of different seeds are
            independent.
    """

    recipe: str
    seed: int = 0
    streams: tuple[str, ...] = ()
    matched: bool = field(default=False, metadata={"omit_if_default": True})
    same_seed: bool = field(default=False, metadata={"omit_if_default": True})

    def __post_init__(self) -> None:
        _check_seed(self)

    def source(self, scale: Scale, seed: int) -> Any:
        """The run whose tensors a run of this scale and seed takes."""
        return registry.get(self.recipe, scale=scale, seed=seed if self.same_seed else self.seed)


@dataclass(frozen=True)
class InitFromRelease:
    """What a run takes from a released model: as in `InitFromRun`, but without its vocabulary.

    Args:
        name: one of `NAMES`.
        streams, matched: as in `InitFromRun`.
        seed: of the pretraining; ours is released with several, the models of others with one.
        same_seed: take the pretraining of this run's seed instead of `seed`, as in `InitFromRun`.
    """

    name: str
    streams: tuple[str, ...]
    matched: bool = field(default=False, metadata={"omit_if_default": True})
    seed: int = field(default=0, metadata={"omit_if_default": True})
    same_seed: bool = field(default=False, metadata={"omit_if_default": True})

    def __post_init__(self) -> None:
        _check_seed(self)

    def source(self, seed: int) -> int:
        """The seed of the pretraining whose tensors a run of this seed takes."""
        return seed if self.same_seed else self.seed


def _check_seed(start: InitFromRun | InitFromRelease) -> None:
    if start.same_seed and start.seed:
        raise ValueError(
            f"start.seed must be 0 where start.same_seed takes the run of the same seed, got {start.seed}; set"
            " start.same_seed to false to begin with one run whatever the seed"
        )


def matching(model: nn.Module, streams: tuple[str, ...]) -> list[Owned]:
    """The tensors of `model` whose stream names match one of the patterns.

    Raises:
        ValueError: a pattern matches nothing.
    """
    items = list(owned(model))
    for glob in streams:
        if not any(fnmatchcase(item.stream, glob) for item in items):
            near = hint(glob, [item.stream for item in items], cutoff=0.3)
            raise ValueError(f"start.streams: {glob!r} matches no parameter of the model; {near}")
    return [item for item in items if any(fnmatchcase(item.stream, glob) for glob in streams)]


@torch.no_grad()
def transfer(
    wanted: list[Owned], learned: nn.Module, name: str, checkpoint: str, *, seed: int | None = None
) -> None:
    """Copy tensors from another model, or draw them with its tensors' means and standard deviations.

    Args:
        wanted: the tensors to fill, as `matching` finds them.
        learned: the other model.
        name: what errors call it.
        checkpoint: its name and digest, which become the origin of what it had learned.
        seed: copies if None; otherwise draws from this seed, with the mean and the standard deviation (of the
            numbers as a population) of each tensor.

    Raises:
        ValueError: the other model has no such tensor, or one of another shape. Nothing was changed.
    """
    theirs = {item.stream: item for item in owned(learned)}
    for item in wanted:
        found = theirs.get(item.stream)
        if found is None or found.parameter.shape != item.parameter.shape:
            has = "nothing" if found is None else tuple(found.parameter.shape)
            raise ValueError(
                f"{name} has {has} for {item.stream!r}, but the model needs"
                f" {tuple(item.parameter.shape)}; choose sizes that agree, or other start.streams"
            )
    for item in wanted:
        found = theirs[item.stream]
        if seed is not None:
            numbers = found.parameter.double()
            like = NormalAround(float(numbers.mean()), float(numbers.std(correction=0)))
            drawn = Seeded(seed, item.stream, like)
            item.parameter.copy_(drawn.draw(item.parameter.shape, device=item.parameter.device))
            set_origin(item, drawn)
            continue
        item.parameter.copy_(found.parameter)
        origin = recorded_origin(found)
        if not isinstance(origin, Seeded):
            if not isinstance(origin, Pretrained):
                origin = Pretrained(checkpoint)
            # The key is the tensor's name in the checkpoint, whatever this model calls it.
            origin = Pretrained(origin.checkpoint, origin.key or found.path, tensor_digest(found.parameter))
        set_origin(item, origin)


def released_model(name: str, *, seed: int = 0) -> tuple[nn.Module, str]:
    """A released model, and its digest: of ours, that of its contents; of another's, that of its file.

    Args:
        name: "gpt/wikipedia", ours; "stories260k", llama2.c's; or "gpt2", OpenAI's of 124 M parameters.
        seed: of the pretraining. Ours ships with seeds 0, 1 and 2; those of others have no other than 0.

    Raises:
        CheckpointError: there is none of that name and seed, or it cannot be had or read.
    """
    if name not in NAMES:
        raise CheckpointError(f"a released model must be one of {', '.join(NAMES)}, got {name!r}")
    if name != OURS and seed:
        raise CheckpointError(f"{name} was pretrained once, so seed must be 0, got {seed}")
    try:
        if name == OURS:
            stored = read_folder(_folder(seed))
            model, digest = stored.load(), KNOWN.get(stored.contents.digest, stored.contents.digest)
        elif name == "stories260k":
            file = fetch(name) / "stories260K.bin"
            model, digest = load_llama2c(file), file_digest(file)[:16]
        else:
            file = fetch(name) / "model.safetensors"
            model, digest = load_gpt2(file), file_digest(file)[:16]
    except WeightsError as error:
        raise CheckpointError(str(error)) from error
    for item in owned(model):
        set_origin(item, Pretrained(f"{name}@{digest}"))
    return model, digest


def _folder(seed: int) -> Path:
    """The folder of our GPT: the shipped one, or one that was exported to the results folder."""
    name = OURS.replace("/", "-") + (f"-seed-{seed}" if seed else "")
    own = results() / "weights" / name
    for folder in (shipped() / "weights" / name, own):
        if (folder / "model.safetensors").is_file():
            return folder
    named = f"{OURS} --seed {seed}" if seed else OURS
    raise CheckpointError(
        f"{OURS} of seed {seed} is not here; train it and export it first: reservoir run {OURS} --scale"
        f" laptop --seeds {seed}, then reservoir export {named} --to {own}"
    )


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


GPT2 = LanguageModelConfig(
    50_257,
    d_model=768,
    n_heads=12,
    d_ff=3072,
    layers=12,
    activation="gelu-tanh",
    positions="learned",
    max_length=1024,
    scale_embeddings=False,
    dropout=0.0,
)
"""The smallest of the released sizes."""


def load_gpt2(file: Path, config: LanguageModelConfig = GPT2) -> LanguageModel:
    """A GPT-2, every tensor of which has the origin "pretrained".

    Args:
        file: `model.safetensors`, as `transformers` saves it.
        config: its sizes.

    Raises:
        WeightsError: the file is missing, damaged or of another model.
    """
    tensors, model = _read(file), config.build()
    with torch.no_grad():
        for item in owned(model):
            name, turned = _theirs(item.stream)
            value = tensors.pop(name, torch.empty(0))
            value = value.T if turned and value.ndim == 2 else value
            if value.shape != item.parameter.shape:
                raise WeightsError(
                    f"{file} is no GPT-2 of this size: {name!r} is {tuple(value.shape)}, not"
                    f" {tuple(item.parameter.shape)}"
                )
            item.parameter.copy_(value)
            set_origin(item, Pretrained(str(file)))
    if left := sorted(tensors):
        raise WeightsError(f"{file} has tensors that no GPT-2 of this size has: {', '.join(left[:3])}")
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


def _theirs(stream: str) -> tuple[str, bool]:
    """GPT-2's name of a tensor of ours, and whether it has it transposed."""
    bias = stream.endswith(".bias")
    stream, ending = (stream.removesuffix(".bias"), "bias") if bias else (stream, "weight")
    if stream in WHOLE:
        return f"{WHOLE[stream]}.{ending}", False
    _, layer, rest = stream.split(".", 2)
    return f"h.{layer}.{LAYER[rest]}.{ending}", "c_" in LAYER[rest] and not bias


HEAD = struct.Struct("<7i")  # dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len


def load_llama2c(path: Path) -> Llama:
    """Read a model in llama2.c's first format: seven numbers, then all weights in fp32, kind after kind.

    Raises:
        WeightsError: the file is missing, cut off, or none of these.
    """
    try:
        content = path.read_bytes()
        d_model, d_ff, layers, n_heads, n_kv_heads, vocab, length = HEAD.unpack_from(content)
        config = LlamaConfig(vocab, d_model, n_heads, d_ff, layers, n_kv_heads, length)
    except (OSError, struct.error, ValueError) as error:
        raise WeightsError(f"{path} is no model of llama2.c with tied output: {error}") from error
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
