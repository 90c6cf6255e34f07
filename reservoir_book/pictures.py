"""Pictures as SVG: shapes, charts and tables; and diagrams of what a model is made of, coloured by origin.

A diagram is drawn from a description in `data/diagrams`: a TOML file with `alt` (the picture in words), `height`,
`shapes` and `arrows`, a line each:

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

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from reservoir.datasets.shipped import shipped
from reservoir_book.plots import ORIGINS, Line

LIGHT = "#22262b"
"""The colour of words on light paper."""


def svg(width: float, height: float, *parts: str, **attributes: Any) -> str:
    """A picture of this size in pixels; what does not fit its place is made smaller.

    Args:
        width, height: pixels.
        parts: elements, the lowest first.
        attributes: more of the picture's, such as `fill` for all its parts.
    """
    size = {"viewBox": f"0 0 {_number(width)} {_number(height)}", "width": width}
    return element("svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", **size, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: Any) -> str:
    """A rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def text(x: float, y: float, words: str, **attributes: Any) -> str:
    """Words on a line whose baseline begins at (x, y)."""
    style = {"fill": LIGHT, "font_family": "sans-serif", "font_size": 13}
    return element("text", escape(words), x=x, y=y, **style | attributes)


def line(points: Iterable[tuple[float, float]], colour: str, width: float = 2, **attributes: Any) -> str:
    """A line through points."""
    joined = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
    return element("polyline", points=joined, fill="none", stroke=colour, stroke_width=width, **attributes)


def element(name: str, content: str = "", **attributes: Any) -> str:
    """An element; an attribute with a hyphen in its name is given with an underscore, and None leaves it out."""
    said = {key.replace("_", "-"): _number(value) for key, value in attributes.items() if value is not None}
    start = f"<{name}" + "".join(f' {key}="{escape(value)}"' for key, value in said.items())
    return f"{start}>{content}</{name}>" if content else f"{start}/>"


