"""The parts of a record and the check that data has them; reference/schema.md describes every field in words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
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

LARGEST = 2**64
"""No whole number of a record is larger, nor any that a float could not hold."""
# The number is the least that the value may be, or the fewest entries that a list or an object may have.
Count = Annotated[int, 0]
Positive = Annotated[int, 1]
Amount = Annotated[float, 0]


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
    threads: Positive
    torch: str
    python: str
    system: str
    processes: NotRequired[Positive]
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
        hint: a type, also a TypedDict, `Annotated` with the least that it may be, or Any (JSON with finite numbers).
        where: what errors call the value, such as "points[3].step".
    """
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        yield from faults(value, inner[0], where)
        yield from _too_small(value, inner[1], where)
    elif is_typeddict(hint):
        if not isinstance(value, dict):
            yield f"{where} must be an object, got {_shown(value)}"
            return
        for name, one in _fields(hint).items():
            optional = get_origin(one) is NotRequired
            if name in value:
                yield from faults(value[name], get_args(one)[0] if optional else one, f"{where}.{name}")
            elif not optional:
                yield f"{where} lacks {name!r}"
    elif kind in (Union, UnionType):
        if all(any(True for _ in faults(value, one, where)) for one in inner):
            yield f"{where} must be {_named(hint)}, got {_shown(value)}"
    elif kind is Any and isinstance(value, dict):
        for name, one in value.items():
            yield from faults(one, Any, f"{where}.{name}")
    elif kind is Any and isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from faults(one, Any, f"{where}[{number}]")
    elif kind is Any:
        if isinstance(value, int | float) and not (
            math.isfinite(value) if isinstance(value, float) else abs(value) <= LARGEST
        ):
            yield f"{where} must be a finite number, got {_shown(value)}"
    elif not _fits(value, kind):
        yield f"{where} must be {_named(kind)}, got {_shown(value)}"
    elif inner:
        for key, one in value.items() if kind is dict else enumerate(value):
            yield from faults(one, inner[-1], f"{where}[{key!r}]")


def _too_small(value: Any, least: float, where: str) -> Iterator[str]:
    counted = isinstance(value, dict | list)
    size = len(value) if counted else value if isinstance(value, int | float) else least
    if size < least:
        yield f"{where} must be at least {least:g}{' entries' if counted else ''}, got {size:g}"


@cache
def _fields(hint: type) -> dict[str, Any]:
    return get_type_hints(hint, include_extras=True)


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(value, bool):
        return hint is bool
    if isinstance(value, int) and abs(value) > LARGEST:
        return False
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
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number of too many digits"
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
