"""Reading a run back from the JSON that its record holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from reservoir.runs.run import Run


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
