"""Store a model in one file, as small as the origins of its tensors allow, and load it to the same bits.

| what                            | what the file keeps of it                                  |
|---------------------------------|------------------------------------------------------------|
| a tensor that its seed gives    | seed, stream, initialisation, and a digest to compare with |
| a frozen tensor of a base       | a reference to the base, and a digest                      |
| any other tensor, and buffers   | its numbers and their digest                               |
| a mask                          | one bit for each weight, and a digest                      |

This works for any module. How the module is built again is for the caller to know: `reservoir.models.pretrained` does
for the models of this library.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reservoir.layers.linear import unmarked
from reservoir.weights.files import (
    DTYPES,
    TensorInfo,
    WeightsError,
    canonical_json,
    digest,
    digest_of_sums,
    read_header,
    read_json,
    read_tensors,
    safetensors_bytes,
    shortened,
)
from reservoir.weights.generator import Stream
from reservoir.weights.initialisation import Initialisation
from reservoir.weights.naming import Owned, WeightMask, bare, owned
from reservoir.weights.origins import Pretrained, Seeded, Trained, recorded_origin, set_origin
from reservoir.weights.streaming import TiledWeight, draw_lazily, pack, streamable, unpack
from reservoir.weights.supermask import FixedMask, Supermask, maskable

FORMAT, SECOND_FORMAT, FIRST_FORMAT = FORMATS = (
    "reservoir-model-3",
    "reservoir-model-2",
    "reservoir-model-1",
)
GENERATOR = "philox4x32-10, names by FNV-1a, version 1"
BUFFER = "buffers/"
FLOATS = {"F16", "BF16", "F32", "F64"}
LOADED = 2**18
"""Elements of a tile that is drawn while a model is loaded: 1 MB."""
ALIGNED, LARGE = 64, 2**22
"""Bytes: where a tensor may begin, as PyTorch has it; and from where on memory can come in large pages."""
LARGEST = 2**28
"""How many numbers a model may have that is loaded without being asked for more: 1 GiB of fp32."""


@dataclass(frozen=True)
class StoredTensor:
    """What a file says of a parameter.

    Args:
        origin: how to get it: by drawing it, from the file, or from a base.
        moves: whether training changes it.
        digest: of its numbers, type and shape (`tensor_digest`).
        shape: None in files of the first format, which do not say it.
        dtype: the type of one that is drawn or of a base, if it is not float32; such as "torch.bfloat16".
    """

    origin: Trained | Seeded | Pretrained
    moves: bool
    digest: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None

    @property
    def base(self) -> str:
        """The base that holds its numbers, or nothing."""
        return self.origin.checkpoint if isinstance(self.origin, Pretrained) and self.origin.key else ""

    @property
    def inside(self) -> bool:
        """Whether the file holds its numbers."""
        return not isinstance(self.origin, Seeded) and not self.base


@dataclass(frozen=True)
class StoredMask:
    """What a file says of a mask: its shape, the digest of its packed bits, and the names of the weights under it."""

    shape: tuple[int, ...]
    digest: str
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """The list of contents of a file: parameters and masks by name, digests of buffers by their path in the module.

    Args:
        file: what the header says of the tensors in the file.
        metadata: texts beside them.
    """

    path: Path
    parameters: dict[str, StoredTensor]
    masks: dict[str, StoredMask]
    buffers: dict[str, str]
    file: dict[str, TensorInfo]
    metadata: dict[str, str]

    def digest_of(self, tensor: Tensor) -> str:
        """The digest of a tensor of the file, as this file has it."""
        return (tensor_digest if self.metadata["format"] == FORMAT else hash_of_tensor)(tensor)

    def digest_of_drawn(self, tiles: Tensor | Iterable[Tensor], shape: torch.Size) -> str:
        """The digest of a tensor that is drawn, as a whole or in tiles, as this file has it."""
        return tensor_digest(tiles, shape) if self.metadata["format"] == FORMAT else digest(tiles)

    @property
    def drawn(self) -> dict[str, Seeded]:
        """The parameters that are drawn again instead of read."""
        return {name: t.origin for name, t in self.parameters.items() if isinstance(t.origin, Seeded)}


# ---- writing ---------------------------------------------------------------------------------------------------------


@torch.no_grad()
def model_bytes(
    model: nn.Module, metadata: Mapping[str, str] | None = None, *, dtype: torch.dtype | None = None
) -> bytes:
    """Return the file of a model: what cannot be drawn again, and how to draw the rest.

    Args:
        model: any module. Of masks that are being learned, the choice is stored and the scores are not.
        metadata: texts to put beside the tensors, such as the digest of a configuration.
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
            tensors[item.path] = item.parameter.detach().cpu().to(dtype).contiguous()
            said["digest"] = tensor_digest(tensors[item.path])
        contents["parameters"][item.path] = said
    names: dict[int, str] = {}
    for item in maskable(model):
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
        tensors[BUFFER + name] = buffer.detach().cpu().contiguous()
        contents["buffers"][name] = tensor_digest(tensors[BUFFER + name])
    text = canonical_json(contents)
    own = {"format": FORMAT, "generator": GENERATOR, "contents": text, "digest": digest(text.encode())}
    return safetensors_bytes(tensors, {**(metadata or {}), **own})


