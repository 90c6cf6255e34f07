"""The parts of a record and the check that data has them; reference/schema.md describes every field in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)


@dataclass(frozen=True)
class AtLeast:
    """A bound on a number, or on how many entries a list or an object has."""

    least: float


Count = Annotated[int, AtLeast(0)]
Amount = Annotated[float, AtLeast(0)]


class Point(TypedDict):
    """A validation point."""

    step: Count
    seconds: Amount
    tokens: Count
    flops: Amount
    metrics: dict[str, float]


class Sample(TypedDict):
    """A test text with what it should become; what the model says stands in one of the three others."""

    source: str
    reference: str
    translation: NotRequired[str]
    prediction: NotRequired[str]
    continuation: NotRequired[str]


class Parameters(TypedDict):
    """How many numbers the model has, as `reservoir.weights.report` defines them."""

    weights: Count
    scores: Count
    total: Count
    trainable: Count
    trainable_all_rows: Count
    stored_bytes: Count


class Held(TypedDict):
    """What a model has of one origin."""

    weights: Count
    stored_bytes: Count


class Area(TypedDict):
    """The area under the validation curve, and how it was taken."""

    value: float
    horizon: Amount
    axis: str
    orientation: str


class Machine(TypedDict):
    """Where a run was executed."""

    cpu: str
    gpu: str | None
    threads: Annotated[int, AtLeast(1)]
    torch: str
    python: str
    system: str
    processes: NotRequired[Annotated[int, AtLeast(1)]]
    capability: NotRequired[str]
    bf16: NotRequired[bool]


class Code(TypedDict):
    """The version of the library, and the commit of its checkout where there was one."""

    version: str
    commit: str | None
    dirty: bool | None


def faults(value: Any, hint: Any, where: str) -> Iterator[str]:
    """What is wrong with a JSON value that should be of a type, each fault in a few words.

    Args:
        value: what was read.
        hint: a type, also a TypedDict, `Annotated` with `AtLeast`, or Any (JSON with finite numbers).
        where: what errors call the value, such as "points[3].step".
    """
    if get_origin(hint) is Annotated:
        hint, *bounds = get_args(hint)
        yield from faults(value, hint, where)
        size = (
            value
            if isinstance(value, int | float)
            else len(value)
            if isinstance(value, list | dict)
            else None
        )
        for bound in bounds:
            if size is not None and size < bound.least:
                more = "" if isinstance(value, int | float) else " entries"
                yield f"{where} must be at least {bound.least:g}{more}, got {size:g}"
    elif is_typeddict(hint):
        yield from _object_faults(value, hint, where)
    elif get_origin(hint) in (Union, UnionType):
        if all(any(True for _ in faults(value, one, where)) for one in get_args(hint)):
            yield f"{where} must be {_named(hint)}, got {_shown(value)}"
    elif get_origin(hint) is list:
        yield from _each_fault(value, list, enumerate, get_args(hint)[0], where)
    elif get_origin(hint) is dict:
        yield from _each_fault(value, dict, dict.items, get_args(hint)[1], where)
    elif hint is Any:
        yield from _anything_faults(value, where)
    elif not _fits(value, hint):
        yield f"{where} must be {_named(hint)}, got {_shown(value)}"


def _object_faults(value: Any, hint: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} must be an object, got {_shown(value)}"
        return
    for name, kind in _fields(hint).items():
        optional = get_origin(kind) is NotRequired
        if name in value:
            yield from faults(value[name], get_args(kind)[0] if optional else kind, f"{where}.{name}")
        elif not optional:
            yield f"{where} lacks {name!r}"


@cache
def _fields(hint: type) -> dict[str, Any]:
    return get_type_hints(hint, include_extras=True)


def _each_fault(value: Any, kind: type, pairs: Any, hint: Any, where: str) -> Iterator[str]:
    if not isinstance(value, kind):
        yield f"{where} must be {_named(kind)}, got {_shown(value)}"
        return
    for name, inner in pairs(value):
        yield from faults(inner, hint, f"{where}[{name!r}]")


def _anything_faults(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _anything_faults(inner, f"{where}.{name}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _anything_faults(inner, f"{where}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{where} must be a finite number, got {value}"


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, hint)


NAMED = {
    float: "a finite number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    NoneType: "null",
}


def _named(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_named, get_args(hint)))
    return NAMED.get(hint, str(hint))


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{_named(type(value))} of {len(value)}"
    text = (
        {None: "null", True: "true", False: "false"}.get(value)
        if value is None or isinstance(value, bool)
        else None
    )
    text = text or repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
