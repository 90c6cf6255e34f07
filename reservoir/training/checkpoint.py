"""A run's state in one safetensors file, written whole or not at all, and checked when it is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from reservoir.datasets import place

FORMAT = "reservoir-run-1"


class CheckpointError(RuntimeError):
    """A checkpoint cannot be used; the message says which and why."""


@dataclass(frozen=True)
class State:
    """What a run needs to go on: its place in the data, what it measured, and which run it belongs to.

    Args:
        identity: a digest of the run's fields; a checkpoint of another run is refused.
        progress: numbers and validation points, as JSON.
    """

    identity: str
    progress: dict[str, Any]


def write(path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, state: State) -> None:
    """Write tensors that move, the optimiser's moments and `state` to `path`, atomically.

    Frozen tensors are not written: the seed gives them back.

    Raises:
        DataError: the disk is full or the folder cannot be written to; the previous checkpoint is still there.
    """
    tensors = _tensors(model, optimiser)
    metadata = {
        "format": FORMAT,
        "identity": state.identity,
        "progress": json.dumps(state.progress),
        "digest": _digest(tensors, state.identity + json.dumps(state.progress)),
    }
    data = save(tensors, metadata)
    place(path, lambda stream: stream.write(data), advice="the previous checkpoint is kept, and the run can go on from it")


def read(path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, *, identity: str) -> dict[str, Any]:
    """Put the tensors of the checkpoint at `path` into `model` and `optimiser`, and return its progress.

    Raises:
        CheckpointError: the file is damaged, is no checkpoint, or belongs to another run. Nothing was changed.
    """
    advice = "delete it, or pass --fresh, to train from the start"
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint {path} is damaged ({error}): {advice}") from error
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of this version ({FORMAT}): {advice}")
    if metadata["digest"] != _digest(tensors, metadata["identity"] + metadata["progress"]):
        raise CheckpointError(f"checkpoint {path} is damaged (its digest does not match): {advice}")
    if metadata["identity"] != identity:
        raise CheckpointError(f"checkpoint {path} belongs to a run with other settings: {advice}")
    _restore(tensors, model, optimiser)
    return json.loads(metadata["progress"])


def _moving(model: nn.Module) -> dict[str, nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def _tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    tensors = {}
    for name, parameter in _moving(model).items():
        tensors[f"model/{name}"] = parameter.detach().cpu().contiguous()
        for key, value in optimiser.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                tensors[f"optimiser/{name}/{key}"] = value.detach().cpu().contiguous()
    return tensors


@torch.no_grad()
def _restore(tensors: dict[str, Tensor], model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    for name, parameter in _moving(model).items():
        parameter.copy_(tensors.pop(f"model/{name}"))
        prefix = f"optimiser/{name}/"
        for full in [key for key in tensors if key.startswith(prefix)]:
            value = tensors.pop(full)
            # Adam counts its steps on the CPU unless it is fused, and moments live where the parameter does.
            optimiser.state[parameter][full.removeprefix(prefix)] = value.to(parameter.device)


def _digest(tensors: dict[str, Tensor], text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
