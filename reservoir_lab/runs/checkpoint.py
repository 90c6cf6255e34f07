"""A run's state and its final weights, each one safetensors file: written whole or not at all, checked when read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reservoir.files import atomic_write
from reservoir.weights import Trained, mark_trained, owned, recorded_origin
from reservoir.weights.files import (
    WeightsError,
    canonical_json,
    digest,
    read_header,
    read_safetensors,
    safetensors_bytes,
    tensor_digest,
)
from reservoir.weights.naming import state_buffers

CHECKPOINT, WEIGHTS = "reservoir-run-2", "reservoir-weights-2"


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
    atomic_write(path, _bytes(tensors, CHECKPOINT, identity, json.dumps(progress)), advice=room(path))


def begin(path: Path, identity: str) -> None:
    """Write a checkpoint from before the first step, so that a run is known to have begun, whatever cuts it off.

    Raises:
        WriteError: as in `write`.
    """
    atomic_write(path, _bytes({}, CHECKPOINT, identity, ""), advice=room(path))


def belongs_to(path: Path, identity: str, *, empty: bool = False) -> bool:
    """Whether there is a checkpoint of exactly this run at `path`, as its header says; the whole is checked by `read`.

    Args:
        identity: a digest of the run's fields, without the weights of others that the run refers to.
        empty: ask for one that `begin` wrote.
    """
    try:
        metadata = read_header(path)[1]
    except WeightsError:
        return False
    whose = metadata.get("identity", "").partition("@")[0]
    return metadata.get("format") == CHECKPOINT and whose == identity and not (empty and metadata["progress"])


def read(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    *,
    identity: str,
    beside: Beside | None = None,
) -> dict[str, Any]:
    """Put the tensors of the checkpoint at `path` where `write` found them, and return its progress.

    Nothing is put anywhere, and the progress is empty, if `begin` wrote it.

    Raises:
        CheckpointError: the file is damaged, is no checkpoint, or belongs to another run. Nothing was changed.
    """
    advice = "delete it, or pass --fresh, to train from the start"
    tensors, progress = _read(path, CHECKPOINT, identity, f"checkpoint {path}", advice)
    if not progress:
        return {}
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


def weights_bytes(model: nn.Module, *, identity: str) -> bytes:
    """The file with the tensors of `model` that move, under their stream names."""
    return _bytes(_trained(model), WEIGHTS, identity, "")


def room(checkpoint: Path) -> str:
    """What to do where a file cannot be written: what is kept, if anything is, and where room can be had."""
    elsewhere = "free some space, or set RESERVOIR_RESULTS to a folder that you may write to"
    kept = "the last checkpoint is kept, and the same command goes on from it" if checkpoint.exists() else ""
    return f"{elsewhere}; {kept}" if kept else elsewhere


def read_weights(path: Path, model: nn.Module, *, identity: str) -> str:
    """Put what `weights_bytes` gave into `model`, whose frozen tensors the seed has drawn already.

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


def _bytes(tensors: Mapping[str, Tensor], kind: str, identity: str, progress: str) -> bytes:
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"format": kind, "identity": identity, "progress": progress}
    return safetensors_bytes(tensors, metadata | {"digest": _digest(tensors, identity + progress)})


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
    bare = (
        identity.partition("@")[0] if kind == CHECKPOINT and not progress else identity
    )  # `begin` knows no more
    if found not in (identity, bare):
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
    listed = {name: tensor_digest(tensor) for name, tensor in tensors.items()}
    return digest((canonical_json(listed) + text).encode())
