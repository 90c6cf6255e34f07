"""Any module in one file, on the tensors of a base, or as a plain module again.

import reservoir as r
r.initialise(model, seed=0)           # draw every tensor from its name and the seed
r.freeze(model, layers=[0, 1])        # these never move
...                                   # train it as ever
r.save(model, "m.safetensors")        # the seed, and what was trained
r.load(build(), "m.safetensors")      # the same bits, in any process
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from reservoir.files import atomic_write
from reservoir.weights.files import WeightsError, digest, read_tensors
from reservoir.weights.naming import KEPT, bare, owned
from reservoir.weights.origins import Pretrained, set_origin
from reservoir.weights.storage import base_files, load_into, model_bytes, tensor_digest


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
        metadata: texts to put beside the tensors.
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


def load(model: nn.Module, path: Path | str, *, base: Path | str | None = None) -> nn.Module:
    """Fill a module with what `save` wrote, to the same bits, and return it in eval mode.

    Args:
        model: built by its own code, as the stored one was; what it holds, masks included, is replaced.
        path: the file.
        base: the folder that frozen tensors are taken from, where it is no longer where the file says.

    Raises:
        WeightsError: the file or its base is missing, damaged or of another model, or a tensor is not what its digest
            says. The module may then be filled in part.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"load takes the module to fill, then the file: load(build(), 'm.safetensors'), got {model!r}"
        )
    return load_into(model, Path(path), base=None if base is None else Path(base))


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


@torch.no_grad()
def materialise(model: nn.Module) -> nn.Module:
    """Return a copy of a module with plain weights: masks are multiplied in, and nothing of this library is left in it.

    `torch.export` takes the copy, `torch.save` stores it, and its state dict fits the module that its owner's code
    builds. Layers of `reservoir.layers` remain what they are, without masks.

    Args:
        model: any module; it stays as it is.
    """
    model = copy.deepcopy(bare(model))
    places = [item for item in owned(model, tied=True) if item.mask is not None]
    made: dict[
        tuple[int, int], nn.Parameter
    ] = {}  # a tied weight stays tied where one mask chooses for all its places
    for item in places:
        mask = item.mask
        assert mask is not None
        known = (id(item.parameter), id(mask))
        if known not in made:
            made[known] = nn.Parameter(
                item.parameter * mask.chosen(), requires_grad=item.parameter.requires_grad
            )
        item.put(None)
        setattr(item.module, item.attribute, made[known])
    for module in model.modules():
        module.__dict__.pop(KEPT, None)
    return model
