"""A run's state and its final weights, each one safetensors file: written whole or not at all, checked when read."""

from __future__ import annotations

import glob
import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reservoir.files import atomic_write, lock
from reservoir.weights import Trained, mark_trained, owned, recorded_origin
from reservoir.weights.files import WeightsError, read_safetensors, safetensors_bytes
from reservoir.weights.naming import state_buffers

BORN = time.time()  # close to when this process began
CHECKPOINT, WEIGHTS = "reservoir-run-1", "reservoir-weights-1"


class CheckpointError(RuntimeError):
    """A checkpoint or a file of weights cannot be used; the message says which and why."""


Beside = tuple[nn.Module, torch.optim.Optimizer]
"""A network that learns along with the model and is no part of it, with its optimiser."""


def write(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    *,
    identity: str,
    progress: Mapping[str, Any],
    beside: Beside | None = None,
) -> None:
    """Write tensors that move or have moved, buffers, the optimiser's moments and `progress` to `path`, atomically.

    Tensors that never moved are not written: the seed gives them back.

    Args:
        path: of the file.
        model, optimiser: what is trained, and by what.
        identity: a digest of the run's fields; `read` refuses a checkpoint of another run.
        progress: the run's place in the data and what it measured, as JSON.
        beside: what learns along with the model.

    Raises:
        WriteError: the disk is full or the folder cannot be written to; an earlier checkpoint is still there.
    """
    tensors: dict[str, Tensor] = {}
    for prefix, (module, its) in _learners(model, optimiser, beside).items():
        tensors |= {f"{prefix}buffer/{name}": buffer for name, buffer in state_buffers(module).items()}
        for name, parameter in _learned(module).items():
            tensors[f"{prefix}model/{name}"] = parameter
            for key, value in its.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    tensors[f"{prefix}optimiser/{name}/{key}"] = value
    _write(path, tensors, CHECKPOINT, identity, json.dumps(progress), _room(path))


def read(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    *,
    identity: str,
    beside: Beside | None = None,
) -> dict[str, Any]:
    """Put the tensors of the checkpoint at `path` where `write` found them, and return its progress.

    Raises:
        CheckpointError: the file is damaged, is no checkpoint, or belongs to another run. Nothing was changed.
    """
    advice = "delete it, or pass --fresh, to train from the start"
    tensors, progress = _read(path, CHECKPOINT, identity, f"checkpoint {path}", advice)
    learners = _learners(model, optimiser, beside)
    wanted = {
        f"{prefix}{kind}/{name}": tensor
        for prefix, (module, _) in learners.items()
        for kind, tensors_ in (("model", _learned(module)), ("buffer", state_buffers(module)))
        for name, tensor in tensors_.items()
    }
    _copy(tensors, wanted, f"checkpoint {path}", advice)
    for prefix, (module, its) in learners.items():
        learned, head = _learned(module), f"{prefix}optimiser/"
        for full, value in tensors.items():
            if full.startswith(head):
                name, key = full.removeprefix(head).rsplit("/", 1)
                # Adam counts its steps on the CPU unless it is fused, and moments live where the parameter does.
                its.state[learned[name]][key] = value.to(learned[name].device)
    return json.loads(progress)


def write_weights(path: Path, model: nn.Module, *, identity: str) -> None:
    """Write the tensors of `model` that move to `path` under their stream names, atomically.

    Raises:
        WriteError: the disk is full or the folder cannot be written to; an older file is still there.
    """
    _write(path, _trained(model), WEIGHTS, identity, "", _room(path.with_suffix(".checkpoint")))


def _room(checkpoint: Path) -> str:
    """What to do where a file cannot be written: what is kept, if anything is, and where room can be had."""
    elsewhere = "free some space, or set RESERVOIR_RESULTS to a folder that you may write to"
    kept = "the last checkpoint is kept, and the same command goes on from it" if checkpoint.exists() else ""
    return f"{elsewhere}; {kept}" if kept else elsewhere


def read_weights(path: Path, model: nn.Module, *, identity: str) -> str:
    """Put what `write_weights` wrote into `model`, whose frozen tensors the seed has drawn already.

    Returns:
        the digest of what was read, by which it can be referred to.

    Raises:
        CheckpointError: the file is damaged, holds no weights, or belongs to another run. Nothing was changed.
    """
    advice = "delete it and run again with --fresh"
    tensors, progress = _read(path, WEIGHTS, identity, f"file of weights {path}", advice)
    _copy(tensors, _trained(model), f"file of weights {path}", advice)
    mark_trained(model)
    return _digest(tensors, identity + progress)


def clear_partials(path: Path) -> None:
    """Delete what killed processes left of writing `path` (`reservoir.files.atomic_write` does it).

    A file that is being written is locked, and one that is younger than this process was not left by an earlier one:
    neither is touched.
    """
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        try:
            with partial.open("rb") as stream:
                if partial.stat().st_mtime < BORN and lock(stream):
                    partial.unlink()
        except FileNotFoundError:  # its process has just finished it
            continue


def _learned(model: nn.Module) -> dict[str, nn.Parameter]:
    """What moves, or moved until a plan stopped it, by its name in the model."""
    ids = {id(parameter) for parameter in _trained(model).values()}
    return {name: p for name, p in model.named_parameters() if id(p) in ids}


def _learners(model: nn.Module, optimiser: torch.optim.Optimizer, beside: Beside | None) -> dict[str, Beside]:
    """Each network that learns, with its optimiser, by what stands before the names of its tensors."""
    return {"": (model, optimiser)} | ({} if beside is None else {"beside/": beside})


def _trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """What `_learned` returns, by stream name; where parts that were drawn apart share a name, by path."""
    items = [
        item
        for item in owned(model)
        if item.parameter.requires_grad or isinstance(recorded_origin(item), Trained)
    ]
    times = Counter(item.stream for item in items)
    return {item.stream if times[item.stream] == 1 else item.path: item.parameter for item in items}


def _write(
    path: Path, tensors: Mapping[str, Tensor], kind: str, identity: str, progress: str, advice: str
) -> None:
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"format": kind, "identity": identity, "progress": progress}
    data = safetensors_bytes(tensors, metadata | {"digest": _digest(tensors, identity + progress)})
    atomic_write(path, data, advice=advice)


def _read(path: Path, kind: str, identity: str, what: str, advice: str) -> tuple[dict[str, Tensor], str]:
    try:
        tensors, metadata = read_safetensors(path)
    except WeightsError as error:
        raise CheckpointError(f"{what} is damaged ({error}): {advice}") from error
    if metadata.get("format") != kind:
        raise CheckpointError(f"{what} does not have the format {kind}: {advice}")
    found, progress = metadata.get("identity", ""), metadata.get("progress", "")
    if metadata.get("digest") != _digest(tensors, found + progress):
        raise CheckpointError(f"{what} is damaged (its digest does not match): {advice}")
    if found != identity:
        raise CheckpointError(f"{what} belongs to a run with other settings: {advice}")
    return tensors, progress


@torch.no_grad()
def _copy(tensors: dict[str, Tensor], parameters: Mapping[str, Tensor], what: str, advice: str) -> None:
    """Put tensors into the parameters of the same names, all of them or none."""
    for name, parameter in parameters.items():
        shape = tuple(tensors[name].shape) if name in tensors else None
        if shape != tuple(parameter.shape):
            raise CheckpointError(
                f"{what} has {shape or 'nothing'} for {name}, not {tuple(parameter.shape)}: {advice}"
            )
    for name, parameter in parameters.items():
        parameter.copy_(tensors[name])


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
