"""Where a weight comes from: drawn from a seed, trained, or taken from a checkpoint. Every tensor has one origin.

The origin is kept beside the tensor, in the module that owns it, under the tensor's stream name. Names of modules
and attributes play no part, so code can be rearranged without changing a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from reservoir.weights.generator import Stream
from reservoir.weights.initialisation import Constant, Initialisation, Normal, XavierUniform


@dataclass(frozen=True)
class Seeded:
    """A tensor that is nothing but a seed, a stream name, a shape and an initialisation.

    Args:
        seed, stream: which random numbers.
        initialisation: what is made of them.
        blocks: how many matrices are stacked along the rows (see `reservoir.layers.Linear`).
        zero_row: the row of an embedding that stands for padding and is zero, or None.
    """

    seed: int
    stream: str
    initialisation: Initialisation
    blocks: int = 1
    zero_row: int | None = None

    def draw(self, shape: torch.Size, *, device: torch.device | str | None = None) -> Tensor:
        """The tensor, fp32, the same bits every time and everywhere."""
        tensor = self.initialisation.draw(
            Stream(self.seed, self.stream), shape, blocks=self.blocks, device=device
        )
        if self.zero_row is not None and not tensor.is_meta:
            tensor[self.zero_row] = 0.0
        return tensor


@dataclass(frozen=True)
class Trained:
    """A tensor that gradient descent has moved."""


@dataclass(frozen=True)
class Pretrained:
    """A tensor taken from a checkpoint that is referred to by name."""

    checkpoint: str


Origin = Seeded | Trained | Pretrained
OriginName = Literal["seed", "trained", "pretrained"]
NAMES: dict[type, OriginName] = {Seeded: "seed", Trained: "trained", Pretrained: "pretrained"}


class Owned(NamedTuple):
    """A parameter, the module that owns it, its name there, and its stream name."""

    stream: str
    module: nn.Module
    attribute: str
    parameter: nn.Parameter


def owned(model: nn.Module) -> Iterator[Owned]:
    """Every parameter once, by stream name: a weight has its module's, a bias that and ".bias".

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
                    f"{path or type(model).__name__}.{attribute} has no stream name:"
                    f" make it with reservoir.layers, or give its module a `stream`"
                )
            stream = base if attribute == "weight" else f"{base}.{attribute}"
            if stream in names:
                raise ValueError(
                    f"two parameters are named {stream!r}; {path}.{attribute} needs a name of its own"
                )
            names.add(stream)
            yield Owned(stream, module, attribute, parameter)


def origin_of(item: Owned) -> Origin | None:
    """The origin that was recorded for a parameter, None if it was never initialised."""
    return item.module.__dict__.get("origins", {}).get(item.attribute)


def set_origin(item: Owned, origin: Origin) -> None:
    """Record where a parameter comes from."""
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
        blocks=item.module.blocks if item.attribute.startswith("weight") else 1,
        zero_row=getattr(item.module, "padding_idx", None),
    )


@torch.no_grad()
def initialise(model: nn.Module, *, seed: int, scheme: Scheme | None = None) -> nn.Module:
    """Draw every parameter of `model` from its stream, record where it came from, and return the model.

    Args:
        model: made of `reservoir.layers`.
        seed: one number for the whole model, in [0, 2**64).
        scheme: which initialisation goes where.
    """
    scheme = scheme or Scheme()
    for item in owned(model):
        origin = drawn_origin(item, seed=seed, scheme=scheme)
        item.parameter.copy_(origin.draw(item.parameter.shape, device=item.parameter.device))
        set_origin(item, origin)
    return model
