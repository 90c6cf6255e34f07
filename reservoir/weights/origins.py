"""Where a weight comes from: one of five origins, which every tensor of a model has.

| origin     | does it move?    | what a checkpoint keeps                          |
|------------|------------------|--------------------------------------------------|
| trained    | yes              | the tensor                                       |
| seeded     | no               | nothing: seed, name, shape and initialisation    |
| masked     | only its scores  | one bit per weight, and what the weights need    |
| pretrained | no               | nothing: a reference to the checkpoint           |
| fixed      | no               | nothing: a constant, an identity or a transform  |

Reports, costs, storage and the colours of figures are derived from `origin_of` and the names in `ORIGIN_NAMES`; nothing
else decides where a weight comes from. What initialisation or loading did is recorded in the module that owns the
tensor; names of modules and attributes play no part, so code can be rearranged without changing a model.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.utils.parametrize import ParametrizationList

from reservoir.layers.linear import Undrawn
from reservoir.weights import naming
from reservoir.weights.draws import Stream, checked_seed, name_hash
from reservoir.weights.files import WeightsError, digest, read_safetensors, tensor_digest
from reservoir.weights.initialisation import Constant, Initialisation, Normal, Orthogonal, XavierUniform
from reservoir.weights.naming import RECORDED, Names, Owned, bare, chosen, explicit, matches, nearest, owned

Device = torch.device | str | None
OriginName = Literal["trained", "seeded", "masked", "pretrained", "fixed"]
ORIGIN_NAMES: tuple[OriginName, ...] = get_args(OriginName)
"""What people read: the names in reports, records and figures, in Python and in JavaScript."""


@dataclass(frozen=True)
class Trained:
    """A tensor that gradient descent moves, or has moved, or that only its owner's code makes: all of it is stored."""

    name: ClassVar[OriginName] = "trained"


@dataclass(frozen=True)
class Seeded:
    """A tensor that is nothing but a seed, a stream name, a shape and an initialisation.

    Args:
        seed, stream: which random numbers; the seed is in [0, 2**64).
        initialisation: what is made of them.
        blocks: how many matrices are stacked along the rows (see `reservoir.layers.Linear`).
        zero_row: the row of an embedding that stands for padding and is zero, or None.
        transposed: whether the matrix is kept with its inputs first, (fan_in, fan_out), as transformers' `Conv1D` does.

    Raises:
        ValueError: the seed is not an integer in [0, 2**64).
    """

    name: ClassVar[OriginName] = "seeded"
    seed: int
    stream: str
    initialisation: Initialisation
    blocks: int = 1
    zero_row: int | None = None
    transposed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", checked_seed(self.seed))

    def draw(self, shape: torch.Size, *, device: Device = None, dtype: torch.dtype = torch.float32) -> Tensor:
        """The tensor of that shape, fp32, the same bits every time and on every device.

        For a complex `dtype` it is complex64, its imaginary part from the stream "<name>/imaginary"; what is random is
        √½ as large in both, so that the mean square of the numbers is that of real ones.
        """
        if dtype.is_complex:
            if isinstance(self.initialisation, Orthogonal):
                raise ValueError(
                    f"{self.stream} is complex, which Orthogonal() is not; Normal(0.02) would do"
                )
            real = self.draw(shape, device=device)
            imaginary = replace(self, stream=f"{self.stream}/imaginary").draw(shape, device=device)
            scales = (0.5**0.5, 0.5**0.5) if self.initialisation.random else (1.0, 0.0)
            return torch.complex(real * scales[0], imaginary * scales[1])
        shape = torch.Size(shape[::-1]) if self.transposed else shape
        tensor = self.initialisation.draw(
            Stream(self.seed, self.stream), shape, blocks=self.blocks, device=device
        )
        if self.transposed:
            return tensor.T.contiguous()
        if self.zero_row is not None and not tensor.is_meta:
            tensor[self.zero_row] = 0.0
        return tensor


@dataclass(frozen=True)
class Pretrained:
    """A tensor taken from a checkpoint.

    Args:
        checkpoint: where it is from; of a folder, "folder@digest".
        key: what the tensor is called in the folder's files: a stored model then refers to it, and does not hold it.
        digest: of the tensor, if there is a key.
    """

    name: ClassVar[OriginName] = "pretrained"
    checkpoint: str
    key: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Fixed:
    """A frozen tensor without any randomness, such as an identity map or a bias of zeros.

    Args:
        initialisation: what it is. Fourier transforms have no tensor at all; a report names them next to the tensors.
    """

    name: ClassVar[OriginName] = "fixed"
    initialisation: Initialisation