@torch.no_grad()
def round_stored(model: nn.Module, dtype: torch.dtype) -> None:
    """Round in place what `model_bytes` would round to `dtype`, to see what the stored model computes."""
    for item in owned(model):
        if not isinstance(_described(item)[0], Seeded) and not isinstance(item.module, Supermask):
            item.parameter.copy_(item.parameter.to(dtype))


def _described(item: Owned) -> tuple[Trained | Seeded | Pretrained, dict[str, Any]]:
    """Where a parameter is to come from when it is loaded, and what the file says of it."""
    parameter, origin = item.parameter, recorded_origin(item) or Trained()
    said: dict[str, Any] = {"shape": list(parameter.shape), "moves": parameter.requires_grad}
    if parameter.dtype not in (torch.float32, torch.float64):
        said["dtype"] = str(parameter.dtype)  # which rounds what is drawn
    lost = ""
    if isinstance(origin, Seeded):
        if not (parameter.requires_grad and _begins_otherwise(parameter, origin)):
            drawn = origin.draw(parameter.shape)
            if tensor_digest(parameter) == tensor_digest(drawn.to(parameter.dtype)):
                return origin, said | {"digest": tensor_digest(drawn)} | _origin_json(origin)
        lost, origin = f"drawn from seed {origin.seed}", Trained()
    elif isinstance(origin, Pretrained) and origin.key:
        if origin.digest in (known := tensor_digest(parameter), hash_of_tensor(parameter)):
            return origin, said | {"digest": known} | _origin_json(origin)
        lost, origin = f"of {origin.checkpoint}", Trained()
    if lost and not parameter.requires_grad:
        raise WeightsError(
            f"{item.path} is said to be {lost}, but is not what that gives: if it was trained, let it move, call"
            " mark_trained(model), and freeze it again"
        )
    said.pop("dtype", None)
    return origin, said | _origin_json(origin)


def _begins_otherwise(parameter: nn.Parameter, origin: Seeded) -> bool:
    """Whether the first numbers of a tensor already show that it is not as it was drawn: the rest need not be drawn."""
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


def state_buffers(model: nn.Module) -> dict[str, Tensor]:
    """Buffers that are part of the model's state, by path, without those of masks."""
    model = bare(model)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    masks = {
        name for name, module in model.named_modules(remove_duplicate=False) if isinstance(module, WeightMask)
    }
    found = {
        name.replace("_orig_mod.", ""): tensor
        for name, tensor in model.state_dict(keep_vars=True).items()
        if name not in parameters and name.rpartition(".")[0] not in masks
    }
    if others := [name for name, value in found.items() if not isinstance(value, Tensor)]:
        raise WeightsError(f"{others[0]} is state that is no tensor, which a file of weights cannot hold")
    return found


def tensor_digest(tensor: Tensor | Iterable[Tensor], shape: torch.Size | None = None) -> str:
    """The digest of a tensor: of its type, its shape and sums over its bytes.

    Args:
        tensor: it, or its stretches, which are float32 of the given shape together.
        shape: of the whole; a tensor has its own.
    """
    dtype = tensor.dtype if isinstance(tensor, Tensor) else torch.float32
    whole = tensor.shape if isinstance(tensor, Tensor) else shape
    return digest_of_sums(tensor, f"{dtype} {tuple(whole or ())}")


