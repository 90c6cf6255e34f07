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

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from reservoir.weights.generator import Stream, checked_seed
from reservoir.weights.initialisation import Constant, Initialisation, Normal, XavierUniform
from reservoir.weights.naming import KEPT, Names, Owned, Where, bare, chosen, explicit, matches, owned

OriginName = Literal["trained", "seeded", "masked", "pretrained", "fixed"]
ORIGIN_NAMES: tuple[OriginName, ...] = get_args(OriginName)
"""What people read: the names in reports, records and figures, in Python and in JavaScript."""


@dataclass(frozen=True)
class Trained:
    """A tensor that gradient descent moves, or has moved: all of it must be stored."""

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

    def draw(self, shape: torch.Size, *, device: torch.device | str | None = None) -> Tensor:
        """The tensor of that shape, fp32, the same bits every time and on every device."""
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


def moves(item: Owned) -> bool:
    """Whether training changes a parameter."""
    return item.parameter.requires_grad


def origin_of(item: Owned) -> Origin | None:
    """Where a parameter comes from, as things stand; None if it was never initialised.

    What moves is trained, since a checkpoint must hold it, whatever it started as. What a mask chooses among is
    `Masked`, around the origin of the weights underneath. A frozen constant or identity is `Fixed`.
    """
    origin = recorded_origin(item)
    if origin is None:
        return None
    under: Trained | Seeded | Pretrained | Fixed = Trained() if moves(item) else origin
    if isinstance(under, Seeded) and not under.initialisation.random:
        under = Fixed(under.initialisation)
    return Masked(under) if item.mask is not None else under


def recorded_origin(item: Owned) -> Trained | Seeded | Pretrained | None:
    """What the last initialisation, training or loading left in a parameter; None if nothing did.

    A tensor that was drawn or loaded and is about to be trained is still `Seeded` or `Pretrained` here.
    """
    return item.module.__dict__.get(KEPT, {}).get(item.attribute, (None, None))[1]


def set_origin(item: Owned, origin: Trained | Seeded | Pretrained) -> None:
    """Record what was put into a parameter, and the name that it has."""
    item.module.__dict__.setdefault(KEPT, {})[item.attribute] = (item.stream, origin)


def mark_trained(model: nn.Module) -> None:
    """Record that every parameter that moves is trained from here on, whatever it was before."""
    for item in owned(model):
        if item.parameter.requires_grad:
            set_origin(item, Trained())


NAMED = re.compile(
    r"token|pos(ition)?_?emb"
)  # parameters that a model keeps in itself: a class token, positions
PACKED = ("qkv", "c_attn", "query_key_value", "Wqkv")  # linear maps that are queries, keys and values in one
GATES = {nn.LSTM: 4, nn.GRU: 3, nn.LSTMCell: 4, nn.GRUCell: 3}