@dataclass(frozen=True)
class Masked:
    """A tensor of which a mask lets only some weights take part.

    Args:
        under: where the weights themselves come from. They are seeded, pretrained or fixed under a supermask, whose
            scores move in their place, and trained where a mask has pruned what is left.
    """

    name: ClassVar[OriginName] = "masked"
    under: Trained | Seeded | Pretrained | Fixed


Origin = Trained | Seeded | Pretrained | Fixed | Masked
"""Where a tensor comes from: one of five."""


def origin_of(item: Owned) -> Origin | None:
    """Where a parameter comes from, as things stand; None if it was never initialised.

    What moves is trained, since a checkpoint must hold it, whatever it started as. What a mask chooses among is
    `Masked`, around the origin of the weights underneath. A frozen constant or identity is `Fixed`.
    """
    origin = recorded_origin(item)
    if origin is None:
        return None
    under: Trained | Seeded | Pretrained | Fixed = Trained() if item.parameter.requires_grad else origin
    if isinstance(under, Seeded) and not under.initialisation.random:
        under = Fixed(under.initialisation)
    return Masked(under) if item.mask is not None else under


def recorded_origin(item: Owned) -> Trained | Seeded | Pretrained | None:
    """What the last initialisation, training or loading left in a parameter; None if nothing did.

    A tensor that was drawn or loaded and is about to be trained is still `Seeded` or `Pretrained` here.
    """
    recorded = item.module.__dict__.get(RECORDED, {})
    # What only another parametrization makes, such as the lengths of weight_norm, is stored.
    made = Trained() if recorded and isinstance(item.module, ParametrizationList) else None
    return recorded.get(item.attribute, (None, made))[1]


def set_origin(item: Owned, origin: Trained | Seeded | Pretrained) -> None:
    """Record what was put into a parameter, and the name that it has."""
    item.module.__dict__.setdefault(RECORDED, {})[item.attribute] = (item.stream, origin)


def mark_trained(model: nn.Module) -> None:
    """Record that every parameter that moves is trained from here on, whatever it was before."""
    for item in owned(model):
        if item.parameter.requires_grad:
            set_origin(item, Trained())


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
        keys |= {tensor_digest(tensor): key for key, tensor in read_safetensors(file)[0].items()}
    checkpoint = f"{folder}@{digest(' '.join(sorted(keys)).encode())}"
    found = [(item, known) for item in owned(model) if (known := tensor_digest(item.parameter)) in keys]
    if not found:
        raise WeightsError(
            f"no parameter of the model is a tensor of {folder}: load it first, with from_pretrained(folder) of"
            " transformers, in the type that the folder has"
        )
    for item, known in found:
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


NAMED = re.compile(r"token|pos(ition)?_?emb")
"""What a model keeps in itself: a class token, positions."""
PACKED = ("qkv", "c_attn", "query_key_value", "Wqkv")  # linear maps that are queries, keys and values in one
PACKED_DRAW = XavierUniform(gain=2**-0.5)  # of such maps, as fairseq draws them
NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, _NormBase)
MAPS = (nn.Linear, nn.Bilinear, _ConvNd)
TABLES = (nn.Embedding, nn.EmbeddingBag)
RECURRENT = (nn.RNNBase, nn.RNNCellBase)
KNOWN = (*NORMS, *MAPS, *TABLES, *RECURRENT, nn.MultiheadAttention)
"""The layers of torch that a scheme has rules for. About all others, and about classes that derive from these and start
in a way of their own, the owner is asked."""
GATES = {nn.LSTM: 4, nn.GRU: 3, nn.LSTMCell: 4, nn.GRUCell: 3}