def hash_of_tensor(tensor: Tensor) -> str:
    """What stood for a tensor in files of the first two formats: a hash of its type, shape and bytes."""
    return digest([f"{tensor.dtype} {tuple(tensor.shape)}".encode(), tensor])


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_contents(path: Path) -> Contents:
    """Return the list of contents of a file, without reading a tensor.

    Raises:
        WeightsError: the file is missing, damaged or of another version.
    """
    file, metadata = read_header(path)
    said = metadata.get("format")
    if said not in FORMATS:
        raise WeightsError(f"{path} must have one of the formats {', '.join(FORMATS)}, got {shortened(said)}")
    text, name = metadata.get("contents", ""), f"{path}: its list of contents"
    listed = read_json(text, name)
    try:
        parameters, masks, buffers = (_first_contents if said == FIRST_FORMAT else _contents)(listed)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise WeightsError(f"{name} is damaged: {type(error).__name__}, {shortened(str(error))}") from error
    found = Contents(path, parameters, masks, buffers, file, metadata)
    if found.drawn and metadata.get("generator") != GENERATOR:
        first, *others = sorted(found.drawn)
        more = f" and {len(others)} more tensors" if others else ""
        raise WeightsError(
            f"{path}: {first}{more} were drawn by {shortened(metadata.get('generator'))},"
            f" and this library draws by {GENERATOR!r}"
        )
    return found


Parts = tuple[dict[str, StoredTensor], dict[str, StoredMask], dict[str, str]]


def _contents(listed: dict[str, Any]) -> Parts:
    parameters = {
        name: StoredTensor(
            _origin(said),
            _typed(said["moves"], bool),
            _typed(said["digest"], str),
            _shape(said["shape"]),
            _typed(said["dtype"], str) if "dtype" in said else None,
        )
        for name, said in listed["parameters"].items()
    }
    masks = {
        name: StoredMask(
            _shape(said["shape"]),
            _typed(said["digest"], str),
            tuple(_typed(one, str) for one in _typed(said["modules"], list)),
        )
        for name, said in listed["masks"].items()
    }
    return parameters, masks, {name: _typed(said, str) for name, said in listed["buffers"].items()}


def _first_contents(listed: dict[str, Any]) -> Parts:
    """The list of contents of the first format, which kept drawn, trained and pretrained tensors apart."""
    masked = listed["masked"]
    parameters = {
        name: StoredTensor(
            _origin(said | {"origin": origin, "checkpoint": said.get("from")}), moves, said["digest"]
        )
        for part, origin, moves in (
            ("drawn", "seeded", False),
            ("trained", "trained", True),
            ("pretrained", "pretrained", False),
        )
        for name, said in listed[part].items()
    }
    for name in masked.keys() & parameters.keys():
        parameters[name] = dataclasses.replace(parameters[name], moves=False)
    masks = {
        name: StoredMask(
            _shape(said["shape"]),
            said["digest"],
            tuple(stream for stream, its in masked.items() if its == name),
        )
        for name, said in listed["masks"].items()
    }
    if missing := set(masked.values()) - masks.keys():
        raise ValueError(f"nothing is said of {min(missing)}")
    return parameters, masks, {}


def _origin(said: Mapping[str, Any]) -> Trained | Seeded | Pretrained:
    match said["origin"]:
        case "trained":
            return Trained()
        case "pretrained":
            checkpoint, key = _typed(said["checkpoint"], str), _typed(said.get("key", ""), str)
            return Pretrained(checkpoint, key, _typed(said["digest"], str) if key else "")
        case "seeded":
            initialisation = Initialisation.from_json(_typed(said["initialisation"], dict))
            zero_row = said["zero_row"]
            return Seeded(
                _typed(said["seed"], int),
                _typed(said["stream"], str),
                initialisation,
                _typed(said["blocks"], int),
                None if zero_row is None else _typed(zero_row, int),
                _typed(said.get("transposed", False), bool),
            )
    raise ValueError(f"origin must be 'trained', 'pretrained' or 'seeded', got {shortened(said['origin'])}")


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {shortened(value)}")
    return value


