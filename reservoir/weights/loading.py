"""Load what `reservoir.weights.storage` wrote, to the same bits: check that it fits, draw, copy, compare digests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import _TYPES
from torch import Tensor, nn

from reservoir.layers.linear import unmarked
from reservoir.weights.contents import BUFFER, Contents, read_contents, tensor_digest
from reservoir.weights.files import WeightsError, digest, read_tensors, shortened
from reservoir.weights.masks import FixedMask, places
from reservoir.weights.naming import Owned, owned, state_buffers
from reservoir.weights.origins import Pretrained, Seeded, set_origin
from reservoir.weights.storage import base_files
from reservoir.weights.streaming import TiledWeight, draw_lazily, streamable, unpack

LOADED = 2**18
"""Elements of a tile that is drawn while a model is loaded: 1 MB."""
ALIGNED, LARGE = 64, 2**22
"""Bytes: where a tensor may begin, as PyTorch has it; and from where on memory can come in large pages."""
LARGEST = 2**28
"""How many numbers a model may have that is loaded without being asked for more: 1 GiB of fp32."""


def load(model: nn.Module, path: Path | str, *, base: Path | str | None = None) -> nn.Module:
    """Fill a module with what `save` wrote, to the same bits, and return it in eval mode.

    Args:
        model: built by its own code, as the stored one was; what it holds, masks included, is replaced.
        path: the file.
        base: the folder that frozen tensors are taken from, where it is no longer where the file says.

    Raises:
        WeightsError: the file or its base is missing, damaged or of another model, a tensor of the model has a type, a
            layout or a device that cannot take the file's numbers as they are, or one is not what its digest says. The
            module may then be filled in part.
        TypeError: the model is no module.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"load takes the module to fill, then the file: load(build(), 'm.safetensors'), got {model!r}"
        )
    contents = read_contents(Path(path))
    with _one_error(contents):
        _check_fit(model, contents, None, filled=True)
        for item in places(model):
            item.put(None)
        _fill(model, contents, base=None if base is None else Path(base))
    return model.eval()


def load_model(
    path: Path,
    build: Callable[[], nn.Module],
    *,
    contents: Contents | None = None,
    device: torch.device | str = "cpu",
    streamed: bool = False,
    largest: int = LARGEST,
) -> nn.Module:
    """Build a model and fill it with what `model_bytes` wrote, bit for bit; it is in eval mode.

    Whether the file fits the model is checked on the meta device, before memory is taken for either.

    Args:
        path: the file.
        build: makes the model; called on the meta device first.
        contents: of the file, if they have been read already.
        device: where to put the model.
        streamed: make drawn weights while they are used, instead of once and for all (`reservoir.weights.streaming`):
            the weights have the same bits, and a product with them is summed in another order.
        largest: how many numbers the model may have.

    Raises:
        WeightsError: the file is missing, damaged or of another model, a tensor is not what its digest says, or the
            model has more than `largest` numbers.
    """
    contents = contents or read_contents(path)
    with _one_error(contents), unmarked():  # every number is in the file, or drawn from what it says
        with torch.device("meta"):
            outline = build()
        _check_fit(outline, contents, largest)
        model = build().to(device)
        if not streamed:  # whose drawn weights are never in memory as a whole
            _put_together(model)
        _fill(model, contents, streamed=streamed)
    return (draw_lazily(model) if streamed else model).eval()


@contextmanager
def _one_error(contents: Contents) -> Iterator[None]:
    """Turn whatever goes wrong with a file into the error of a file of weights, which names it."""
    try:
        yield
    except WeightsError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}, {shortened(str(error), 200)}"
        raise WeightsError(f"{contents.path} cannot be loaded: {what}") from error