@dataclass(frozen=True)
class Scheme:
    """Which initialisation each tensor gets.

    The defaults are fairseq's for translation: Xavier-uniform for linear maps, convolutions and recurrent layers, with
    a gain of 1/√2 for packed queries, keys and values, and normal with variance 1/d_model for embeddings, class tokens
    and learned positions. Biases start at 0, the weights of norms at 1.

    Args:
        rules: (pattern, initialisation) pairs. The first pattern that matches a tensor's name decides; `*` stands
            for anything, as in "encoder.1.*".
        linear: for linear maps that no rule names.
        embedding: for embeddings that no rule names; None is Normal(d_model ** -0.5).
    """

    rules: tuple[tuple[str, Initialisation], ...] = (
        ("*.qkv", XavierUniform(gain=2**-0.5)),
        ("*.query", XavierUniform(gain=2**-0.5)),
        ("*.kv", XavierUniform(gain=2**-0.5)),
        ("*.attention.queries_keys", XavierUniform(gain=2**-0.5)),
        ("*.attention.values", XavierUniform(gain=2**-0.5)),
    )
    linear: Initialisation = field(default_factory=XavierUniform)
    embedding: Initialisation | None = None

    def choose(self, item: Owned) -> Initialisation:
        """The initialisation of one parameter; a module may name its own, in a dictionary `initialisations`.

        Raises:
            ValueError: there is no rule for such a tensor.
        """
        own = getattr(item.module, "initialisations", {})
        if isinstance(own, Mapping) and item.attribute in own:
            return own[item.attribute]
        for pattern, initialisation in self.rules:
            if matches(item, pattern):
                return initialisation
        module, name, shape = item.module, item.attribute, item.parameter.shape
        if name in ("bias_k", "bias_v") and isinstance(
            module, nn.MultiheadAttention
        ):  # a learned key and value
            return Normal(shape[-1] ** -0.5)
        if "bias" in name and len(shape) == 1:
            return Constant(0.0)
        if is_norm(module) and name == "weight":
            return Constant(1.0)
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) or (len(shape) > 1 and NAMED.search(name)):
            return self.embedding or Normal(shape[-1] ** -0.5)
        if isinstance(module, nn.MultiheadAttention) and name == "in_proj_weight":
            return self.linear if self.linear != XavierUniform() else XavierUniform(gain=2**-0.5)
        if is_map(item) or isinstance(module, nn.RNNBase | nn.RNNCellBase):
            return self.linear
        raise ValueError(
            f"there is no rule to draw {item.path}, {tuple(shape)} of {type(module).__name__}: give one, such as"
            f" initialise(model, seed=…, rules={{{item.path!r}: Normal(0.02)}})"
        )


def is_norm(module: nn.Module) -> bool:
    """Whether a module normalises: one of torch's, or a class with "Norm" in its name, as transformers has them."""
    return (
        isinstance(module, nn.LayerNorm | nn.RMSNorm | nn.GroupNorm | _NormBase)
        or "Norm" in type(module).__name__
    )


def is_map(item: Owned) -> bool:
    """Whether a parameter is what a linear map or a convolution multiplies with, packed projections included."""
    module, name = item.module, item.attribute
    if isinstance(module, nn.MultiheadAttention):
        return name.endswith("proj_weight")
    return name == "weight" and (isinstance(module, nn.Linear | _ConvNd) or is_turned(module))


def is_turned(module: nn.Module) -> bool:
    """Whether a module is transformers' `Conv1D`, a linear map that keeps its matrix with the inputs first."""
    return type(module).__name__.removeprefix("Parametrized") == "Conv1D" and hasattr(module, "nf")


def drawn_origin(item: Owned, *, seed: int, scheme: Scheme) -> Seeded:
    """What a parameter is before training.

    Raises:
        ValueError: the scheme has no rule for it.
    """
    return Seeded(
        seed,
        item.stream,
        scheme.choose(item),
        blocks=_blocks(item),
        zero_row=getattr(item.module, "padding_idx", None) if isinstance(item.module, nn.Embedding) else None,
        transposed=is_turned(item.module) and item.parameter.ndim == 2,
    )


def _blocks(item: Owned) -> int:
    """How many matrices are stacked along a tensor's rows."""
    module, name, shape = item.module, item.attribute, item.parameter.shape
    if explicit(module) is not None and isinstance(found := getattr(module, "blocks", 1), int):
        return found if name.startswith("weight") else 1
    if len(shape) < 2:
        return 1
    if isinstance(module, nn.RNNBase | nn.RNNCellBase) and "_hr" not in name:
        return next((gates for kind, gates in GATES.items() if isinstance(module, kind)), 1)
    fan_in, fan_out = shape if is_turned(module) else shape[1::-1]
    packed = name == "in_proj_weight" or item.path.removesuffix(".weight").rpartition(".")[2] in PACKED
    return 3 if packed and fan_out == 3 * fan_in else 1


