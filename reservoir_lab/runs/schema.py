"""The parts of a record, with their ranges; reference/schema.md describes every field in words."""

from __future__ import annotations

import sys
from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
LARGEST = sys.float_info.max
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
"""One that is finite."""
Amount = Annotated[float, Meta(ge=0, le=LARGEST)]
Some = Meta(min_length=1)
"""Of a list or an object that has entries."""


class Point(TypedDict):
    """A validation point."""

    step: Count
    seconds: Amount
    tokens: Count
    flops: Amount
    metrics: dict[str, Number]


class Columns(TypedDict):
    """Validation points as they are stored: a list for each of their fields."""

    step: Annotated[list[Count], Some]
    seconds: list[Amount]
    tokens: list[Count]
    flops: list[Amount]
    metrics: dict[str, list[Number]]


class Stored(TypedDict):
    """What a stored record has in another form."""

    points: Columns


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

    value: Number
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