@dataclass(frozen=True)
class Scheme:
    """Which initialisation each tensor gets.

    The defaults are fairseq's for translation: Xavier-uniform for linear maps, convolutions and recurrent layers, with
    a gain of 1/√2 for packed queries, keys and values, and normal with variance 1/d_model for embeddings, class tokens
    and learned positions. Biases of torch's layers start at 0, the weights of torch's norms at 1.

    Args:
        rules: (pattern, initialisation) pairs. The first pattern that matches a tensor's name decides; `*` stands
            for anything, as in "encoder.1.*".
        linear: for linear maps that no rule names.
        embedding: for embeddings that no rule names; None is Normal(d_model ** -0.5).
    """

    rules: tuple[tuple[str, Initialisation], ...] = tuple(
        (pattern, PACKED_DRAW)
        for pattern in ("*.qkv", "*.query", "*.kv", "*.attention.queries_keys", "*.attention.values")
    )
    linear: Initialisation = field(default_factory=XavierUniform)
    embedding: Initialisation | None = None

    def choose(self, item: Owned) -> Initialisation:
        """The initialisation of one parameter.

        Raises:
            ValueError: there is no rule for such a tensor.
        """
        if found := self.named(item) or self.usual(item):
            return found
        now = constant(item.parameter)
        raise ValueError(
            f"there is no rule to draw {item.path}, {tuple(item.parameter.shape)} of {type(item.module).__name__}: give"
            f" one, such as initialise(model, seed=…, rules={{{item.path!r}: Normal(0.02)}}), of"
            " reservoir.weights.initialisation"
            + ("" if now is None else f"; {{{item.path!r}: Constant({now:.9g})}} keeps what it is now")
        )

    def named(self, item: Owned) -> Initialisation | None:
        """What the module names itself, in a dictionary `initialisations`, or the first rule that matches."""
        own = getattr(item.module, "initialisations", {})
        if isinstance(own, Mapping) and item.attribute in own:
            return own[item.attribute]
        return next((found for pattern, found in self.rules if matches(item, pattern)), None)

    def usual(self, item: Owned) -> Initialisation | None:
        """What tensors of such a layer get that nobody has named; None for a layer that is none of torch's."""
        module, name, shape = item.module, item.attribute, item.parameter.shape
        known = is_known(module) or explicit(module) is not None
        if isinstance(module, nn.MultiheadAttention) and name in ("bias_k", "bias_v"):
            return Normal(shape[-1] ** -0.5)  # a learned key and value
        if known and "bias" in name and len(shape) == 1:
            return Constant(0.0)
        if known and isinstance(module, NORMS) and name == "weight":
            return Constant(1.0)
        if isinstance(module, TABLES) or (len(shape) > 1 and NAMED.search(name)):
            return self.embedding or Normal(shape[-1] ** -0.5)
        if isinstance(module, nn.MultiheadAttention) and name == "in_proj_weight":
            return self.linear if self.linear != XavierUniform() else PACKED_DRAW
        if is_map(item) or isinstance(module, RECURRENT):
            return self.linear
        return None


def is_known(module: nn.Module) -> bool:
    """Whether a module starts as one of torch's layers does: it is one, or is derived from one and resets like it."""
    reset = getattr(type(module), "reset_parameters", None)
    usual = getattr(reset, "__module__", "torch.nn").startswith("torch.nn") or isinstance(module, Undrawn)
    return (usual and isinstance(module, KNOWN)) or is_transposed(module)


def is_norm(module: nn.Module) -> bool:
    """Whether a module normalises or scales: one of torch's norms, or a module of others that owns vectors alone."""
    vectors = [parameter.ndim < 2 for _, parameter in naming.own_parameters(module)]
    return isinstance(module, NORMS) or (bool(vectors) and all(vectors) and not isinstance(module, KNOWN))


def constant(tensor: Tensor) -> float | None:
    """The number that stands everywhere in a tensor, if fp32 has it; None if there are several, or none yet."""
    flat = tensor.detach().reshape(-1)
    if flat.is_meta or not flat.numel() or flat.is_complex() or float(flat[0]) != float(flat[0].float()):
        return None
    return float(flat[0]) if bool((flat[:64] == flat[0]).all()) and bool((flat == flat[0]).all()) else None


def is_map(item: Owned) -> bool:
    """Whether a parameter is what a linear map or a convolution multiplies with, packed projections included."""
    module, name = item.module, item.attribute
    if isinstance(module, nn.MultiheadAttention):
        return name.endswith("proj_weight")
    return name == "weight" and (isinstance(module, MAPS) or is_transposed(module))


def is_transposed(module: nn.Module) -> bool:
    """Whether a module is transformers' `Conv1D`, a linear map that keeps its matrix with the inputs first."""
    return type(module).__name__.removeprefix("Parametrized") == "Conv1D" and hasattr(module, "nf")