@torch.no_grad()
def draw_into(item: Owned, origin: Seeded) -> None:
    """Draw a parameter in place, and record where it comes from."""
    item.parameter.copy_(origin.draw(item.parameter.shape, device=item.parameter.device))
    set_origin(item, origin)


def initialise(
    model: nn.Module,
    *,
    seed: int,
    scheme: Scheme | None = None,
    rules: Mapping[str, Initialisation] | None = None,
    layers: Names | None = None,
    patterns: Names | None = None,
    where: Where | None = None,
) -> nn.Module:
    """Draw the parameters of any module from the seed, record where they came from, and return the module.

    Each tensor is drawn from a stream of its own, called by its explicit name or else by its path in the bare module:
    what it gets depends on no other tensor. The running statistics of batch normalisation begin anew.

    Args:
        model: any module.
        seed: one number for the whole model, an integer in [0, 2**64).
        scheme: which initialisation goes where. By default `Scheme()`; for a model of transformers, linear maps and
            embeddings are normal with its configuration's `initializer_range`.
        rules: pattern → initialisation, for tensors that should get another one or that the scheme does not know.
        layers, patterns, where: what to draw, as in `freeze`; everything if none is given, nothing if what is
            given is empty.

    Raises:
        ValueError: the seed is out of range, two parameters have the same name, or there is no rule for one. Nothing
            was drawn then.
    """
    spread = getattr(getattr(bare(model), "config", None), "initializer_range", None)
    if scheme is None:
        like = Normal(spread) if isinstance(spread, float) else None
        scheme = Scheme() if like is None else Scheme(linear=like, embedding=like)
    scheme = replace(scheme, rules=(*(rules or {}).items(), *scheme.rules))
    items = chosen(list(owned(model)), layers=layers, patterns=patterns, where=where)
    items = [item._replace(stream=item.path) for item in items]
    for item, origin in [(item, drawn_origin(item, seed=seed, scheme=scheme)) for item in items]:
        draw_into(item, origin)
        if isinstance(item.module, _NormBase):
            item.module.reset_running_stats()
    return model


@contextmanager
def redrawn(model: nn.Module, layer: str, *, seed: int, scheme: Scheme | None = None) -> Iterator[nn.Module]:
    """Within the context, one layer of the model is redrawn from a seed; afterwards it is restored.

    With the model's own seed, the layer returns to its initial draw, which Zhang et al. call re-initialisation; with
    any other seed it is a new draw, their re-randomisation. A parameter that is still as a seed drew it, such as a
    frozen orthogonal map or a weight under a mask, is drawn from the initialisation that it has. Training leaves no
    record of that, so what was trained is drawn by `Scheme()`: give the scheme that the model was initialised by, if
    it was another.

    Args:
        model: any initialised model.
        layer: stream name of the layer, such as "encoder.2"; its norms and biases are redrawn too.
        seed: the seed to draw from.
        scheme: the initialisation of every parameter of the layer, as for `initialise`, whatever is recorded.

    Raises:
        ValueError: the model has no such layer.
    """
    items = [item for item in owned(model) if item.path.startswith(f"{layer}.")]
    if not items:
        known = sorted({".".join(item.path.split(".")[:2]) for item in owned(model)})
        raise ValueError(f"layer must be a stream name such as {', '.join(known[:3])}, got {layer!r}")
    kept = [item.parameter.detach().clone() for item in items]
    try:
        with torch.no_grad():
            for item in items:
                origin = recorded_origin(item)
                if scheme is None and isinstance(origin, Seeded):
                    origin = replace(origin, seed=seed)
                else:
                    origin = drawn_origin(item, seed=seed, scheme=scheme or Scheme())
                item.parameter.copy_(origin.draw(item.parameter.shape, device=item.parameter.device))
        yield model
    finally:
        with torch.no_grad():
            for item, tensor in zip(items, kept, strict=True):
                item.parameter.copy_(tensor)
