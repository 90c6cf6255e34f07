"""Still pictures of explorables, for where scripts do not run: SVG out of a few shapes."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

INK = "#22262b"
"""The colour of words, as on light paper."""


def svg(width: float, height: float, *parts: str, **attributes: Any) -> str:
    """A picture of this size in pixels; what does not fit its place is made smaller.

    Args:
        width, height: pixels.
        parts: elements, the lowest first.
        attributes: more of the picture's, such as `fill` for all its parts.
    """
    size = {"viewBox": f"0 0 {_said(width)} {_said(height)}", "width": width}
    return element("svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", **size, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: Any) -> str:
    """A rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def text(x: float, y: float, words: str, **attributes: Any) -> str:
    """Words on a line whose baseline begins at (x, y)."""
    style = {"fill": INK, "font_family": "sans-serif", "font_size": 13}
    return element("text", escape(words), x=x, y=y, **style | attributes)


def line(points: Iterable[tuple[float, float]], colour: str, width: float = 2, **attributes: Any) -> str:
    """A line through points."""
    joined = " ".join(f"{_said(x)},{_said(y)}" for x, y in points)
    return element("polyline", points=joined, fill="none", stroke=colour, stroke_width=width, **attributes)


def element(name: str, content: str = "", **attributes: Any) -> str:
    """An element; an attribute with a hyphen in its name is given with an underscore, and None leaves it out."""
    said = {key.replace("_", "-"): _said(value) for key, value in attributes.items() if value is not None}
    start = f"<{name}" + "".join(f' {key}="{escape(value)}"' for key, value in said.items())
    return f"{start}>{content}</{name}>" if content else f"{start}/>"


def _said(value: Any) -> str:
    """Numbers to hundredths of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
