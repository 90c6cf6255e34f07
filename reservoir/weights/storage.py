"""Write any module to one file, as small as the origins of its tensors allow.

import reservoir as r
r.initialise(model, seed=0)           # draw every tensor from its name and the seed
r.freeze(model, layers=[0, 1])        # these never move
...                                   # train it as ever
r.save(model, "m.safetensors")        # the seed, and what was trained
r.load(build(), "m.safetensors")      # the same bits, in any process

How the module is built again is for the caller to know: `reservoir.models.pretrained` does for the models of this
library.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import _TYPES
from torch import Tensor, nn

from reservoir.files import atomic_write
from reservoir.weights.contents import BUFFER, FORMAT, GENERATOR, tensor_digest
from reservoir.weights.files import WeightsError, canonical_json, digest, read_tensors, safetensors_bytes
from reservoir.weights.generator import Stream
from reservoir.weights.masks import Supermask, places
from reservoir.weights.naming import Owned, owned, state_buffers
from reservoir.weights.origins import Pretrained, Seeded, Trained, recorded_origin, set_origin
from reservoir.weights.streaming import pack

STORABLE = frozenset(_TYPES.values())
"""The types of numbers that a file of safetensors holds."""
PLAIN: tuple[type[Tensor], ...] = (Tensor, nn.Parameter, nn.Buffer)
"""Tensors whose numbers are all that there is to them."""


def save(
    model: nn.Module,
    path: Path | str,
    *,
    metadata: Mapping[str, str] | None = None,
    dtype: torch.dtype | None = None,
) -> Path:
    """Write any module to one safetensors file, as small as the origins of its tensors allow.

    What a seed gives back is not in the file, nor is a frozen tensor of a base (`pretrained`); what was trained and the
    buffers are, and of a mask one bit for each weight. The file says its own digest and that of each tensor.

    Args:
        model: any module; what wraps it, such as `DistributedDataParallel` or `torch.compile`, is left out.
        path: of the file, such as "m.safetensors"; replaced as a whole if it is there. Its folder is made.
        metadata: texts to put next to the tensors.
        dtype: round what was trained to this type; None keeps its own.

    Returns:
        the path. The same model gives the same bytes.

    Raises:
        WeightsError: a frozen tensor is not what its seed or its base gives, or the module has state that is no tensor.
    """
    path = Path(path)
    if path.is_dir() or not path.suffix:
        raise WeightsError(
            f"path must name a file, such as m.safetensors, got {path}; models of this library go to a folder by"
            " save_pretrained(model, folder)"
        )
    atomic_write(path, model_bytes(model, metadata, dtype=dtype))
    return path


@torch.no_grad()
def model_bytes(
    model: nn.Module, metadata: Mapping[str, str] | None = None, *, dtype: torch.dtype | None = None
) -> bytes:
    """Return the file of a model: what cannot be drawn again, and how to draw the rest.

    Args:
        model: any module. Of masks that are being learned, the choice is stored and the scores are not.
        metadata: texts to put next to the tensors; "files", which says what lies next to the file, is signed too.
        dtype: round parameters that are not drawn to this type; None keeps theirs.

    Returns:
        a safetensors file, the same bytes for the same model.

    Raises:
        WeightsError: a frozen tensor is said to be drawn from a seed or to be of a base, but is not what that gives; or
            the module has state that is no tensor.
    """
    tensors: dict[str, Tensor] = {}
    contents: dict[str, dict[str, Any]] = {"parameters": {}, "masks": {}, "buffers": {}}
    for item in owned(model):
        if isinstance(item.module, Supermask):
            continue
        said = _described(item)[1]
        if "digest" not in said:
            tensors[item.path] = _rounded(item.parameter.detach().cpu(), dtype).contiguous()
            said["digest"] = tensor_digest(tensors[item.path])
        contents["parameters"][item.path] = said
    names: dict[int, str] = {}
    for item in places(model):
        if item.mask is None:
            continue
        name = names.setdefault(id(item.mask), f"{item.path}.mask")
        if name not in tensors:
            bits = item.mask.chosen()
            tensors[name] = pack(bits)
            said = {"shape": list(bits.shape), "digest": tensor_digest(tensors[name]), "modules": []}
            contents["masks"][name] = said
        contents["masks"][name]["modules"].append(item.path)
    for name, buffer in state_buffers(model).items():
        _check_storable(name, buffer)
        tensors[BUFFER + name] = buffer.detach().cpu().contiguous()
        contents["buffers"][name] = tensor_digest(tensors[BUFFER + name])
    text, files = canonical_json(contents), (metadata or {}).get("files", "")
    own = {
        "format": FORMAT,
        "generator": GENERATOR,
        "contents": text,
        "digest": digest((text + files).encode()),
    }
    return safetensors_bytes(tensors, {**(metadata or {}), **own})


@torch.no_grad()
def round_stored(model: nn.Module, dtype: torch.dtype) -> None:
    """Round in place what `model_bytes` would round to `dtype`, to see what the stored model computes."""
    for item in owned(model):
        if not isinstance(_described(item)[0], Seeded) and not isinstance(item.module, Supermask):
            item.parameter.copy_(_rounded(item.parameter, dtype))


def _rounded(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A tensor of floats in a type of fewer bytes; any other one as it is."""
    less = dtype is not None and tensor.is_floating_point() and dtype.itemsize < tensor.dtype.itemsize
    return tensor.to(dtype) if less else tensor


