"""What a check answers, and how it is made: run what a reader wrote and, where it is wrong, name the mistake."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """What a check found: whether it passed, and a sentence for the reader."""

    passed: bool
    message: str

    def __repr__(self) -> str:
        return f"{'✓' if self.passed else '✗'} {self.message}"

    def _repr_html_(self) -> str:
        return f"<p><strong>{'✓' if self.passed else '✗'}</strong> {escape(self.message)}</p>"


class Mistake(Exception):
    """A mistake with its name."""


@dataclass(frozen=True)
class Exercise:
    """An exercise of a chapter: the name that the reader's function has there, and its check."""

    name: str
    check: Callable[[Callable], Verdict]


EXERCISES: dict[str, Exercise] = {}
"""Every exercise by its label in the chapters."""


def exercise(label: str, name: str) -> Callable[[Callable[[Callable], str]], Callable[[Callable], Verdict]]:
    """Make a check of a function that returns praise, or raises `Mistake` with what is wrong.

    Args:
        label: of the exercise in its chapter, such as "ex-causal-mask".
        name: of the function that the reader writes.
    """

    def register(check: Callable[[Callable], str]) -> Callable[[Callable], Verdict]:
        @functools.wraps(check)
        def run(written: Callable) -> Verdict:
            if not callable(written):
                return Verdict(False, f"give the check your function itself, not {written!r}")
            try:
                return Verdict(True, check(written))
            except Mistake as mistake:
                return Verdict(False, str(mistake))

        EXERCISES[label] = Exercise(name, run)
        return run

    return register


def call(written: Callable, *arguments: Any) -> Any:
    """What the reader's function answers; a crash, or nothing, is a `Mistake`."""
    shown = ", ".join(brief(argument) for argument in arguments)
    name = getattr(written, "__name__", "your function")
    try:
        value = written(*arguments)
    except Exception as error:
        raise Mistake(f"{name}({shown}) stopped with {type(error).__name__}: {error}") from error
    if value is None or value is ...:
        raise Mistake(f"{name}({shown}) returns nothing yet: it is yours to write")
    return value


def brief(argument: Any) -> str:
    """An argument as a message shows it: a tensor or an array of some size by its shape, a long list by its length."""
    size = math.prod(getattr(argument, "shape", ()))
    if size > 4:
        return f"{type(argument).__name__.lower()} of {tuple(argument.shape)}"
    if isinstance(argument, list | tuple | set) and len(argument) > 12:
        return f"{type(argument).__name__} of {len(argument)}"
    return repr(argument)
