"""Write any module to one file, as small as the origins of its tensors allow, and read it back to the same bits.

import reservoir as r
r.initialise(model, seed=0)           # draw every tensor from its name and the seed
r.freeze(model, layers=[0, 1])        # these never move
...                                   # train it as ever
r.save(model, "m.safetensors")        # the seed, and what was trained
r.load(build(), "m.safetensors")      # the same bits, in any process

| what                              | what the file keeps of it                                  |
|-----------------------------------|------------------------------------------------------------|
| a frozen tensor that a seed gives | seed, stream, initialisation, and a digest to compare with |
| a frozen tensor of a base         | a reference to the base, and a digest                      |
| any other tensor, and buffers     | its numbers and their digest                               |
| a mask                            | one bit for each weight, and a digest                      |

How the module is built again is for the caller to know: `reservoir.models.pretrained` does for the models of this
library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import torch
from msgspec import Meta, Struct
from safetensors.torch import _TYPES
from torch import Tensor, nn

from reservoir.files import atomic_write
from reservoir.layers.linear import unmarked
from reservoir.weights.files import (
    TensorInfo,
    WeightsError,
    canonical_json,
    digest,
    read_header,
    read_safetensors,
    safetensors_bytes,
    shortened,
    tensor_digest,
)
from reservoir.weights.initialisation import Initialisation
from reservoir.weights.masks import FixedMask, Supermask, places
from reservoir.weights.naming import Owned, owned, state_buffers
from reservoir.weights.origins import Pretrained, Seeded, Trained, base_files, recorded_origin, set_origin
from reservoir.weights.streaming import draw_lazily, pack, streamable, unpack

FORMAT = "reservoir-model-3"
GENERATOR = "philox4x32-10, names by FNV-1a, version 1"
BUFFER = "buffers/"
SIGNED = ("contents", "files", "identity")
"""Texts of a file that its digest covers: its contents, the digests of the files next to it, the run it belongs to."""
STORABLE = frozenset(_TYPES.values())
"""The types of numbers that a file of safetensors holds."""
PLAIN: tuple[type[Tensor], ...] = (Tensor, nn.Parameter, nn.Buffer)
"""Tensors whose numbers are all that there is to them."""
LARGEST = 2**28
"""How many numbers a model may have that is loaded without being asked for more: 1 GiB of fp32."""


# ---- the list of contents --------------------------------------------------------------------------------------------

Shape = tuple[Annotated[int, Meta(ge=0, lt=2**48)], ...]


class StoredTensor(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="origin", tag="trained"):
    """What a file says of a parameter whose numbers it holds.

    Args:
        moves: whether training changes it.
        digest: of its numbers, type and shape (`tensor_digest`).
        dtype: the type of one that is drawn or of a base, if it is not float32; such as "torch.bfloat16".
    """

    shape: Shape
    moves: bool
    digest: str
    dtype: str | None = None

    @property
    def origin(self) -> Trained | Seeded | Pretrained:
        """Where the parameter comes from."""
        return Trained()


class StoredSeed(StoredTensor, frozen=True, kw_only=True, tag="seeded"):
    """What a file says of a parameter that is drawn again."""

    seed: int
    stream: str
    initialisation: dict[str, Any]
    blocks: int
    zero_row: int | None
    transposed: bool = False

    @property
    def origin(self) -> Seeded:
        """What draws it."""
        kind = Initialisation.from_json(self.initialisation)
        return Seeded(self.seed, self.stream, kind, self.blocks, self.zero_row, self.transposed)


class StoredReference(StoredTensor, frozen=True, kw_only=True, tag="pretrained"):
    """What a file says of a parameter of a checkpoint: `key` is its name in a base, or empty if the file holds it."""

    checkpoint: str
    key: str = ""

    @property
    def origin(self) -> Pretrained:
        """The checkpoint."""
        return Pretrained(self.checkpoint, self.key, self.digest if self.key else "")


class StoredMask(Struct, frozen=True):
    """What a file says of a mask: its shape, the digest of its packed bits, and the names of the weights under it."""

    shape: Shape
    digest: str
    modules: list[str]


class Contents(Struct, frozen=True):
    """The list of contents of a file: parameters and masks by name, digests of buffers by their path in the module."""

    parameters: dict[str, StoredTensor | StoredSeed | StoredReference]
    masks: dict[str, StoredMask]
    buffers: dict[str, str]


class StoredModel(NamedTuple):
    """What a file says of a model; no tensor has been read or made.

    Args:
        tensors: what the header says of the tensors in the file.
        metadata: texts next to them.
    """

    path: Path
    contents: Contents
    tensors: dict[str, TensorInfo]
    metadata: dict[str, str]

    @property
    def digest(self) -> str:
        """The digest of the whole, by which it can be referred to, as the file says it; checked once it is loaded."""
        return self.metadata.get("digest", "")

    @property
    def drawn(self) -> dict[str, Seeded]:
        """The parameters that are drawn again instead of read."""
        listed = self.contents.parameters.items()
        return {name: spec.origin for name, spec in listed if isinstance(spec, StoredSeed)}


def read_contents(path: Path) -> StoredModel:
    """Return what a file says of its model, without reading a tensor.

    Raises:
        WeightsError: the file is missing, damaged or of another version.
    """
    tensors, metadata = read_header(path)
    if (found := metadata.get("format")) != FORMAT:
        raise WeightsError(f"{path} must have the format {FORMAT}, got {shortened(found)}")
    try:
        contents = msgspec.json.decode(metadata.get("contents", ""), type=Contents)
        stored = StoredModel(path, contents, tensors, metadata)
        drawn = sorted(stored.drawn)
    except Exception as error:  # which initialisation and seed there are, other parts of the library say
        raise WeightsError(
            f"{path}: its list of contents is damaged: {shortened(str(error), 200)}"
        ) from error
    if drawn and (found := metadata.get("generator")) != GENERATOR:
        more = f" and {len(drawn) - 1} more tensors" if drawn[1:] else ""
        raise WeightsError(
            f"{path}: {drawn[0]}{more} were drawn by {shortened(found)}, and this library draws by {GENERATOR!r}"
        )
    return stored


# ---- writing ---------------------------------------------------------------------------------------------------------


def save(model: nn.Module, path: Path | str) -> Path:
    """Write any module to one safetensors file, as small as the origins of its tensors allow.

    What a seed gives back is not in the file, nor is a frozen tensor of a base whose folder is there (`pretrained`);
    what was trained and the buffers are, and of a mask one bit for each weight. The file says its own digest and that
    of each tensor.

    Args:
        model: any module; what wraps it, such as `DistributedDataParallel` or `torch.compile`, is left out.
        path: of the file, such as "m.safetensors"; replaced as a whole if it is there. Its folder is made.

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
    atomic_write(path, model_bytes(model))
    return path


