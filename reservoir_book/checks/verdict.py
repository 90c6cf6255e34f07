"""How a check is made: run the function that a reader wrote and, where it is wrong, name the mistake."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import torch
from torch import Tensor

from reservoir_lab.launch.handed_in import MIME


@dataclass(frozen=True)
class Verdict:
    """What a check found: whether it passed, and a sentence for the reader.

    A notebook's output also holds it as data, by which `reservoir check` reads it: the label of the exercise, too.
    """

    passed: bool
    message: str
    exercise: str = ""

    def __repr__(self) -> str:
        return f"{'✓' if self.passed else '✗'} {self.message}"

    def _repr_html_(self) -> str:
        return f"<p><strong>{'✓' if self.passed else '✗'}</strong> {escape(self.message)}</p>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {MIME: asdict(self)}


class Mistake(Exception):
    """A mistake with its name."""


def exercise(label: str, name: str) -> Callable[[Callable[[Callable], str]], Callable[[Callable], Verdict]]:
    """Make a check of a function that returns praise, or raises `Mistake` with what is wrong.

    The check has the exercise's label and name as its attribute `answers`.

    Args:
        label: of the exercise in its chapter, such as "ex-causal-mask".
        name: of the function that the reader writes.
    """

    def register(check: Callable[[Callable], str]) -> Callable[[Callable], Verdict]:
        @functools.wraps(check)
        def run(written: Callable) -> Verdict:
            if not callable(written):
                return Verdict(False, f"give the check your function itself, not {written!r}", label)
            try:
                return Verdict(True, check(written), label)
            except Mistake as mistake:
                return Verdict(False, str(mistake), label)

        run.answers = label, name  # type: ignore[attr-defined]
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


def compare(
    written: Callable,
    right: Callable,
    cases: Iterable[tuple],
    mistakes: Mapping[str, Callable],
    *,
    praise: str,
    read: Callable[[Any, Any], Any] | None = None,
    otherwise: Callable[..., str] | str = "",
) -> str:
    """Compare the reader's function with the right one on some cases; return praise, or raise the `Mistake` by name.

    Args:
        written: the reader's function.
        right: the reference, called with the same arguments. The names of its parameters are shown to the reader.
        cases: tuples of arguments. Tensors are copied, so that a function that changes its arguments is harmless.
        mistakes: sentence → the function with that mistake. The one that answers as the reader does in every case is
            named; {length} in its sentence stands for the argument of that name in the first case that is wrong.
        praise: the sentence for a function that is right in every case.
        read: makes of (answer, right answer) what is compared, or raises a `Mistake`; by default `tensor` for a tensor,
            `number` for a number, and the answer as it is for anything else.
        otherwise: (answer, right answer, *arguments) → the sentence for a mistake without a name; or that sentence,
            with {found}, {expected} and the arguments' names in it.
    """
    answers = []
    for case in cases:
        expected = right(*case)
        found = call(written, *(one.clone() if isinstance(one, Tensor) else one for one in case))
        answers.append(((read or _read)(found, expected), expected, case))
    wrong = [(found, expected, case) for found, expected, case in answers if not same(found, expected)]
    if not wrong:
        return praise
    found, expected, case = wrong[0]
    given = dict(zip(inspect.signature(right).parameters, case, strict=True))
    for sentence, mistaken in mistakes.items():
        if all(same(answer, mistaken(*arguments)) for answer, _, arguments in answers):
            raise Mistake(sentence.format(**given))
    if callable(otherwise):
        raise Mistake(otherwise(found, expected, *case))
    if otherwise:
        raise Mistake(otherwise.format(found=found, expected=expected, **given))
    said = ", ".join(f"{name}={brief(one)}" for name, one in given.items())
    raise Mistake(f"for {said} it is {_shown(expected)}, and you give {_shown(found)}")


def refuse(mistakes: Mapping[str, Any]) -> None:
    """Raise the first `Mistake` that was made: sentence → whether it was."""
    for sentence, made in mistakes.items():
        if made:
            raise Mistake(sentence)


def same(found: Any, expected: Any) -> bool:
    """Whether two answers agree: whole numbers exactly, others within rounding."""
    if isinstance(expected, Tensor):
        return found.shape == expected.shape and torch.allclose(
            found.to(expected), expected, rtol=1e-4, atol=1e-4
        )
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-9)
    return found == expected


def _read(found: Any, expected: Any) -> Any:
    if isinstance(expected, Tensor):
        return tensor(found, expected)
    if isinstance(expected, int | float):
        return number(found)
    found = getattr(found, "tolist", lambda: found)()  # of NumPy and PyTorch
    return list(found) if isinstance(expected, list) and isinstance(found, tuple) else found


def number(found: Any, expected: Any = None) -> float:
    """The answer if it is a finite number, of Python, NumPy or PyTorch, else a `Mistake`."""
    if getattr(found, "ndim", None) == 0 and hasattr(found, "item"):
        found = found.item()
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise Mistake(f"return a number, not {found!r}")
    return found


def tensor(found: Any, expected: Tensor) -> Tensor:
    """The answer if it is a tensor of the right shape, else a `Mistake`."""
    if not isinstance(found, Tensor):
        raise Mistake(f"return a tensor, not a {type(found).__name__}")
    if found.shape != expected.shape:
        raise Mistake(f"what you return has the shape {tuple(found.shape)}, not {tuple(expected.shape)}")
    return found


def _shown(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return brief(value)