def _put_together(model: nn.Module) -> None:
    """Lay parameters that nothing has filled yet into one piece of memory, each as a storage of its own.

    For a large piece NumPy asks Linux for pages of 2 MB. Those of 4 kB, which many small pieces get, come one by one,
    and that takes three times as long as copying the numbers into them.
    """
    chosen = [
        one for one in model.parameters() if one.device.type == "cpu" and one.is_contiguous() and one.numel()
    ]
    *places, size = accumulate((-(-one.nbytes // ALIGNED) * ALIGNED for one in chosen), initial=0)
    if size < LARGE:
        return
    held = [one.untyped_storage().data_ptr() for one in (*chosen, *model.buffers()) if one.numel()]
    if len(set(held)) < len(held):  # what is a view of another tensor has to stay it
        return
    memory = np.empty(size + ALIGNED, np.uint8)
    first = -memory.ctypes.data % ALIGNED
    for one, place in zip(chosen, places, strict=True):
        part = torch.frombuffer(memory, dtype=one.dtype, count=one.numel(), offset=first + place)
        one.data = part.view(one.shape)


def _check_fit(outline: nn.Module, contents: Contents, largest: int | None, *, filled: bool = False) -> None:
    """Refuse a file whose tensors do not have the names, shapes and types that the model needs.

    Args:
        filled: the outline itself is to be filled, so that it must have memory.
    """
    path = contents.path
    items = {item.path: item for item in owned(outline)}
    size = sum(tensor.numel() for tensor in (*outline.parameters(), *outline.buffers()))
    if largest is not None and size > largest:
        raise WeightsError(
            f"{path}: the model has {size:,} numbers, more than largest={largest:,}; give a larger one if you trust it"
        )
    if missing := sorted(items.keys() ^ contents.parameters.keys()):
        raise WeightsError(
            f"{path}: {shortened(missing[0])} is not in both the model and the file"
            + _carried(set(items), set(contents.parameters))
        )
    buffers = state_buffers(outline)
    for name, tensor in (*((name, item.parameter) for name, item in items.items()), *buffers.items()):
        if filled and (tensor.is_meta or tensor.layout != torch.strided):
            what = "on the meta device, without memory" if tensor.is_meta else f"{tensor.layout}"
            raise WeightsError(f"{path}: {name} of the model is {what}: build it dense, on the CPU or a GPU")
    wanted: dict[str, tuple[tuple[int, ...], torch.dtype | None]] = {}
    for name, item in items.items():
        stored, shape = contents.parameters[name], tuple(item.parameter.shape)
        if stored.shape != shape:
            raise WeightsError(f"{path} has {stored.shape} for {name}, not {shape}")
        has, kind = str(item.parameter.dtype), stored.dtype or "torch.float32"
        if not stored.inside and has != kind and {has, kind} != {"torch.float32", "torch.float64"}:
            raise WeightsError(f"{path} has {kind} for {name}, not {has}: build the model, then .to({kind})")
        if isinstance(stored.origin, Seeded):
            _can_be_drawn(path, name, stored.origin, shape)
        elif stored.inside:
            wanted[name] = shape, item.parameter.dtype
    shapes = {item.path: tuple(item.parameter.shape) for item in places(outline)} if contents.masks else {}
    for name, mask in contents.masks.items():
        wanted[name] = (-(-math.prod(mask.shape) // 8),), torch.uint8
        for stream in mask.modules:
            if shapes.get(stream) != mask.shape:
                raise WeightsError(f"{path}: {shortened(name)} is no mask of {shortened(stream)}")
    if missing := sorted(buffers.keys() ^ contents.buffers.keys()):
        raise WeightsError(
            f"{path}: the buffer {shortened(missing[0])} is not in both the model and the file"
        )
    wanted |= {BUFFER + name: (tuple(buffer.shape), buffer.dtype) for name, buffer in buffers.items()}
    for name, (shape, dtype) in wanted.items():
        info = contents.file.get(name)
        stored_as = _TYPES.get(info.dtype) if info is not None else None
        if info is None or info.shape != shape or not _holds(dtype, stored_as):
            if info is not None and info.shape == shape:
                raise WeightsError(
                    f"{path} has {stored_as} for {name}, not {dtype}: build the model, then .to({stored_as})"
                )
            said = "nothing" if info is None else f"{info.dtype} of {info.shape}"
            raise WeightsError(f"{path} has {said} for {name}, not {shape}")
    if unknown := sorted(contents.file.keys() - wanted.keys()):
        raise WeightsError(
            f"{path} has a tensor {shortened(unknown[0])}, which its list of contents does not name"
        )


def _holds(dtype: torch.dtype | None, stored: torch.dtype | None) -> bool:
    """Whether each number of the stored type is one of the other: the same type, or a wider one of floats."""
    if dtype is None or stored is None or dtype == stored:
        return dtype == stored
    floats = dtype.is_floating_point and stored.is_floating_point
    return floats and torch.finfo(stored).bits > 8 and torch.promote_types(dtype, stored) == dtype


def _carried(model: set[str], file: set[str]) -> str:
    """Where all names of one are those of the other with a prefix, that something carries the model, and what to do."""
    for more, less, what in ((model, file, "the model"), (file, model, "the file")):
        prefix = min(more, default="").removesuffix(min(less, default=""))
        if prefix and {f"{prefix}{name}" for name in less} == more:
            inner = f"the module inside it, model.{prefix[:-1]}" if what == "the model" else "what carried it"
            return f"; all names of {what} begin with {prefix!r}: give {inner}"
    return ""


def _can_be_drawn(path: Path, name: str, origin: Seeded, shape: tuple[int, ...]) -> None:
    rows = (shape[-1] if origin.transposed else shape[0]) if shape else 1
    if origin.blocks < 1 or rows % origin.blocks:
        raise WeightsError(
            f"{path}: {name} has {rows} rows, and cannot have {shortened(origin.blocks)} blocks"
        )
    if origin.zero_row is not None and not 0 <= origin.zero_row < rows:
        raise WeightsError(f"{path}: {name} has {rows} rows, and no row {shortened(origin.zero_row)}")


@torch.no_grad()
def _fill(model: nn.Module, contents: Contents, *, base: Path | None = None, streamed: bool = False) -> None:
    """Draw what is drawn, copy the rest, and put the masks in their places."""
    own = read_tensors(contents.path)
    tensors = own | _of_bases(contents, base)
    for item in owned(model):
        stored = contents.parameters[item.path]
        item.parameter.requires_grad_(stored.moves)
        set_origin(item, stored.origin)
        if isinstance(stored.origin, Seeded):
            _draw(contents, item, stored.origin, stored.digest, streamed=streamed)
        else:
            found = _checked(contents, tensors, item.path, stored.digest, base=stored.base)
            item.parameter.copy_(found)
    for name, buffer in state_buffers(model).items():
        buffer.copy_(_checked(contents, own, BUFFER + name, contents.buffers[name]))
    made: dict[str, FixedMask] = {}
    for name, mask in contents.masks.items():
        bits = unpack(_checked(contents, own, name, mask.digest), 0, math.prod(mask.shape))
        fixed = FixedMask(bits.view(mask.shape), stream=name.removesuffix(".mask"))
        made |= dict.fromkeys(mask.modules, fixed)
    for item in places(model) if made else ():
        if item.path in made:
            item.put(made[item.path].to(item.parameter.device))
    # Said last, since a tensor's own digest says more.
    listed = contents.metadata["contents"] + contents.metadata.get("files", "")
    if contents.metadata.get("digest") != digest(listed.encode()):
        raise WeightsError(f"{contents.path}: its list of contents is damaged: its digest does not match")


def _of_bases(contents: Contents, base: Path | None) -> dict[str, Tensor]:
    """The tensors that a file refers to, by their names in the model."""
    wanted: dict[Path, dict[str, list[str]]] = {}
    for name, said in contents.parameters.items():
        if isinstance(said.origin, Pretrained) and said.origin.key:
            folder = base or Path(said.origin.checkpoint.rpartition("@")[0])
            wanted.setdefault(folder, {}).setdefault(said.origin.key, []).append(name)
    found: dict[str, Tensor] = {}
    for folder, keys in wanted.items():
        try:
            files = base_files(folder)
        except WeightsError as error:
            raise WeightsError(
                f"{contents.path} refers to a base: {error}; give its folder as base=…"
            ) from error
        for file in files:
            for key, tensor in read_tensors(file, only=keys).items():
                found |= dict.fromkeys(keys[key], tensor)
    return found


def _draw(contents: Contents, item: Owned, origin: Seeded, wanted: str, *, streamed: bool) -> None:
    """Draw a tensor again, in tiles where that can be, and compare its digest; a streamed one is not kept."""
    shape, path = item.parameter.shape, contents.path
    try:
        if streamable(item):  # each tile is summed and copied while it is in the cache
            kept = None if streamed else item.parameter
            tiles = TiledWeight(origin, shape).tiles(tile=LOADED)
            found = tensor_digest(_kept(tiles, kept), shape)
        else:
            tensor = origin.draw(shape, dtype=item.parameter.dtype)
            found = tensor_digest(tensor)
            item.parameter.copy_(tensor)
    except Exception as error:
        raise WeightsError(f"{path}: {item.path} cannot be drawn: {shortened(str(error), 200)}") from error
    if found != wanted:
        raise WeightsError(f"{path}: {item.path}, drawn from seed {origin.seed}, is not what its digest says")


def _kept(tiles: Iterable[Tensor], whole: Tensor | None) -> Iterator[Tensor]:
    """Rows one after the other, copied into a tensor, if there is one, as they come."""
    row = 0
    for tile in tiles:
        if whole is not None:
            whole[row : row + len(tile)].copy_(tile)
            row += len(tile)
        yield tile


def _checked(
    contents: Contents, tensors: dict[str, Tensor], name: str, wanted: str, *, base: str = ""
) -> Tensor:
    if name not in tensors or tensor_digest(tensors[name]) != wanted:
        problem = (
            f"is not in the base as it was in {base}" if base else "is damaged: its digest does not match"
        )
        raise WeightsError(f"{contents.path}: {name} {problem}")
    return tensors[name]