@torch.no_grad()
def model_bytes(
    model: nn.Module,
    metadata: Mapping[str, str] | None = None,
    *,
    dtype: torch.dtype | None = None,
    whole: bool | None = None,
) -> bytes:
    """Return the file of a model: what cannot be drawn again, and how to draw the rest.

    Args:
        model: any module. Of masks that are being learned, the choice is stored and the scores are not.
        metadata: texts to put next to the tensors; those of `SIGNED` are covered by the file's digest.
        dtype: round parameters that are not drawn to this type; None keeps theirs.
        whole: store the tensors of a base as well, so that the file stands alone. None does so where no folder holds
            the base; False never, since the model that is filled with the file will hold them.

    Returns:
        a safetensors file, the same bytes for the same model.

    Raises:
        WeightsError: a frozen tensor is said to be drawn from a seed or to be of a base, but is not what that gives; or
            the module has state that is no tensor.
    """
    if dtype is not None and not _holds(torch.float64, dtype):
        raise WeightsError(f"dtype must be one that a model reads back, such as torch.float16, got {dtype}")
    tensors: dict[str, Tensor] = {}
    contents = Contents({}, {}, {})
    for item in _weights(model):
        spec = _described(item, whole=whole)
        if not spec.digest:
            tensors[item.path] = _rounded(item.parameter.detach().cpu(), dtype).contiguous()
            spec = msgspec.structs.replace(spec, digest=tensor_digest(tensors[item.path]))
        contents.parameters[item.path] = spec
    names: dict[int, str] = {}
    for item in places(model):
        if item.mask is None:
            continue
        if item.others and item.chain[-1] is not item.mask:
            raise WeightsError(
                f"{item.path} is masked before {type(item.chain[-1]).__name__}, which a file does not say: mask it"
                " afterwards, or save materialise(model), whose weights are stored as a whole"
            )
        name = names.setdefault(id(item.mask), f"{item.path}.mask")
        if name not in tensors:
            bits = item.mask.chosen()
            tensors[name] = pack(bits)
            contents.masks[name] = StoredMask(tuple(bits.shape), tensor_digest(tensors[name]), [])
        contents.masks[name].modules.append(item.path)
    for name, buffer in state_buffers(model).items():
        _check_storable(name, buffer)
        tensors[BUFFER + name] = buffer.detach().cpu().contiguous()
        contents.buffers[name] = tensor_digest(tensors[BUFFER + name])
    listed = canonical_json(msgspec.to_builtins(contents))
    texts = {**(metadata or {}), "format": FORMAT, "generator": GENERATOR, "contents": listed}
    return safetensors_bytes(tensors, texts | {"digest": _signature(texts)})