def _shape(value: Any) -> tuple[int, ...]:
    if any(not 0 <= _typed(n, int) < 2**48 for n in _typed(value, list)):
        raise ValueError(f"a shape must have sizes from 0, got {shortened(value)}")
    return tuple(value)


# ---- loading ---------------------------------------------------------------------------------------------------------


def load_model(
    path: Path,
    build: Callable[[], nn.Module],
    *,
    contents: Contents | None = None,
    device: torch.device | str = "cpu",
    streamed: bool = False,
    compiled: bool = False,
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
        compiled: draw with `torch.compile`, if streamed.
        largest: how many numbers the model may have.

    Raises:
        WeightsError: the file is missing, damaged or of another model, a tensor is not what its digest says, or the
            model has more than `largest` numbers.
    """
    contents = contents or read_contents(path)

    def made() -> nn.Module:
        with unmarked():  # every number is in the file, or drawn from what it says
            with torch.device("meta"):
                outline = build()
            _fits(outline, contents, largest)
            model = build().to(device)
        if not streamed:  # whose drawn weights are never in memory as a whole
            _put_together(model)
        return model

    model = _filled(made, contents, streamed=streamed)
    return (draw_lazily(model, compiled=compiled) if streamed else model).eval()


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


def load_into(model: nn.Module, path: Path, *, base: Path | None = None) -> nn.Module:
    """Fill a module that is there with what `model_bytes` wrote, bit for bit; it is in eval mode then.

    Args:
        model: built as the stored one was. Masks that it has are replaced.
        path: the file.
        base: the folder that frozen tensors are taken from, where it is no longer where the file says.

    Raises:
        WeightsError: as of `load_model`; or the base is missing, or is another one.
    """
    contents = read_contents(path)

    def made() -> nn.Module:
        for item in maskable(model):
            item.put(None)
        _fits(model, contents, None)
        return model

    return _filled(made, contents, base=base).eval()


def _filled(
    make: Callable[[], nn.Module], contents: Contents, *, base: Path | None = None, streamed: bool = False
) -> nn.Module:
    """The model that `make` checks and returns, filled; every error is one of a file of weights."""
    path = contents.path
    try:
        model = make()
        tensors = read_tensors(path)
        _fill(model, contents, tensors | _of_bases(contents, base), streamed=streamed)
        _put_masks(model, contents, tensors)
    except WeightsError:
        raise
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise WeightsError(
            f"{path} cannot be loaded: {type(error).__name__}, {shortened(str(error), 200)}"
        ) from error
    text = contents.metadata["contents"]
    if contents.metadata.get("digest") != digest(
        text.encode()
    ):  # said last, since a tensor's own digest says more
        raise WeightsError(f"{path}: its list of contents is damaged: its digest does not match")
    return model


def base_files(folder: Path) -> list[Path]:
    """The safetensors files of a base: a folder with a `config.json` beside them, as transformers writes it.

    Raises:
        WeightsError: there is no such folder.
    """
    found = sorted(folder.glob("*.safetensors")) if (folder / "config.json").is_file() else []
    if not found:
        raise WeightsError(f"a base must be a folder with config.json and *.safetensors, got {folder}")
    return found


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


def _fits(outline: nn.Module, contents: Contents, largest: int | None) -> None:
    """Refuse a file whose tensors do not have the names, shapes and types that the model needs."""
    path = contents.path
    size = sum(tensor.numel() for tensor in (*outline.parameters(), *outline.buffers()))
    if largest is not None and size > largest:
        raise WeightsError(
            f"{path}: the model has {size:,} numbers, more than largest={largest:,}; give a larger one if you trust it"
        )
    items = {item.path: item for item in owned(outline)}
    if missing := sorted(items.keys() ^ contents.parameters.keys()):
        raise WeightsError(f"{path}: {shortened(missing[0])} is not in both the model and the file")
    wanted: dict[str, tuple[tuple[int, ...], set[str]]] = {}
    for name, item in items.items():
        stored, shape = contents.parameters[name], tuple(item.parameter.shape)
        if stored.shape not in (None, shape):
            raise WeightsError(f"{path} has {stored.shape} for {name}, not {shape}")
        has, kind = str(item.parameter.dtype), stored.dtype or "torch.float32"
        if not stored.inside and has != kind and {has, kind} != {"torch.float32", "torch.float64"}:
            raise WeightsError(f"{path} has {kind} for {name}, not {has}: build the model, then .to({kind})")
        if isinstance(stored.origin, Seeded):
            _can_be_drawn(path, name, stored.origin, shape)
        elif stored.inside:
            wanted[name] = shape, FLOATS
    places = {item.path: tuple(item.parameter.shape) for item in maskable(outline)} if contents.masks else {}
    for name, mask in contents.masks.items():
        wanted[name] = (-(-math.prod(mask.shape) // 8),), {"U8"}
        for stream in mask.modules:
            if places.get(stream) != mask.shape:
                raise WeightsError(f"{path}: {shortened(name)} is no mask of {shortened(stream)}")
    buffers = state_buffers(outline)
    if missing := sorted(buffers.keys() ^ contents.buffers.keys()):
        raise WeightsError(
            f"{path}: the buffer {shortened(missing[0])} is not in both the model and the file"
        )
    wanted |= {BUFFER + name: (tuple(buffer.shape), set(DTYPES)) for name, buffer in buffers.items()}
    for name, (shape, kinds) in wanted.items():
        info = contents.file.get(name)
        if info is None or info.shape != shape or info.dtype not in kinds:
            has = "nothing" if info is None else f"{info.dtype} of {info.shape}"
            raise WeightsError(f"{path} has {has} for {name}, not {shape}")
    if unknown := sorted(contents.file.keys() - wanted.keys()):
        raise WeightsError(
            f"{path} has a tensor {shortened(unknown[0])}, which its list of contents does not name"
        )


def _can_be_drawn(path: Path, name: str, origin: Seeded, shape: tuple[int, ...]) -> None:
    rows = (shape[-1] if origin.transposed else shape[0]) if shape else 1
    if origin.blocks < 1 or rows % origin.blocks:
        raise WeightsError(
            f"{path}: {name} has {rows} rows, and cannot have {shortened(origin.blocks)} blocks"
        )
    if origin.zero_row is not None and not 0 <= origin.zero_row < rows:
        raise WeightsError(f"{path}: {name} has {rows} rows, and no row {shortened(origin.zero_row)}")


@torch.no_grad()
def _fill(model: nn.Module, contents: Contents, tensors: dict[str, Tensor], *, streamed: bool) -> None:
    """Draw what is drawn, and copy the rest."""
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
        buffer.copy_(_checked(contents, tensors, BUFFER + name, contents.buffers[name]))


def _draw(contents: Contents, item: Owned, origin: Seeded, wanted: str, *, streamed: bool) -> None:
    """Draw a tensor again, in tiles where that can be, and compare its digest; a streamed one is not kept."""
    shape, path = item.parameter.shape, contents.path
    try:
        if streamable(item):  # each tile is summed and copied while it is in the cache
            kept = None if streamed else item.parameter
            tiles = TiledWeight(origin, shape).tiles(tile=LOADED)
            found = contents.digest_of_drawn(_kept(tiles, kept), shape)
        else:
            tensor = origin.draw(shape)
            found = contents.digest_of_drawn(tensor, shape)
            item.parameter.copy_(tensor)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
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
    contents: Contents,
    tensors: dict[str, Tensor],
    name: str,
    wanted: str,
    *,
    base: str = "",
) -> Tensor:
    if name not in tensors or contents.digest_of(tensors[name]) != wanted:
        problem = (
            f"is not in the base as it was in {base}" if base else "is damaged: its digest does not match"
        )
        raise WeightsError(f"{contents.path}: {name} {problem}")
    return tensors[name]


def _put_masks(model: nn.Module, contents: Contents, tensors: dict[str, Tensor]) -> None:
    made: dict[str, FixedMask] = {}
    for name, mask in contents.masks.items():
        bits = unpack(_checked(contents, tensors, name, mask.digest), 0, math.prod(mask.shape))
        fixed = FixedMask(bits.view(mask.shape), stream=name.removesuffix(".mask"))
        made |= dict.fromkeys(mask.modules, fixed)
    for item in maskable(model) if made else ():
        if item.path in made:
            item.put(made[item.path].to(item.parameter.device))