def _blocks(item: Owned) -> int:
    """How many matrices are stacked along a tensor's rows."""
    module, name, shape = item.module, item.attribute, item.parameter.shape
    if explicit(module) is not None and isinstance(found := getattr(module, "blocks", 1), int):
        return found if name.startswith("weight") else 1
    if len(shape) < 2:
        return 1
    if isinstance(module, RECURRENT) and "_hr" not in name:
        return next((gates for kind, gates in GATES.items() if isinstance(module, kind)), 1)
    fan_in, fan_out = shape if is_transposed(module) else shape[1::-1]
    packed = name == "in_proj_weight" or item.path.removesuffix(".weight").rpartition(".")[2] in PACKED
    return 3 if packed and fan_out == 3 * fan_in else 1


@torch.no_grad()
def draw_into(item: Owned, origin: Seeded) -> None:
    """Draw a parameter in place, and record where it comes from."""
    weight = item.parameter
    weight.copy_(origin.draw(weight.shape, device=weight.device, dtype=weight.dtype))
    set_origin(item, origin)


@torch.no_grad()
def ask_owners(model: nn.Module, seed: int) -> Iterator[dict[str, Tensor]]:
    """What the code of others sets each parameter to, by name, under two seeds; NaN where it says nothing.

    Asked are `reset_parameters` of each module that is none of torch's layers, and `_init_weights(module)` of the model
    around it, as transformers, nanoGPT and timm have it; from the inside out, on a copy, under torch's own generator.

    Raises:
        ValueError: the code of others raises something.
    """

    def asking(module: nn.Module, owner: Callable | None) -> Iterator[tuple[nn.Module, Callable | None]]:
        own = getattr(module, "_init_weights", None)
        if callable(own) and len(inspect.signature(own).parameters) > 0:
            owner = own
        for child in module.children():
            yield from asking(child, owner)
        yield module, owner

    def resets(module: nn.Module) -> bool:
        known = is_known(module) or isinstance(module, Undrawn)
        return not known and callable(getattr(module, "reset_parameters", None))

    model = bare(model)
    if not any(owner or resets(module) for module, owner in asking(model, None)):
        return
    copied = copy.deepcopy(model)
    meta = any(parameter.is_meta for parameter in copied.parameters())
    copied = copied.to_empty(device="cpu") if meta else copied.cpu()
    for module in copied.modules():
        if is_known(module):  # a container that resets its layers adds nothing to what they are
            module.__dict__["reset_parameters"] = lambda: None
    for number in (seed, seed + 1):
        for parameter in copied.parameters():
            if parameter.is_floating_point() or parameter.is_complex():
                parameter.fill_(torch.nan)
        with torch.random.fork_rng(devices=[]):
            for place, (module, owner) in enumerate(asking(copied, None)):
                torch.manual_seed(name_hash(f"{number}/{place}") >> 1)
                try:
                    if resets(module):
                        cast(Any, module).reset_parameters()
                    if owner:
                        owner(module)
                except Exception as error:
                    raise ValueError(
                        f"{type(module).__name__} could not be asked what its tensors start as ({error}): give"
                        " scheme=Scheme(), and rules for what it does not know"
                    ) from error
        yield {item.path: item.parameter.detach().clone() for item in owned(copied)}


