"""A colour for each origin of a weight, the same in figures, diagrams and explorables."""

from __future__ import annotations

ORIGINS = {
    "trained": "#0072b2",
    "seeded": "#d55e00",
    "masked": "#009e73",
    "pretrained": "#d264a8",
    "fixed": "#70767c",
}
"""A colour for each origin of a weight, the same through the whole book, after Okabe and Ito's palette.

Each stands out on light and on dark paper, and from the others for readers who are colour-blind. Grey is for what has
no weights, and for lines that others are compared with.
"""


def colour(origin: str, alpha: float = 1.0) -> str:
    """The colour of an origin, as CSS.

    Args:
        origin: a key of `ORIGINS`.
        alpha: opacity, 0 to 1.

    Raises:
        ValueError: there is no such origin.
    """
    if origin not in ORIGINS:
        raise ValueError(f"origin must be one of {', '.join(ORIGINS)}, got {origin!r}")
    red, green, blue = (int(ORIGINS[origin][i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"
