"""Released language models that a run can begin with: a GPT of ours, which ships with the book, and two by others."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from reservoir.datasets import fetch, shipped
from reservoir.files import file_digest
from reservoir.models import from_pretrained, load_gpt2, load_llama2c
from reservoir.runs.records import results
from reservoir.training import CheckpointError
from reservoir.weights import Pretrained, WeightsError, owned, set_origin

OURS = "gpt/wikipedia"
NAMES = (OURS, "stories260k", "gpt2")


def load(name: str) -> tuple[nn.Module, str]:
    """A released model, and the digest of its file of weights.

    Args:
        name: "gpt/wikipedia", ours; "stories260k", llama2.c's; or "gpt2", OpenAI's of 124 M parameters.

    Raises:
        CheckpointError: there is none of that name, or it cannot be had or read.
    """
    if name not in NAMES:
        raise CheckpointError(f"a released model must be one of {', '.join(NAMES)}, got {name!r}")
    try:
        if name == OURS:
            file = _ours() / "model.safetensors"
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


def folder_name(recipe: str) -> str:
    """The name of the folder with a recipe's released weights."""
    return recipe.replace("/", "-")


def _ours() -> Path:
    """The folder of our GPT: the shipped one, or one that was exported to the results folder."""
    own = results() / "weights" / folder_name(OURS)
    for folder in (shipped() / "weights" / folder_name(OURS), own):
        if (folder / "model.safetensors").is_file():
            return folder
    raise CheckpointError(
        f"{OURS} is not here; export it first: python -m reservoir export {OURS} --to {own}"
    )
