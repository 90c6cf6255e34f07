"""Language models whose bodies are taken: a GPT of ours, which ships with the book, and two that others released."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import torch
from torch import nn

from reservoir.datasets import fetch, shipped
from reservoir.models import from_pretrained, load_gpt2, load_llama2c, save_pretrained
from reservoir.runs import registry
from reservoir.runs.records import results
from reservoir.training import CheckpointError
from reservoir.weights import Pretrained, WeightsError, owned, set_origin

OURS = "gpt/wikipedia"
NAMES = (OURS, "stories260k", "gpt2")
LICENCE = "CC BY-SA 3.0, as the articles that it has read"


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
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    for item in owned(model):
        set_origin(item, Pretrained(f"{name}@{digest}"))
    return model, digest


def folder_name(recipe: str) -> str:
    """What the folder of a recipe's released weights is called."""
    return recipe.replace("/", "-")


def _ours() -> Path:
    """The folder of our GPT: the shipped one, else one made of the run in the results folder."""
    own = results() / "weights" / folder_name(OURS)
    for folder in (shipped() / "weights" / folder_name(OURS), own):
        if (folder / "model.safetensors").is_file():
            return folder
    return export(OURS, to=own)


def export(recipe: str, *, to: Path, scale: str = "laptop", seed: int = 0) -> Path:
    """Write the language model that a finished run has trained to a folder of its own, in half precision.

    What is written are its weights rounded to fp16, its sizes, its vocabulary and a card, which says what the rounded
    model scores. `reservoir.models.from_pretrained` reads the folder.

    Args:
        recipe, scale, seed: the run.
        to: the folder, made whole or not at all; one that is there is replaced.

    Raises:
        CheckpointError: the run's weights are not in the results folder, or are damaged.
    """
    run = registry.get(recipe, scale=scale, seed=seed)
    model, task, corpus = run.load()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())
    with run.precision():
        scores = run.task.test(model, task, corpus)[0]["test"]
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".export-") as made:
        folder = save_pretrained(model.half(), Path(made) / "model", card=_card(run, model, scores))
        task.vocabulary.save(folder / "vocabulary.json")
        (folder / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
        if to.exists():
            shutil.rmtree(to)
        os.replace(folder, to)
    return to


def _card(run, model: nn.Module, scores: dict) -> str:
    n = sum(p.numel() for p in set(model.parameters()))
    return "\n".join(
        [
            "---",
            "library_name: reservoir",
            "license: cc-by-sa-3.0",
            "---",
            "",
            f"# {run.recipe}",
            "",
            f"A language model of {n:,} parameters, trained by the recipe `{run.recipe}`",
            f"({run.scale}, seed {run.seed}) on `{run.task.text}`: {run.budget.steps:,} steps of"
            f" {run.task.batch * run.task.length:,} tokens,",
            "and rounded to half precision. The recipe's record says the rest.",
            "",
            f"Rounded as it is here, it needs {scores['bits_per_byte']:.3f} bits a byte on the held-out test text.",
            "",
            f"Licence: {LICENCE}.",
            "",
            "    from reservoir.models import from_pretrained",
            '    model = from_pretrained("this folder")',
            "",
        ]
    )
