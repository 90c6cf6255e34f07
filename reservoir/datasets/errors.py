"""The one error of the data side, and the check of an argument that counts something."""

from numbers import Integral


class DataError(RuntimeError):
    """Data that is missing, damaged, malformed or unknown. Its text is one sentence that says what would do."""


def check_whole(name: str, value: int, *, least: int) -> None:
    """Refuse a `value` that is not a whole number, or is less than `least`.

    Raises:
        ValueError: `value` is refused.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
