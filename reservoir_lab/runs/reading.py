"""Reading back what a record holds: its run; and the records of format 1 as format 2, in which each has a meaning.

What records of format 1 lack is derived, or marked as unknown.

Format 1 said `autocast` where format 2 says `precision`: whether bf16 was used then depended on the machine. It counted
three things: `total`, which is now `weights`; `trainable`, which is now `trainable_all_rows`; and `stored_bytes`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from reservoir.datasets.shipped import shipped
from reservoir_lab.runs.run import Run

COUNTS = "counts.json"
"""Next to the shipped records: what the library's own report counts of each recipe that has some."""
UNKNOWN = {
    "data": "",
    "origins": {},
    "labels": [],
    "left_out": 0,
    "epoch_steps": 0.0,
    "begun_with": [],
    "skipping": {},
}
"""What format 1 did not always record, in the form that says so."""


def run_from_json(values: Mapping[str, Any]) -> Run:
    """The run that `Run.to_json` described; fields that are missing, since they came later, have their defaults.

    JSON does not say which kind of task or model a part is of: its fields do.

    Raises:
        ValueError: a part has the fields of no kind, or of two, or is no object with fields.
    """
    return _made(Run, values, "run")


def _made(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) in (Union, UnionType):
        if value is None and NoneType in get_args(hint):
            return None
        if isinstance(value, Mapping):
            return _made(_kind(get_args(hint), value, where), value, where)
        others = (one for one in get_args(hint) if one is not NoneType and not is_dataclass(one))
        hint = next(others, get_args(hint)[0])
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} must be an object with fields, got {value!r}")
        hints = get_type_hints(hint)
        made = {name: _made(hints.get(name), one, f"{where}.{name}") for name, one in value.items()}
        try:
            return hint(**made)  # type: ignore[operator]
        except TypeError as error:
            raise ValueError(f"{where} is no {getattr(hint, '__name__', hint)}: {error}") from None
    if isinstance(value, list):
        kinds = [one for one in get_args(hint) if one is not Ellipsis] or [Any]
        return tuple(_made(kinds[min(i, len(kinds) - 1)], one, where) for i, one in enumerate(value))
    return value


def _kind(kinds: tuple[Any, ...], value: Mapping[str, Any], where: str) -> Any:
    """The dataclass that has these fields, and no other field without a default."""
    fitting = []
    for kind in filter(is_dataclass, kinds):
        names = {entry.name: entry for entry in fields(kind)}
        absent = [entry for name, entry in names.items() if name not in value]
        if value.keys() <= names.keys() and all(
            entry.default is not MISSING or entry.default_factory is not MISSING for entry in absent
        ):
            fitting.append((len(absent), kind))
    least = min((absent for absent, _ in fitting), default=0)
    found = [kind for absent, kind in fitting if absent == least]
    if len(found) != 1:
        raise ValueError(f"{where} has the fields {', '.join(value)}, which are those of {len(found)} kinds")
    return found[0]


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """The content of a format-1 record in format 2, as far as it is well formed; the rest is left for the check."""
    data = UNKNOWN | data | {"format": 2}
    for part in ("run", "overrides"):
        if isinstance(said := data.get(part), dict) and "autocast" in said:
            said = dict(said)
            said["precision"] = "auto" if said.pop("autocast") else "fp32"
            data[part] = said
    name, scale = data.get("recipe"), data.get("scale")
    if isinstance(old := data.get("parameters"), dict):
        counted = None if data.get("overrides") else _counts().get(f"{name}/{scale}")
        data["parameters"] = counted or _derived(old, data.get("run"))
    return data


def _derived(old: dict[str, Any], run: Any) -> dict[str, Any]:
    """Format 1's counts by their names in format 2.

    Of a masked run that nobody has counted, every trainable number is taken for a score, which is an upper bound.
    """
    try:
        weights, trainable = int(old["total"]), int(old["trainable"])
        mask = run.get("mask") or {}
        masked = mask.get("keep", 1) < 1 and mask.get("by") != "weight"
    except (KeyError, TypeError, ValueError, AttributeError):
        return old
    scores = trainable if masked else 0
    return {
        "weights": weights,
        "scores": scores,
        "total": weights + scores,
        "trainable": trainable,
        "trainable_all_rows": trainable,
        "stored_bytes": old.get("stored_bytes"),
    }


@cache
def _counts() -> dict[str, dict[str, int]]:
    try:
        return json.loads((shipped() / "results" / COUNTS).read_text(encoding="utf-8"))
    except OSError:
        return {}
