"""Released language models that a run can begin with: a GPT of ours, which ships with the book, and two by others."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from reservoir.datasets import shipped
from reservoir.files import file_digest
from reservoir.models import from_pretrained, load_gpt2, load_llama2c
from reservoir.training import CheckpointError
from reservoir.weights import Pretrained, WeightsError, owned, set_origin
from reservoir_lab.corpora import fetch
from reservoir_lab.runs.records import results

OURS = "gpt/wikipedia"
NAMES = (OURS, "stories260k", "gpt2")


def load(name: str, *, seed: int = 0) -> tuple[nn.Module, str]:
    """A released model, and the digest of its file of weights.

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
            file = _ours(seed) / "model.safetensors"
            model = from_pretrained(file.parent)
        elif name == "stories260k":
            file = fetch(name) / "stories260K.bin"
            model = load_llama2c(file)
        else:
            file = fetch(name) / "model.safetensors"
            model = load_gpt2(file.parent, vocab=50_257)
    except WeightsError as error:
        raise CheckpointError(str(error)) from error
    digest = file_digest(file)[:16]
    for item in owned(model):
        set_origin(item, Pretrained(f"{name}@{digest}"))
    return model, digest


def folder_name(recipe: str, seed: int = 0) -> str:
    """The name of the folder with a recipe's released weights."""
    name = recipe.replace("/", "-")
    return f"{name}-seed-{seed}" if seed else name


def _ours(seed: int) -> Path:
    """The folder of our GPT: the shipped one, or one that was exported to the results folder."""
    own = results() / "weights" / folder_name(OURS, seed)
    for folder in (shipped() / "weights" / own.name, own):
        if (folder / "model.safetensors").is_file():
            return folder
    named = f"{OURS} --seed {seed}" if seed else OURS
    raise CheckpointError(
        f"{OURS} of seed {seed} is not here; train it and export it first: reservoir run {OURS} --scale"
        f" laptop --seeds {seed}, then reservoir export {named} --to {own}"
    )
