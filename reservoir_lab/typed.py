"""JSON and TOML into typed values: what is wrong is said with file, place and remedy; so is a name that nothing has."""

import difflib
import json
import math
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from reservoir.files import read_bounded

T = TypeVar("T")
DIGITS = 20  # of a whole number, which has to fit 64 bits
SHOWN = 300  # characters of a message: what it quotes may be long
LARGEST = 2**24  # bytes of a file


def decode(path: Path, kind: type[T], *, remedy: str) -> T:
    """What a file says, as a value of type `kind`.

    Args:
        path: of TOML where it ends in .toml, or else of JSON.
        kind: a type as msgspec knows them: a dataclass, TypedDict or Struct, with `Annotated[…, msgspec.Meta(…)]` for
            ranges.
        remedy: what an error tells the reader to do.

    Raises:
        ValueError: it holds no such value or cannot be read, in one sentence with path, place and remedy.
    """
    try:
        return typed(parse(read_bounded(path, LARGEST), toml=path.suffix == ".toml"), kind)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}; {remedy}") from error


def parse(content: bytes, *, toml: bool = False) -> Any:
    """The values that JSON or TOML spells, of which no name occurs twice and all numbers are finite and fit 64 bits.

    Raises:
        ValueError: the content spells none.
    """
    try:
        if toml:
            return tomllib.loads(content.decode(), parse_float=_finite)
        return json.loads(
            content.decode(),
            parse_constant=_refused,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_once,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def typed(data: Any, kind: type[T]) -> T:
    """Values of JSON or TOML as one of type `kind`.

    Raises:
        ValueError: they are none; the message begins with the place, such as `points[3].step`.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        what = what[0].lower() + what[1:].replace("`", "")
        raise ValueError(re.sub(r"^\.", "", f"{place[:-1]}: {what}" if place else what)[:SHOWN]) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def hint(name: object, known: Iterable[str], *, otherwise: str = "", cutoff: float = 0.4) -> str:
    """What to say of a name that is not among `known`: the nearest one, or all that there are.

    Args:
        name: what was given.
        known: what there is.
        otherwise: what is said where none is near, in place of all.
        cutoff: how near, from 0 to 1.
    """
    near = difflib.get_close_matches(str(name), known := list(known), n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}?" if near else otherwise or f"there are {', '.join(known)}"


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:DIGITS]} is no finite number")
    return value


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"{text[:DIGITS]}… is a number of too many digits")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which no name may occur twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return found