def _weights(model: nn.Module) -> list[Owned]:
    """The parameters of a model, without the scores of masks that are being learned."""
    return [item for item in owned(model) if not isinstance(item.module, Supermask)]


def _signature(metadata: Mapping[str, str]) -> str:
    return digest("".join(metadata.get(name, "") for name in SIGNED).encode())


@torch.no_grad()
def round_stored(model: nn.Module, dtype: torch.dtype) -> None:
    """Round in place what `model_bytes` would round to `dtype`, to see what the stored model computes."""
    for item in _weights(model):
        if not isinstance(_described(item), StoredSeed):
            item.parameter.copy_(_rounded(item.parameter, dtype))


def _rounded(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A tensor of floats in a type of fewer bytes; any other one as it is."""
    less = dtype is not None and tensor.is_floating_point() and dtype.itemsize < tensor.dtype.itemsize
    return tensor.to(dtype) if less else tensor


def _check_storable(name: str, tensor: Tensor) -> None:
    """Refuse a tensor that a file could not hold, or `load` not bring back as it is."""
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


def _described(item: Owned, *, whole: bool | None = None) -> StoredTensor:
    """What the file says of a parameter; without a digest where it is to hold the numbers.

    What moves is stored whole, whatever it started as.
    """
    parameter, origin = item.parameter, recorded_origin(item)
    _check_storable(item.path, parameter)
    spec: dict[str, Any] = {"shape": tuple(parameter.shape), "moves": parameter.requires_grad}
    if isinstance(origin, Pretrained) and not origin.key:
        return StoredReference(**spec, digest="", checkpoint=origin.checkpoint)
    if parameter.requires_grad or not isinstance(origin, Seeded | Pretrained):
        return StoredTensor(**spec, digest="")
    if parameter.dtype not in (torch.float32, torch.float64):
        spec["dtype"] = str(parameter.dtype)  # which rounds what is drawn
    if isinstance(origin, Seeded):
        drawn = origin.draw(parameter.shape, dtype=parameter.dtype)
        if tensor_digest(parameter) == tensor_digest(drawn.to(parameter.dtype)):
            spec |= {
                name: getattr(origin, name) for name in ("seed", "stream", "blocks", "zero_row", "transposed")
            }
            return StoredSeed(
                **spec, digest=tensor_digest(drawn), initialisation=origin.initialisation.to_json()
            )
        where = f"drawn from seed {origin.seed}"
    else:
        if origin.digest == tensor_digest(parameter):
            here = Path(origin.checkpoint.rpartition("@")[0], "config.json").is_file()
            if whole or (whole is None and not here):
                return StoredReference(**spec | {"dtype": None}, digest="", checkpoint=origin.checkpoint)
            return StoredReference(**spec, digest=origin.digest, checkpoint=origin.checkpoint, key=origin.key)
        where = f"of {origin.checkpoint}"
    raise WeightsError(
        f"{item.path} is said to be {where}, but is not what that gives. An optimiser that was made before freeze goes"
        " on moving what has momentum or weight decay: make it afterwards, of the parameters that move. What was to be"
        " trained before it was frozen: let it move, call reservoir.mark_trained(model), freeze it again"
    )


# ---- reading ---------------------------------------------------------------------------------------------------------


def load(model: nn.Module, path: Path | str, *, base: Path | str | None = None) -> nn.Module:
    """Fill a module with what `save` wrote, to the same bits, and return it in eval mode.

    Args:
        model: built by its own code, as the stored one was; what it holds, masks included, is replaced.
        path: the file.
        base: the folder that frozen tensors are taken from, unless the model holds them already, where it is no longer
            where the file says.

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
    stored = read_contents(Path(path))
    with _one_error(stored.path):
        parameters = {item.path: item.parameter for item in _weights(model)}
        for name, tensor in (parameters | state_buffers(model)).items():
            _check_storable(f"{stored.path}: {name} of the model", tensor)
        _check_fit(model, stored)
        _fill(model, stored, base=None if base is None else Path(base))
    return model.eval()


def load_model(
    stored: StoredModel,
    build: Callable[[], nn.Module],
    *,
    device: torch.device | str = "cpu",
    streamed: bool = False,
    largest: int = LARGEST,
) -> nn.Module:
    """Build a model and fill it with what `model_bytes` wrote, bit for bit; it is in eval mode.

    Whether the file fits the model is checked on the meta device, before memory is taken for either.

    Args:
        stored: what the file says (`read_contents`).
        build: makes the model; called on the meta device first.
        device: where to put the model.
        streamed: make drawn weights while they are used, instead of once and for all (`reservoir.weights.streaming`):
            the weights have the same bits, and a product with them is summed in another order.
        largest: how many numbers the model may have.

    Raises:
        WeightsError: the file is missing, damaged or of another model, a tensor is not what its digest says, or the
            model has more than `largest` numbers.
    """
    with _one_error(stored.path), unmarked():  # every number is in the file, or drawn from what it says
        with torch.device("meta"):
            outline = build()
        size = sum(tensor.numel() for tensor in (*outline.parameters(), *outline.buffers()))
        if size > largest:
            raise WeightsError(
                f"{stored.path}: the model has {size:,} numbers, more than largest={largest:,}; give a larger one if"
                " you trust it"
            )
        _check_fit(outline, stored)
        model = build().to(device)
        _fill(model, stored, streamed=streamed)
    return (draw_lazily(model) if streamed else model).eval()


@contextmanager
def _one_error(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with a file into the error of a file of weights, which names it."""
    try:
        yield
    except WeightsError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}, {shortened(str(error), 200)}"
        raise WeightsError(f"{path} cannot be loaded: {what}") from error


def _check_fit(model: nn.Module, stored: StoredModel) -> None:
    """Refuse a file whose tensors do not have the names, shapes and types that the model needs."""
    path, contents, buffers = stored.path, stored.contents, state_buffers(model)
    items = {item.path: item.parameter for item in _weights(model)}
    names = {*items, *(BUFFER + name for name in buffers)}
    if odd := sorted(names ^ {*contents.parameters, *(BUFFER + name for name in contents.buffers)}):
        where = _prefix(set(items), set(contents.parameters))
        raise WeightsError(f"{path}: {shortened(odd[0])} is not in both the model and the file{where}")
    wanted = {BUFFER + name: (tuple(buffer.shape), buffer.dtype) for name, buffer in buffers.items()}
    for name, parameter in items.items():
        spec, shape, dtype = contents.parameters[name], tuple(parameter.shape), parameter.dtype
        if spec.shape != shape:
            raise WeightsError(f"{path} has {spec.shape} for {name}, not {shape}")
        if not isinstance(spec, StoredSeed) and not _base(spec):
            wanted[name] = shape, dtype
        elif (kind := spec.dtype or "torch.float32") != str(dtype) and (spec.dtype or dtype != torch.float64):
            raise WeightsError(f"{path} has {kind} for {name}, not {dtype}: build it, then .to({kind})")
    masked = {item.path: tuple(item.parameter.shape) for item in places(model)} if contents.masks else {}
    for name, mask in contents.masks.items():
        wanted[name] = (-(-math.prod(mask.shape) // 8),), torch.uint8
        for under in mask.modules:
            if masked.get(under) != mask.shape:
                raise WeightsError(f"{path}: {shortened(name)} is no mask of {shortened(under)}")
    for name, (shape, dtype) in wanted.items():
        if (info := stored.tensors.get(name)) is None or info.shape != shape:
            found = "nothing" if info is None else f"{info.dtype} of {info.shape}"
            raise WeightsError(f"{path} has {found} for {name}, not {shape}")
        if not _holds(dtype, numbers := _TYPES.get(info.dtype)):
            raise WeightsError(f"{path} has {numbers} for {name}, not {dtype}: build it, then .to({numbers})")
    if unknown := sorted(stored.tensors.keys() - wanted.keys()):
        raise WeightsError(
            f"{path} has a tensor {shortened(unknown[0])}, which its list of contents does not name"
        )


def _prefix(model: set[str], file: set[str]) -> str:
    """What to do where the names of one are those of the other behind a prefix, as a wrapper adds it."""
    for more, less, what, verb in ((model, file, "model", "load"), (file, model, "file", "save")):
        prefix = min(more, default="").removesuffix(min(less, default=""))
        if prefix and {prefix + name for name in less} == more:
            return f"; all names of the {what} begin with {prefix!r}: {verb} the module inside, model.{prefix[:-1]}"
    return ""


def _holds(dtype: torch.dtype, stored: torch.dtype | None) -> bool:
    """Whether each number of the stored type is one of the other: the same type, or a wider one of floats."""
    if stored is None or dtype == stored or not (dtype.is_floating_point and stored.is_floating_point):
        return dtype == stored
    return torch.finfo(stored).bits > 8 and torch.promote_types(dtype, stored) == dtype


@torch.no_grad()
def _fill(model: nn.Module, stored: StoredModel, *, base: Path | None = None, streamed: bool = False) -> None:
    """Draw what is drawn, copy the rest, and put the file's masks in the places of those that are there."""
    path, contents = stored.path, stored.contents
    for item in places(model):
        item.put(None)
    tensors = read_safetensors(path)[0] | _of_bases(model, stored, base)

    def checked(name: str, wanted: str, of: str = "") -> Tensor:
        if name not in tensors or tensor_digest(tensors[name]) != wanted:
            problem = (
                f"is not in the base as it was in {of}" if of else "is damaged: its digest does not match"
            )
            raise WeightsError(f"{path}: {name} {problem}")
        return tensors[name]

    for item in owned(model):  # without scores, since no mask is left
        spec = contents.parameters[item.path]
        item.parameter.requires_grad_(spec.moves)
        set_origin(item, spec.origin)
        if not isinstance(spec, StoredSeed):
            item.parameter.copy_(checked(item.path, spec.digest, _base(spec)))
            continue
        drawn = spec.origin.draw(item.parameter.shape, dtype=item.parameter.dtype)
        if tensor_digest(drawn) != spec.digest:
            raise WeightsError(
                f"{path}: {item.path}, drawn from seed {spec.seed}, is not what its digest says"
            )
        if not (streamed and streamable(item)):
            item.parameter.copy_(drawn)
    for name, buffer in state_buffers(model).items():
        buffer.copy_(checked(BUFFER + name, contents.buffers[name]))
    made: dict[str, FixedMask] = {}
    for name, mask in contents.masks.items():
        bits = unpack(checked(name, mask.digest), 0, math.prod(mask.shape))
        fixed = FixedMask(bits.view(mask.shape), stream=name.removesuffix(".mask"))
        made |= dict.fromkeys(mask.modules, fixed)
    for item in places(model) if made else ():
        if item.path in made:
            item.put(made[item.path].to(item.parameter.device))
    # Said last, since a tensor's own digest says more.
    if stored.metadata.get("digest") != _signature(stored.metadata):
        raise WeightsError(f"{path}: its list of contents is damaged: its digest does not match")


def _base(spec: StoredTensor) -> str:
    """The checkpoint that holds a parameter's numbers in place of the file, or nothing."""
    return spec.checkpoint if isinstance(spec, StoredReference) and spec.key else ""


def _of_bases(model: nn.Module, stored: StoredModel, base: Path | None) -> dict[str, Tensor]:
    """The tensors that a file refers to, by their names in the model: what it holds of them, and the base's others."""
    found: dict[str, Tensor] = {}
    names: dict[Path, dict[str, list[str]]] = {}
    for item in owned(model):
        spec = stored.contents.parameters[item.path]
        if not isinstance(spec, StoredReference) or not spec.key:
            continue
        if tensor_digest(item.parameter) == spec.digest:
            found[item.path] = item.parameter
        else:
            folder = base or Path(spec.checkpoint.rpartition("@")[0])
            names.setdefault(folder, {}).setdefault(spec.key, []).append(item.path)
    for folder, keys in names.items():
        try:
            files = base_files(folder)
        except WeightsError as error:
            raise WeightsError(
                f"{stored.path} refers to a base: {error}; give its folder as base=…, or, of a run's file, export"
                " the run instead"
            ) from error
        for file in files:
            for key, tensor in read_safetensors(file, only=keys)[0].items():
                found |= dict.fromkeys(keys[key], tensor)
    return found
