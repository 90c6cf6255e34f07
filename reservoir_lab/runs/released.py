"""Released language models that a run can begin with: a GPT of ours, which ships with the book, and two by others."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from reservoir.datasets import shipped
from reservoir.files import file_digest
from reservoir.models import load_gpt2, load_llama2c
from reservoir.models.pretrained import read_folder
from reservoir.weights import Pretrained, WeightsError, owned, set_origin
from reservoir_lab.corpora import fetch
from reservoir_lab.runs.checkpoint import CheckpointError
from reservoir_lab.runs.records import results

OURS = "gpt/wikipedia"
NAMES = (OURS, "stories260k", "gpt2")
KNOWN = {
    "e372bc8f84ec7c5a": "8e7eb83482492329",
    "20ddefd10b3276d8": "76a3e4cd611aa9aa",
    "042a4f87c0e0125f": "6e6ef5152866a3a6",
}
"""Digests of ours that ship, with those of their first files, by which records know them."""


def load(name: str, *, seed: int = 0) -> tuple[nn.Module, str]:
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
            stored = read_folder(_ours(seed))
            model, digest = stored.load(), KNOWN.get(stored.contents.digest, stored.contents.digest)
        elif name == "stories260k":
            file = fetch(name) / "stories260K.bin"
            model, digest = load_llama2c(file), file_digest(file)[:16]
        else:
            file = fetch(name) / "model.safetensors"
            model, digest = load_gpt2(file.parent, vocab=50_257), file_digest(file)[:16]
    except WeightsError as error:
        raise CheckpointError(str(error)) from error
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