def _check_storable(name: str, tensor: Tensor) -> None:
    """Refuse a tensor that `load` could not bring back as it is."""
    what = ""
    if tensor.layout != torch.strided:
        what = f"is {tensor.layout}: store it .to_dense(), or keep it with persistent=False"
    elif tensor.is_quantized or tensor.dtype not in STORABLE:
        what = f"is {tensor.dtype}, which safetensors does not hold: keep it as another type"
    elif type(tensor) not in PLAIN:
        what = f"is a {type(tensor).__name__}, whose numbers alone do not bring it back: make it a plain parameter"
    elif tensor.is_meta:
        what = "is on the meta device and holds no numbers: build the model on another device"
    if what:
        raise WeightsError(f"{name} {what}")


def _described(item: Owned) -> tuple[Trained | Seeded | Pretrained, dict[str, Any]]:
    """Where a parameter is to come from when it is loaded, and what the file says of it."""
    parameter, origin = item.parameter, recorded_origin(item) or Trained()
    _check_storable(item.path, parameter)
    said: dict[str, Any] = {"shape": list(parameter.shape), "moves": parameter.requires_grad}
    if parameter.dtype not in (torch.float32, torch.float64):
        said["dtype"] = str(parameter.dtype)  # which rounds what is drawn
    lost = ""
    if isinstance(origin, Seeded):
        if not (parameter.requires_grad and _begins_otherwise(parameter, origin)):
            drawn = origin.draw(parameter.shape, dtype=parameter.dtype)
            if tensor_digest(parameter) == tensor_digest(drawn.to(parameter.dtype)):
                return origin, said | {"digest": tensor_digest(drawn)} | _origin_json(origin)
        lost, origin = f"drawn from seed {origin.seed}", Trained()
    elif isinstance(origin, Pretrained) and origin.key:
        if origin.digest == (known := tensor_digest(parameter)):
            return origin, said | {"digest": known} | _origin_json(origin)
        lost, origin = f"of {origin.checkpoint}", Trained()
    if lost and not parameter.requires_grad:
        raise WeightsError(
            f"{item.path} is said to be {lost}, but is not what that gives. An optimiser that was made before freeze"
            " goes on moving what has momentum or weight decay: make it afterwards, of the parameters that move. What"
            " was to be trained before it was frozen: let it move, call reservoir.mark_trained(model), freeze it again"
        )
    said.pop("dtype", None)
    return origin, said | _origin_json(origin)


def _begins_otherwise(parameter: nn.Parameter, origin: Seeded) -> bool:
    """Whether the first numbers of a tensor already show that it is not as it was drawn: the rest need not be drawn."""
    if not parameter.ndim or parameter.is_complex():  # a single number: drawing it again costs nothing
        return False
    matrix = parameter.detach().T if origin.transposed else parameter.detach()
    drawn = origin.initialisation.elementwise(matrix.shape, blocks=origin.blocks)
    if drawn is None or origin.zero_row is not None or not matrix.numel():
        return False
    rows = 1 + 1024 * len(matrix) // matrix.numel()
    first = matrix[:rows].flatten()[:1024].cpu()
    return not torch.equal(first, drawn(Stream(origin.seed, origin.stream), first.shape).to(first.dtype))


def _origin_json(origin: Trained | Seeded | Pretrained) -> dict[str, Any]:
    match origin:
        case Seeded(seed, stream, initialisation, blocks, zero_row, transposed):
            options = {"seed": seed, "stream": stream, "blocks": blocks, "zero_row": zero_row}
            options |= {"transposed": True} if transposed else {}
            return {"origin": origin.name, "initialisation": initialisation.to_json()} | options
        case Pretrained(checkpoint, key):
            return {"origin": origin.name, "checkpoint": checkpoint} | ({"key": key} if key else {})
        case Trained():
            return {"origin": origin.name}


def pretrained(model: nn.Module, folder: Path | str) -> nn.Module:
    """Record which parameters of a module come from a base, so that a stored model refers to it; return the module.

    Tensors are compared by content. Those that the base does not have, such as a new head, are left as they are.

    Args:
        model: filled from the base already, for instance by transformers' `from_pretrained`.
        folder: the base, with `config.json` and its safetensors files.

    Raises:
        WeightsError: there is no such folder, or none of its tensors is in the model.
    """
    folder = Path(folder)
    keys: dict[str, str] = {}
    for file in base_files(folder):
        keys |= {tensor_digest(tensor): key for key, tensor in read_tensors(file).items()}
    checkpoint = f"{folder}@{digest(' '.join(sorted(keys)).encode())}"
    found = {item.path: item for item in owned(model) if tensor_digest(item.parameter) in keys}
    if not found:
        raise WeightsError(
            f"no parameter of the model is a tensor of {folder}: load it first, with from_pretrained(folder) of"
            " transformers, in the type that the folder has"
        )
    for item in found.values():
        known = tensor_digest(item.parameter)
        set_origin(item, Pretrained(checkpoint, keys[known], known))
    return model


def base_files(folder: Path) -> list[Path]:
    """The safetensors files of a base: a folder with a `config.json` next to them, as transformers writes it.

    Raises:
        WeightsError: there is no such folder.
    """
    found = sorted(folder.glob("*.safetensors")) if (folder / "config.json").is_file() else []
    if not found:
        raise WeightsError(
            f"a base must be a folder with config.json and *.safetensors, got {folder}: a model of the hub is in one"
            " once it is stored, as by model.save_pretrained(folder)"
        )
    return found