def _number(value: Any) -> str:
    """Numbers to hundredths of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def grid(
    opacities: Sequence[Sequence[float]],
    colour: str,
    width: float,
    height: float,
    *,
    x: float = 0,
    y: float = 0,
) -> str:
    """A matrix as cells of this size from (x, y), each as opaque as its number says, from 0 to 1."""
    return "".join(
        rect(x + width * j, y + height * i, width - 1, height - 1, fill=colour, fill_opacity=value)
        for i, row in enumerate(opacities)
        for j, value in enumerate(row)
    )


def bar(x: float, y: float, height: float, pieces: Iterable[tuple[float, str]]) -> str:
    """Pieces in a row from (x, y), each a width, of which one unit is the gap after it, and a colour."""
    drawn = []
    for width, colour in pieces:
        drawn.append(rect(x, y, width - 1, height, fill=colour))
        x += width
    return "".join(drawn)


def percent(share: float) -> str:
    """A percentage without digits after the point; 100 means all, so what is just below it has one."""
    return f"{min(share, 99.9):.1f}" if 99.5 <= share < 100 else f"{share:.0f}"


def shares(columns: Mapping[str, str], rows: Mapping[str, Sequence[float | None]]) -> str:
    """A table of percentages, the darker the larger.

    Args:
        columns: their names, and what stands below each.
        rows: name -> a percentage for each column; None where there is none.
    """
    left, top, wide, high = 230, 44, 108, 30
    drawn = []
    for j, (name, words) in enumerate(columns.items()):
        x = left + wide * (j + 0.5)
        drawn.append(text(x, 18, name, text_anchor="middle", font_weight="bold"))
        drawn.append(text(x, 34, words, text_anchor="middle", fill="#555"))
    for i, (name, percentages) in enumerate(rows.items()):
        y = top + high * i
        drawn.append(text(left - 10, y + 20, name, text_anchor="end"))
        drawn.append(
            grid([[0.06 + 0.9 * (p or 0) / 100 for p in percentages]], "#1f5a8a", wide, high, x=left, y=y)
        )
        for j, p in enumerate(percentages):
            look = {"text_anchor": "middle", "fill": "#fff" if p and p > 55 else LIGHT}
            drawn.append(text(left + wide * (j + 0.5), y + 20, "–" if p is None else percent(p), **look))
    size = left + wide * len(columns) + 8, top + high * len(rows) + 8
    return svg(*size, rect(0, 0, *size, fill="#fff"), *drawn, role="img")


def chart(
    bands: Sequence[tuple[str, str, Sequence[Line]]],
    runs: Sequence[Mapping[str, Any]],
    *,
    x: str,
    y: str,
    log: bool = False,
) -> str:
    """Bands from the lowest to the highest seed, and lines over them, each named at its end, as a small SVG.

    Args:
        bands: (words, origin, seeds).
        runs: each with a `label`, an `origin` and `points`.
        x, y: titles of the axes.
        log: whether the y axis is logarithmic.
    """
    width, height, left, right, top, bottom = 760, 340, 56, 250, 24, 40
    scale = (lambda value: math.log10(max(value, 1e-9))) if log else float
    lines = [seed for _, _, seeds in bands for seed in seeds]
    lines += [([at for at, _ in run["points"]], [value for _, value in run["points"]]) for run in runs]
    xs, ys = ([value for one in lines for value in one[side]] for side in (0, 1))
    ys = [scale(value) for value in ys]
    most, low, high = max(xs, default=1) or 1, min(ys, default=0.0), max(ys, default=1.0)
    low, high = (low if log else min(low, 0.0)), high if high > low else low + 1

    def place(at: float, value: float) -> tuple[float, float]:
        share = (scale(value) - low) / (high - low)
        return left + (width - left - right) * at / most, height - bottom - (height - top - bottom) * share

    end = width - right
    parts = [rect(0, 0, width, height, fill="#fffefb")]
    for step in range(5):
        value = low + (high - low) * step / 4
        value = 10**value if log else value
        where = place(0, value)[1]
        parts.append(line([(left, where), (end, where)], "#e3e1da", 1))
        parts.append(text(left - 6, where + 4, f"{value:.3g}", text_anchor="end", font_size=11))
        at, below = most * step / 4, {"text_anchor": "middle", "font_size": 11}
        parts.append(text(place(at, value)[0], height - bottom + 16, f"{at:,.0f}", **below))
    parts.append(text(left, top - 9, y))
    parts.append(text(end, height - 8, x, text_anchor="end"))
    named: list[tuple[float, str, str]] = []
    for words, name, seeds in bands:
        steps = seeds[0][0]
        columns = list(zip(*(values for _, values in seeds), strict=False))
        edge = [place(at, max(column)) for at, column in zip(steps, columns, strict=False)]
        edge += [place(at, min(column)) for at, column in reversed(list(zip(steps, columns, strict=False)))]
        joined = " ".join(f"{one:.1f},{other:.1f}" for one, other in edge)
        parts.append(element("polygon", points=joined, fill=ORIGINS[name], fill_opacity=0.22))
        middle = [place(at, sum(column) / len(column)) for at, column in zip(steps, columns, strict=False)]
        parts.append(line(middle, ORIGINS[name], 1.5))
        if middle:
            named.append((middle[-1][1], f"{words}, {len(seeds)} recorded seeds", ORIGINS[name]))
    dashes: dict[str, int] = {}
    for run in runs:
        number = dashes[run["origin"]] = dashes.get(run["origin"], -1) + 1
        dash = (None, "7 4", "2 3", "10 3 2 3")[number % 4]
        points = [place(at, value) for at, value in run["points"]]
        colour = ORIGINS[run["origin"]]
        if points:
            parts.append(line(points, colour, 2.2, stroke_dasharray=dash))
            parts.append(element("circle", cx=points[-1][0], cy=points[-1][1], r=3.5, fill=colour))
            named.append((points[-1][1], run["label"], colour))
    lowest = 0.0
    for where, words, colour in sorted(named):
        lowest = max(where + 4, lowest + 15)
        parts.append(text(end + 8, lowest, words, fill=colour, font_size=12))
    described = "; ".join(words for _, words, _ in named)
    return svg(width, height, *parts, role="img", aria_label=f"{y} against {x}: {described}")


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
class Picture:
    """A picture with its description: a notebook shows it as SVG, and its `alt` where there are no pictures."""

    svg: str
    alt: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.alt}


def diagram(name: str, **values: object) -> Picture:
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
    return Picture(svg(WIDTH, height, body, **{"class": "diagram"}, **look), alt)


def _shape(
    kind: str, numbers: list[float], label: str | None, words: str, boxes: dict[str, Box], used: set[str]
) -> list[str]:
    """One line of `shapes`; notes where it lies and which origins it shows."""
    if kind == "words":
        return _label(numbers[0], numbers[1], words, anchor=label or "start", fill=SOFT)
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
        return [shape, *_label(x + 7, y + 15, words, fill=SOFT)]
    return [shape, *_label(x + w / 2, y + h / 2 + 4.2 - LINE * words.count("/") / 2, words, anchor="middle")]


def _cell(x: float, y: float, size: float, colour: str, mark: str) -> str:
    opacity = {"#": 0.95, "+": 0.5, "-": 0.22, ".": 0.0}[mark]
    return element("rect", x=x + 0.5, y=y + 0.5, width=size - 1, height=size - 1, fill=colour, fill_opacity=opacity,
                   stroke=colour, stroke_opacity=0.4, stroke_width=0.6)  # fmt: skip


def _label(x: float, y: float, words: str, *, anchor: str = "start", fill: str = INK) -> list[str]:
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
        drawn += _label(*at, found["words"], anchor="start" if upright else "middle", fill=colour)
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
        parts += _label(x + 20, y + 10, CALLED.get(entry, entry), fill=SOFT)
    return parts, -(-len(entries) // 2)
