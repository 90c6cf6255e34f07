"""Where a weight comes from: one of five origins, which every tensor of a model has.

| origin     | does it move?    | what a checkpoint keeps                          |
|------------|------------------|--------------------------------------------------|
| trained    | yes              | the tensor                                       |
| seeded     | no               | nothing: seed, name, shape and initialisation    |
| masked     | only its scores  | one bit a weight, beside what the weights need   |
| pretrained | no               | nothing: a reference to the checkpoint           |
| fixed      | no               | nothing: a constant, an identity or a transform  |

Reports, costs, storage and the colours of figures are derived from `origin_of` and the names in `ORIGIN_NAMES`; nothing
else decides where a weight comes from. What initialisation or loading did is recorded in the module that owns the
tensor; names of modules and attributes play no part, so code can be rearranged without changing a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import ClassVar, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from reservoir.weights.generator import Stream, checked_seed
from reservoir.weights.initialisation import Constant, Initialisation, Normal, XavierUniform

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

    Raises:
        ValueError: the seed is not an integer in [0, 2**64).
    """

    name: ClassVar[OriginName] = "seeded"
    seed: int
    stream: str
    initialisation: Initialisation
    blocks: int = 1
    zero_row: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", checked_seed(self.seed))

    def draw(self, shape: torch.Size, *, device: torch.device | str | None = None) -> Tensor:
        """The tensor of that shape, fp32, the same bits every time and on every device."""
        tensor = self.initialisation.draw(
            Stream(self.seed, self.stream), shape, blocks=self.blocks, device=device
        )
        if self.zero_row is not None and not tensor.is_meta:
            tensor[self.zero_row] = 0.0
        return tensor


@dataclass(frozen=True)
class Pretrained:
    """A tensor taken from a checkpoint, to which a stored model refers by name and digest."""

    name: ClassVar[OriginName] = "pretrained"
    checkpoint: str


@dataclass(frozen=True)
class Fixed:
    """A frozen tensor without any randomness, such as an identity map or a bias of zeros.

    Args:
        initialisation: what it is. Fourier transforms have no tensor at all; a report names them beside the tensors.
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


class Owned(NamedTuple):
    """A parameter, the module that owns it, its name there, and its stream name."""

    stream: str
    module: nn.Module
    attribute: str
    parameter: nn.Parameter


def owned(model: nn.Module) -> Iterator[Owned]:
    """Every parameter once, by stream name: a weight has its module's, a bias the same with ".bias" behind it.

    A tied parameter belongs to the first module that holds it.

    Raises:
        ValueError: a parameter has no stream name, or two have the same.
    """
    seen: set[int] = set()
    names: set[str] = set()
    for path, module in model.named_modules():
        for attribute, parameter in module.named_parameters(recurse=False):
            if id(parameter) in seen:
                continue
            seen.add(id(parameter))
            base = getattr(module, "stream", None)
            if base is None:
                raise ValueError(
                    f"{path or type(model).__name__}.{attribute} has no stream name: make it with"
                    " reservoir.layers, or set its module's attribute `stream` to a name of its own"
                )
            stream = base if attribute == "weight" else f"{base}.{attribute}"
            if stream in names:
                raise ValueError(
                    f"two parameters are named {stream!r}; {path}.{attribute} needs a name of its own"
                )
            names.add(stream)
            yield Owned(stream, module, attribute, parameter)


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
    masked = item.attribute == "weight" and isinstance(getattr(item.module, "mask", None), nn.Module)
    return Masked(under) if masked else under


def recorded_origin(item: Owned) -> Trained | Seeded | Pretrained | None:
    """What the last initialisation, training or loading left in a parameter; None if nothing did.

    A tensor that was drawn or loaded and is about to be trained is still `Seeded` or `Pretrained` here.
    """
    return item.module.__dict__.get("origins", {}).get(item.attribute)


def set_origin(item: Owned, origin: Trained | Seeded | Pretrained) -> None:
    """Record what was put into a parameter."""
    item.module.__dict__.setdefault("origins", {})[item.attribute] = origin


def mark_trained(model: nn.Module) -> None:
    """Record that every parameter that moves is trained from here on, whatever it was before."""
    for item in owned(model):
        if item.parameter.requires_grad:
            set_origin(item, Trained())


@dataclass(frozen=True)
class Scheme:
    """Which initialisation each tensor gets.

    The defaults are fairseq's for translation: Xavier-uniform for linear maps, with a gain of 1/√2 for queries,
    keys and values, and normal with variance 1/d_model for embeddings. Biases start at 0, norms at 1.

    Args:
        rules: (pattern, initialisation) pairs. The first pattern that matches a weight's stream name decides;
            `*` stands for anything, as in "encoder.1.*".
        linear: for linear maps that no rule names.
        embedding: for embeddings that no rule names; None is Normal(d_model ** -0.5).
    """

    rules: tuple[tuple[str, Initialisation], ...] = (
        ("*.qkv", XavierUniform(gain=2**-0.5)),
        ("*.query", XavierUniform(gain=2**-0.5)),
        ("*.kv", XavierUniform(gain=2**-0.5)),
    )
    linear: Initialisation = field(default_factory=XavierUniform)
    embedding: Initialisation | None = None

    def choose(self, item: Owned) -> Initialisation:
        """The initialisation of one parameter; a module may name its own, in a dictionary `initialisations`."""
        own = getattr(item.module, "initialisations", {}).get(item.attribute)
        if own is not None:
            return own
        if not item.attribute.startswith("weight"):  # a recurrent layer has several weights
            return Constant(0.0)
        if isinstance(item.module, nn.LayerNorm | nn.RMSNorm):
            return Constant(1.0)
        for pattern, initialisation in self.rules:
            if fnmatchcase(item.stream, pattern):
                return initialisation
        if isinstance(item.module, nn.Embedding):
            return self.embedding or Normal(item.parameter.shape[1] ** -0.5)
        return self.linear


def drawn_origin(item: Owned, *, seed: int, scheme: Scheme) -> Seeded:
    """What a parameter is before training."""
    return Seeded(
        seed,
        item.stream,
        scheme.choose(item),
        blocks=getattr(item.module, "blocks", 1) if item.attribute.startswith("weight") else 1,
        zero_row=getattr(item.module, "padding_idx", None),
    )


@torch.no_grad()
def draw_into(item: Owned, origin: Seeded) -> None:
    """Draw a parameter in place, and record where it comes from."""
    item.parameter.copy_(origin.draw(item.parameter.shape, device=item.parameter.device))
    set_origin(item, origin)


def initialise(model: nn.Module, *, seed: int, scheme: Scheme | None = None) -> nn.Module:
    """Draw every parameter of `model` from its stream, record where it came from, and return the model.

    Args:
        model: made of `reservoir.layers`, or of modules with a `stream` attribute that names their parameters.
        seed: one number for the whole model, an integer in [0, 2**64).
        scheme: which initialisation goes where.

    Raises:
        ValueError: the seed is out of range, a parameter has no stream name, or two have the same.
    """
    scheme = scheme or Scheme()
    for item in owned(model):
        draw_into(item, drawn_origin(item, seed=seed, scheme=scheme))
    return model
