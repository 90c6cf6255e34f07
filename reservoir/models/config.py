"""What all models share: checks of their configurations, sizes filled in, JSON, and methods known from transformers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from reservoir.layers.block import Activation
from reservoir.weights.files import shortened

TOKENS, WIDTH, DEPTH = 2**22, 2**17, 128
"""The largest vocabulary, width and depth that a configuration may name: beyond any model that is trained today, and
small enough that a damaged file cannot ask for more memory than there is before it is noticed."""
LIMITS = {
    **dict.fromkeys(
        ("vocab", "src_vocab", "tgt_vocab", "classes", "inputs", "outputs", "padding"), (0, TOKENS)
    ),
    **dict.fromkeys(("d_model", "d_ff", "d_encoder"), (1, WIDTH)),
    "rank": (1, WIDTH),
    **dict.fromkeys(("n_heads", "n_kv_heads", "kernel"), (1, 1024)),
    **dict.fromkeys(("layers", "encoder_layers"), (0, DEPTH)),
    "decoder_layers": (1, DEPTH),  # only there does a target see its source
    "max_length": (1, 2**20),
}
"""Smallest and largest value of each size, by the name of its field; 0 means that the data decides, or no layers."""


@dataclass(frozen=True)
class ModelConfig:
    """Base of all configurations: a frozen dataclass whose fields are checked when it is made.

    Raises:
        ValueError: a field has the wrong type or is out of its range; the message names it.
        TypeError: there is no such field.
    """

    def __post_init__(self) -> None:
        for name, hint in _hints(type(self)).items():
            _check(name, getattr(self, name), hint)
        d_model, n_heads = getattr(self, "d_model", 0), getattr(self, "n_heads", 1)
        if d_model % n_heads:
            raise ValueError(f"d_model must be a positive multiple of n_heads, got {d_model} and {n_heads}")

    def sized(self, vocab: int, classes: int = 0) -> Self:
        """Return the configuration with sizes of 0 filled in: those of what is read, and of what is answered."""
        sizes = dict.fromkeys(("vocab", "src_vocab", "tgt_vocab", "inputs"), vocab)
        sizes |= dict.fromkeys(("classes", "outputs"), classes)
        own = {name: getattr(self, name) for name in _hints(type(self)) if name in sizes}
        return replace(self, **{name: size or sizes[name] for name, size in own.items()})

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values; a configuration within this one also says its kind."""
        nested = {
            name: {"kind": type(value).__name__, **value.to_json()}
            for name in _hints(type(self))
            if isinstance(value := getattr(self, name), ModelConfig)
        }
        return asdict(self) | nested

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the configuration that `to_json` described; fields that are missing get their defaults.

        Raises:
            ValueError: the values are no mapping, or do not fit.
            TypeError: they name a field that there is not, or lack one that has no default.
        """
        if not isinstance(values, Mapping):
            raise ValueError(f"a configuration must be a mapping, got {type(values).__name__}")
        hints = _hints(cls)
        return cls(**{name: _from_json(name, value, hints.get(name)) for name, value in values.items()})


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(ModelConfig):
    """Sizes and choices of a transformer's layers.

    Args:
        d_model: width of the residual stream.
        n_heads: attention heads; divides d_model.
        d_ff: inner width of the feed-forward layers.
        norm_first: pre-LN if true, with one more norm at the end of each stack; post-LN if not.
        dropout: on the embeddings and on each sublayer's output.
        attention_dropout, activation_dropout: on attention weights and inside the feed-forward layers.
        activation: "relu", "gelu", or "gelu-tanh", GPT-2's approximation of it.
        positions: "sinusoidal" or "learned".
        max_length: number of learned positions, and of the tokens that transforms and matrices over tokens are made
            for: they take a shorter text as filled up with zeros. Sinusoidal positions and attention have no limit.
    """

    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    norm_first: bool = True
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: Activation = "relu"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 1024


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(TransformerConfig):
    """Sizes and choices of a model with a stack of encoder layers, which may be of several kinds.

    Args:
        padding: the id that fills up short texts.
        kernel: width of the convolutions' windows.
        layer_drop: chance with which an encoder layer is left out of a training step (Fan et al. 2020).
        share_layers: one layer, used at every depth (Dehghani et al. 2019, Lan et al. 2020).
        bare: norms without weights and biases, linear maps without biases.
    """

    padding: int = 0
    kernel: int = 7
    layer_drop: float = 0.0
    share_layers: bool = field(default=False, metadata={"omit_if_default": True})
    bare: bool = field(default=False, metadata={"omit_if_default": True})


def _read_hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {entry.name: hints[entry.name] for entry in fields(kind)}


_hints: Callable[[type], dict[str, Any]] = functools.cache(_read_hints)


def _check(name: str, value: Any, hint: Any) -> None:
    """Raise a ValueError that names the field unless the value is of its type and in its range."""
    if hint is int:
        low, high = LIMITS[name]
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{name} must be a whole number from {low} to {high:,}, got {shortened(value)}")
    elif hint is float:
        if type(value) not in (int, float) or not 0 <= value < 1:
            raise ValueError(f"{name} must be in [0, 1), got {shortened(value)}")
    elif get_origin(hint) is Literal:
        if not isinstance(value, str) or value not in get_args(hint):
            *others, last = map(repr, get_args(hint))
            raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {shortened(value)}")
    elif get_origin(hint) is tuple:
        if not isinstance(value, tuple) or len(value) > DEPTH or any(type(one) is not str for one in value):
            raise ValueError(f"{name} must be a tuple of names, got {shortened(value)}")
    elif not isinstance(value, hint):
        raise ValueError(f"{name} must be {_called(hint)}, got {shortened(value)}")


def _from_json(name: str, value: object, hint: Any) -> object:
    if isinstance(value, list):
        return tuple(value)
    kinds = {kind.__name__: kind for kind in get_args(hint) if getattr(kind, "from_json", None)}
    if not kinds:
        return value
    if not isinstance(value, Mapping) or value.get("kind") not in list(kinds):
        raise ValueError(f"{name} must be {_called(hint)} with its kind, got {shortened(value)}")
    return kinds[value["kind"]].from_json({key: value[key] for key in value if key != "kind"})


def _called(hint: Any) -> str:
    names = {bool: "true or false", str: "a name"}
    return " or ".join(names.get(kind, kind.__name__) for kind in get_args(hint) or (hint,))
