"""Checks of arguments: what is out of range is refused where it is given, in one sentence that says what would do."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real


def check_number(
    name: str,
    value: float,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
    whole: bool = False,
    why: str = "",
) -> None:
    """Refuse a `value` that is not a finite number or lies outside its bounds.

    Args:
        name: of the argument.
        value: what was given. NumPy's numbers are numbers; True and False are not.
        least, most: bounds that are allowed themselves.
        above, below: bounds that are not.
        whole: whether it must be an integer.
        why: what the message adds, such as "0 does not clip".

    Raises:
        ValueError: `value` is refused.
    """
    kind = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, kind) or not math.isfinite(value):
        raise ValueError(f"{name} must be a {'whole' if whole else 'finite'} number, got {value!r}")
    if least <= value <= most and above < value < below:
        return
    low, high = max(least, above), min(most, below)
    if math.isfinite(low) and math.isfinite(high):
        wanted = f"in {'(' if above == low else '['}{low}, {high}{')' if below == high else ']'}"
    elif math.isfinite(low):
        wanted = f"at least {low}" if least == low else f"above {low}" if low else "positive"
    else:
        wanted = f"{'below' if below == high else 'at most'} {high}"
    raise ValueError(f"{name} must be {wanted}, got {value!r}{why and f'; {why}'}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a `value` that is none of `choices`.

    Raises:
        ValueError: `value` is refused.
    """
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"{name} must be {', '.join(others)}{' or ' if others else ''}{last}, got {value!r}")