def start_of(
    item: Owned, seed: int, scheme: Scheme, answers: Sequence[Tensor], ask: bool, filled: bool
) -> Seeded | Tensor:
    """What a parameter is before training: drawn by the scheme, a constant, or what its owner's code makes of it.

    Args:
        answers: what its owner sets it to under two seeds, if anything.
        ask: whether owners are asked about torch's layers too.
        filled: whether something has filled the memory already.

    Raises:
        ValueError: nobody knows, or it is zero where a draw would undo that.
    """
    path, parameter, known = item.path, item.parameter, is_known(item.module)
    if not (parameter.is_floating_point() or parameter.is_complex()):
        raise ValueError(
            f"{path} is {parameter.dtype}, which cannot be drawn: initialise the model, then convert it"
        )
    found = scheme.named(item)
    if found is None and explicit(item.module) is None and (ask or not known):
        found = scheme.usual(item)
        now = constant(parameter) if filled and parameter.numel() > 1 else None
        if answers and not answers[0].isnan().any():
            if torch.equal(*answers):
                value = constant(answers[0])
                found = None if value is None else Constant(value)
            elif parameter.ndim < 2:
                found = None
            elif found is None and isinstance(scheme.linear, Normal):  # which needs no fans
                found = scheme.linear
            if found is None:
                return answers[0]
        elif parameter.ndim == 1 and now is not None:
            found = Constant(now)
        if known and parameter.ndim > 1 and now == 0 and found is not None and found.random:
            alike = path if path.count(".") < 3 else "*." + ".".join(path.split(".")[-3:])
            raise ValueError(
                f"{path} is zero everywhere, as its owner wants it or as nothing has filled it yet: rules={{{alike!r}:"
                " Constant(0.0)}, of reservoir.weights.initialisation, keeps zeros, scheme=Scheme() draws every map"
            )
    return Seeded(
        seed,
        item.stream,
        found or scheme.choose(item),
        blocks=_blocks(item),
        zero_row=getattr(item.module, "padding_idx", None) if isinstance(item.module, nn.Embedding) else None,
        transposed=is_transposed(item.module) and parameter.ndim == 2,
    )


def initialise(
    model: nn.Module,
    *,
    seed: int,
    scheme: Scheme | None = None,
    rules: Mapping[str, Initialisation] | None = None,
    patterns: Names | None = None,
) -> nn.Module:
    """Draw the parameters of any module from the seed, record where they came from, and return the module.

    Each tensor is drawn from a stream of its own, called by its explicit name or else by its path in the bare module:
    what it gets depends on no other tensor. The running statistics of batch normalisation begin anew.

    What a scheme has no rule for is what its owner's code makes of it (`reset_parameters`, or `_init_weights` of the
    model around it), and so are the vectors of torch's layers where that code says what they start as, such as the
    weight of a norm. A constant is recorded as one. Anything else is drawn by torch's generator, from the seed, and is
    stored as a whole. Vectors that are constant already, and of which no code says more, are kept.

    Args:
        model: any module.
        seed: one number for the whole model, an integer in [0, 2**64).
        scheme: which initialisation goes where. By default `Scheme()`; for a model of transformers, linear maps and
            embeddings are normal with its configuration's `initializer_range`. A scheme that is given decides alone
            about torch's layers: their owners are not asked.
        rules: pattern → initialisation, for tensors that should get another one or that the scheme does not know.
        patterns: over names, says what to draw; everything if None, nothing if it is empty.

    Raises:
        ValueError: the seed is out of range, two parameters have the same name, a rule matches none, or there is no
            rule for one. Nothing was drawn then.
        TypeError: a rule is no initialisation.
    """
    spread = getattr(getattr(bare(model), "config", None), "initializer_range", None)
    ask = scheme is None
    if scheme is None:
        like = Normal(spread) if isinstance(spread, float) else None
        scheme = Scheme() if like is None else Scheme(linear=like, embedding=like)
    everything = list(owned(model))
    for pattern, rule in [*(rules or {}).items(), *(one for one in scheme.rules if one not in Scheme.rules)]:
        if not isinstance(rule, Initialisation):
            raise TypeError(
                f"the rule for {pattern!r} must be one of reservoir.weights.initialisation, such as Normal(0.02) or"
                f" KaimingUniform(), got {rule!r}"
            )
        if not any(matches(item, pattern) for item in everything):
            raise ValueError(nearest(pattern, everything, "parameter"))
    scheme = replace(scheme, rules=(*(rules or {}).items(), *scheme.rules))
    items = chosen(everything, patterns=patterns)
    items = [item._replace(stream=item.path) for item in items]
    others = any(not is_known(item.module) and explicit(item.module) is None for item in items)
    answers = list(ask_owners(model, checked_seed(seed))) if ask or others else []
    # Memory that nobody has filled, as after `to_empty`, is zero in all tensors, norms included.
    filled = any(constant(item.parameter) != 0 for item in everything)
    starts = [
        start_of(item, seed, scheme, [one[item.path] for one in answers], ask, filled) for item in items
    ]
    for item, start in zip(items, starts, strict=True):
        if isinstance(start, Seeded):
            draw_into(item, start)
        else:
            item.parameter.data.copy_(start)
            set_origin(item, Trained())
    for module in bare(model).modules() if patterns is None else [item.module for item in items]:
        if isinstance(module, _NormBase):
            module.reset_running_stats()
    return model
