"""Diagrams: what a model is made of, drawn as SVG from a description in `data/diagrams`, coloured by origin.

A description is a TOML file with `alt` (the picture in words), `height`, `shapes` and `arrows`, a line each:

    trained 20 40 100 26 embed: embedding        a box of an origin (or `plain`, or `frame` around others): x, y,
                                                 width, height, its name, and its words, with / between lines
    words 20 40 start: one line/another          words alone, from (or at the `middle` or `end` of) a point
    grid 20 40 9 seeded: #+./.#+                 a matrix of 9-pixel cells, rows between /: full, half, left out
    dot 20 40 6 unit:                            a unit of a random network: a circle around a point
    embed -> stack: vectors                      an arrow, by names or points such as 20,40, with words next to it
    stack ~> embed @8                            a gradient, 8 pixels to the right of (or below) the middle

Every diagram is as wide as the text of a phone. Its colours come from the page where they are set there
(`var(--ink, …)`), so that one picture serves on light and on dark paper, in a notebook and in print.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from html import escape
from typing import Any

from reservoir.datasets.shipped import shipped
from reservoir_book.explorables.pictures import element, svg
from reservoir_book.plots import ORIGINS

WIDTH = 340
LINE = 14  # pixels from one line of words to the next
SIZE = 12  # of words
INK, SOFT, PAPER = "var(--ink, #22262b)", "var(--ink-2, #565d66)", "var(--paper, #fffefb)"
GRADIENT = "var(--danger, #a32b2b)"
DASHES = "4 2.5"  # of a gradient's line
# Origins differ in their outline as well, for readers who do not see the colours.
OUTLINE = {"trained": None, "seeded": "5 3", "masked": "1.5 2.5", "pretrained": "9 2 2 2", "fixed": None}
CALLED = {
    "trained": "trained",
    "seeded": "drawn, never trained",
    "masked": "drawn and masked",
    "pretrained": "pretrained, frozen",
    "fixed": "fixed, no weights",
}
SHAPE = re.compile(r"(\w+) ([\d. -]+?) ?(?:([a-z]\w*))?: ?(.*)")
ARROW = re.compile(r"(?P<ends>[^:@]+?)(?: @(?P<shift>-?\d+))?(?:: (?P<words>.*))?$")
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Diagram:
    """A picture with its description: a notebook shows it as SVG, and its `alt` where there are no pictures."""

    svg: str
    alt: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.alt}


def diagram(name: str, **values: object) -> Diagram:
    """Draw a diagram of `data/diagrams`.

    Args:
        name: of its file, without the ending.
        values: what stands for each `{name}` in its words, such as a result that a page has computed.

    Raises:
        ValueError: there is no such diagram, or a line of it cannot be read.
    """
    folder = shipped() / "diagrams"
    path = folder / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in folder.glob("*.toml")))
        raise ValueError(f"name must be one of {known}, got {name!r}")
    said = tomllib.loads(path.read_text(encoding="utf-8"))
    alt = " ".join(said["alt"].format_map(values).split())
    parts, boxes, used = [], dict[str, Box](), set[str]()
    for line in said["shapes"].strip().splitlines():
        found = SHAPE.fullmatch(line.strip())
        if not found:
            raise ValueError(f"diagram {name!r}: the shape {line.strip()!r} cannot be read")
        kind, numbers, label, words = found.groups()
        where = [float(each) for each in numbers.split()]
        parts += _shape(kind, where, label, words.format_map(values), boxes, used)
    for line in said.get("arrows", "").strip().splitlines():
        parts += _arrow(line.strip(), boxes, used, name)
    height = said["height"]
    legend, rows = _legend(used, height)
    height += 20 * rows
    paper = element("rect", width=WIDTH, height=height, fill=PAPER)
    body = element("desc", alt) + paper + "".join([*parts, *legend])
    look = {"role": "img", "aria_label": alt, "font_family": "var(--sans, sans-serif)", "font_size": SIZE}
    return Diagram(svg(WIDTH, height, body, **{"class": "diagram"}, **look), alt)


def _shape(
    kind: str, numbers: list[float], label: str | None, words: str, boxes: dict[str, Box], used: set[str]
) -> list[str]:
    """One line of `shapes`; notes where it lies and which origins it shows."""
    if kind == "words":
        return _words(numbers[0], numbers[1], words, anchor=label or "start", fill=SOFT)
    if kind == "grid":
        x, y, cell = numbers
        assert label
        used |= {label} & set(ORIGINS)
        return [_cell(x + cell * j, y + cell * i, cell, ORIGINS.get(label, SOFT), mark)
                for i, row in enumerate(words.split("/")) for j, mark in enumerate(row)]  # fmt: skip
    origin = "seeded" if kind == "dot" else kind
    x, y, w, h = numbers if kind != "dot" else (*numbers, 0.0)
    box = (x - w, y - w, x + w, y + w) if kind == "dot" else (x, y, x + w, y + h)
    if label:
        boxes[label] = box
    colour = ORIGINS.get(origin)
    look: dict[str, Any] = {"fill": colour, "fill_opacity": 0.16, "stroke": colour, "stroke_width": 1.6}
    look["stroke_dasharray"] = OUTLINE.get(origin)
    if kind == "frame":
        look = {"fill": "var(--paper-2, #f7f5ef)", "stroke": "var(--line, #e3dfd4)"}
    elif colour is None:
        look = {"fill": PAPER, "stroke": SOFT}
    else:
        used.add(origin)
    if kind == "dot":
        return [element("circle", cx=x, cy=y, r=w, **look)]
    shape = element("rect", x=x, y=y, width=w, height=h, rx=4, **look)
    if kind == "frame":
        return [shape, *_words(x + 7, y + 15, words, fill=SOFT)]
    return [shape, *_words(x + w / 2, y + h / 2 + 4.2 - LINE * words.count("/") / 2, words, anchor="middle")]


def _cell(x: float, y: float, size: float, colour: str, mark: str) -> str:
    opacity = {"#": 0.95, "+": 0.5, "-": 0.22, ".": 0.0}[mark]
    return element("rect", x=x + 0.5, y=y + 0.5, width=size - 1, height=size - 1, fill=colour, fill_opacity=opacity,
                   stroke=colour, stroke_opacity=0.4, stroke_width=0.6)  # fmt: skip


def _words(x: float, y: float, words: str, *, anchor: str = "start", fill: str = INK) -> list[str]:
    return [element("text", escape(line), x=x, y=y + LINE * i, text_anchor=anchor, fill=fill)
            for i, line in enumerate(words.split("/")) if words]  # fmt: skip


def _arrow(line: str, boxes: dict[str, Box], used: set[str], name: str) -> list[str]:
    found = ARROW.match(line)
    gradient = "~>" in line
    try:
        assert found
        ends = [_place(end.strip(), boxes) for end in re.split(r"[-~]>", found["ends"])]
        shift = float(found["shift"] or 0)
        via = [(left, top) for left, top, _, _ in ends[1:-1]]
        points = [_side(ends[0], ends[1], shift), *via, _side(ends[-1], ends[-2], shift)]
    except (AssertionError, KeyError, IndexError) as error:
        raise ValueError(f"diagram {name!r}: the arrow {line!r} cannot be read ({error})") from error
    (x0, y0), (x, y) = points[-2:]
    far = max(((x - x0) ** 2 + (y - y0) ** 2) ** 0.5, 1e-9)
    dx, dy = (x - x0) / far, (y - y0) / far
    colour = GRADIENT if gradient else SOFT
    head = [(x, y), *((x - 7 * dx - side * dy, y - 7 * dy + side * dx) for side in (3.4, -3.4))]
    shaft, tip = (" ".join(f"{a:.1f},{b:.1f}" for a, b in each)
                  for each in ([*points[:-1], (x - 5 * dx, y - 5 * dy)], head))  # fmt: skip
    used |= {"gradient"} if gradient else set()
    path: dict[str, Any] = {"points": shaft, "stroke_dasharray": DASHES if gradient else None}
    drawn = [element("polyline", **path, fill="none", stroke=colour, stroke_width=1.5)]
    drawn.append(element("polygon", points=tip, fill=colour))
    if found["words"]:
        (a, b), (c, d) = points[len(points) // 2 - 1 : len(points) // 2 + 1]
        upright = abs(a - c) < abs(b - d)
        at = ((a + c) / 2 + 6, (b + d) / 2 + 4) if upright else ((a + c) / 2, (b + d) / 2 - 5)
        drawn += _words(*at, found["words"], anchor="start" if upright else "middle", fill=colour)
    return drawn


def _place(end: str, boxes: dict[str, Box]) -> Box:
    if point := re.fullmatch(r"(-?[\d.]+),(-?[\d.]+)", end):
        x, y = float(point[1]), float(point[2])
        return x, y, x, y
    return boxes[end]


def _side(box: Box, other: Box, shift: float) -> tuple[float, float]:
    """Where an arrow between two boxes touches the first: on the sides that face each other."""
    left, top, right, bottom = box
    gap_y, gap_x = max(other[1] - bottom, top - other[3]), max(other[0] - right, left - other[2])
    apart = gap_y >= gap_x  # one above the other
    start, end, across = (left, right, 0) if apart else (top, bottom, 1)
    low, high = max(start, other[across]), min(end, other[across + 2])
    middle = (low + high) / 2 if low <= high else (start + end) / 2
    if apart:
        return middle + shift, bottom if other[1] >= bottom else top
    return right if other[0] >= right else left, middle + shift


def _legend(used: set[str], top: float) -> tuple[list[str], int]:
    """What the colours mean, two entries a row, and the number of rows."""
    entries = [*(origin for origin in ORIGINS if origin in used), *({"gradient"} & used)]
    parts = []
    for i, entry in enumerate(entries):
        x, y = 10 + 165 * (i % 2), top + 20 * (i // 2) + 4
        if entry == "gradient":
            look: dict[str, Any] = {"stroke": GRADIENT, "stroke_width": 1.5, "stroke_dasharray": DASHES}
            parts.append(element("path", d=f"M{x} {y + 5.5}h14", **look))
        else:
            parts += _shape(entry, [x, y, 14, 11], None, "", {}, set())
        parts += _words(x + 20, y + 10, CALLED.get(entry, entry), fill=SOFT)
    return parts, -(-len(entries) // 2)
