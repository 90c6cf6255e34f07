"""Figures in one style: plotly, a colour for each origin of a weight, seeds as a band.

A figure sets neither width nor the colours of its template: the page adds both, in light and in dark.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots as make_subplots  # for pages with several panels

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


DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
HEIGHT = 360
HOVER = 40  # characters of a line under the pointer, which a phone has room for

Line = tuple[Sequence[float], Sequence[float]]
"""The x and the y of one run."""


def use_in_notebooks() -> None:
    """Store figures in notebooks as plotly JSON, which JupyterLab and the book draw; Colab keeps its own renderer."""
    pio.templates.default = "none"
    if "google.colab" not in sys.modules:
        pio.renderers.default = "plotly_mimetype"


use_in_notebooks()


def bundle(drawn: go.Figure) -> dict[str, Any]:
    """The figure by MIME type, as a notebook stores it."""
    content = json.loads(drawn.to_json())
    return {
        kind: data
        for name in pio.renderers.default.split("+")
        for kind, data in pio.renderers[name].to_mimebundle(content).items()
    }


def figure(*, x: str, y: str, height: int = HEIGHT, **layout: Any) -> go.Figure:
    """An empty figure with axis titles.

    Args:
        x, y: titles of the axes, with the unit: "time (s)".
        height: pixels.
        layout: more of plotly's layout.
    """
    return go.Figure(
        layout={
            "template": "none",
            "height": height,
            "xaxis": {"title": {"text": x}, "automargin": True},
            "yaxis": {"title": {"text": y}, "automargin": True},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 64, "r": 16, "t": 40, "b": 52},
            "hovermode": "closest",
            **layout,
        }
    )


def curve(
    runs: Mapping[str, Sequence[Line]],
    *,
    x: str,
    y: str,
    origins: Mapping[str, str] | None = None,
    height: int = HEIGHT,
) -> go.Figure:
    """One line per name: the mean over its seeds, with a band from the smallest to the largest of them.

    Where the seeds' x differ, as seconds do, the others are interpolated linearly at the x of the first, over the range
    that all of them cover. Names of one origin share its colour and differ in their dash.

    Args:
        runs: for each name, its seeds, each an (x, y) pair of sequences.
        x, y: titles of the axes, with units.
        origins: for each name a key of `ORIGINS`; "trained" for those not named.
        height: pixels.

    Raises:
        ValueError: a name has no run, a run's x and y differ in length, or no x is covered by all seeds.
    """
    drawn = figure(x=x, y=y, height=height)
    used: Counter[str] = Counter()
    for name, seeds in runs.items():
        origin = (origins or {}).get(name, "trained")
        line = {"color": colour(origin), "dash": DASHES[used[origin] % len(DASHES)], "width": 2}
        used[origin] += 1
        at, values = aligned(name, seeds)
        common = {"x": at, "legendgroup": name}
        if len(seeds) > 1:
            edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **common}
            drawn.add_scatter(y=values.max(0).tolist(), **edge)
            drawn.add_scatter(
                y=values.min(0).tolist(), fill="tonexty", fillcolor=colour(origin, 0.22), **edge
            )
        label = name if len(seeds) == 1 else f"{name}, {len(seeds)} seeds"
        look = {"mode": "lines+markers", "line": line, "marker": {"size": 5}}
        drawn.add_scatter(y=values.mean(0).tolist(), name=label, **look, **common)
    return drawn.update_layout(showlegend=len(runs) > 1 or any(len(seeds) > 1 for seeds in runs.values()))


def reference(
    drawn: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    *,
    name: str,
    dash: str = "solid",
    legend: bool = True,
) -> go.Figure:
    """Add a grey line to compare others with, such as a formula, a bound or a level; return the figure.

    Args:
        drawn: the figure.
        x, y: the line.
        name: in the legend; lines of one name have one entry there.
        dash: plotly's name for a dash.
        legend: whether this line makes the entry.
    """
    line = {"color": colour("fixed"), "dash": dash, "width": 1.5}
    entry = {"name": name, "legendgroup": name, "showlegend": legend}
    drawn.add_scatter(x=list(x), y=list(y), mode="lines", line=line, **entry)
    return drawn.update_layout(showlegend=True)


def as_array(values: Any) -> np.ndarray:
    """A tensor, on whatever device and with a gradient or without, or anything else as an array of float64."""
    return np.asarray(values.detach().float().cpu() if hasattr(values, "detach") else values, dtype=float)


def aligned(name: str, seeds: Sequence[Line]) -> tuple[list[float], np.ndarray]:
    """The x that all seeds of `name` cover, and their y there: (seeds, len(x))."""
    if not seeds:
        raise ValueError(f"{name!r} has no run to draw")
    lines = [(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)) for xs, ys in seeds]
    for xs, ys in lines:
        if xs.shape != ys.shape or xs.ndim != 1 or not len(xs):
            raise ValueError(
                f"{name!r} has a run with {xs.size} x and {ys.size} y; give as many, and at least one"
            )
    at = lines[0][0]
    at = at[(at >= max(xs.min() for xs, _ in lines)) & (at <= min(xs.max() for xs, _ in lines))]
    if not len(at):
        raise ValueError(f"the runs of {name!r} have no x in common")
    return at.tolist(), np.stack([np.interp(at, xs, ys) for xs, ys in lines])


def bars(
    values: Mapping[str, Sequence[float]],
    *,
    x: str,
    y: str,
    origin: str | Mapping[str, str] = "trained",
) -> go.Figure:
    """One bar per name: the mean over its seeds, with a whisker from the smallest to the largest.

    Args:
        values: for each name, one value per seed.
        x, y: titles of the axes, with units.
        origin: a key of `ORIGINS`, or one for each name.
    """
    colours = [colour(origin if isinstance(origin, str) else origin[name]) for name in values]
    seeds = [np.asarray(each, dtype=float) for each in values.values()]
    means, spread = [float(each.mean()) for each in seeds], whiskers(seeds, color=ORIGINS["fixed"])
    drawn = figure(x=x, y=y, showlegend=False)
    return drawn.add_bar(x=list(values), y=means, marker={"color": colours}, width=0.6, error_y=spread)


def whiskers(seeds: Sequence[np.ndarray], **look: Any) -> dict[str, Any]:
    """From the mean of each array to its smallest and its largest value, for plotly's `error_y`."""
    return {
        "type": "data",
        "array": [float(each.max() - each.mean()) for each in seeds],
        "arrayminus": [float(each.mean() - each.min()) for each in seeds],
        "visible": any(len(each) > 1 for each in seeds),
        **look,
    }


def scatter(
    methods: Mapping[str, tuple[Sequence[float], Sequence[float], str]], *, x: str, y: str
) -> go.Figure:
    """One point per method: the means over its seeds, with whiskers to the smallest and the largest; x is logarithmic.

    Methods of one origin share a colour and one entry of the legend; a method's name shows under the pointer.

    Args:
        methods: name -> its x and its y, one of each per seed, and a key of `ORIGINS`.
        x, y: titles of the axes, with units.
    """
    drawn = figure(x=x, y=y, height=440)
    for origin in ORIGINS:
        group = {
            name: (np.asarray(xs, dtype=float), np.asarray(ys, dtype=float))
            for name, (xs, ys, of) in methods.items()
            if of == origin
        }
        if not group:
            continue
        spread = whiskers([y for _, y in group.values()], color=colour(origin, 0.6), thickness=1.2, width=3)
        drawn.add_scatter(
            x=[float(xs.mean()) for xs, _ in group.values()],
            y=[float(ys.mean()) for _, ys in group.values()],
            mode="markers",
            text=["<br>".join(textwrap.wrap(name, HOVER, break_on_hyphens=False)) for name in group],
            hovertemplate="%{text}<br>%{x:.3s}, %{y:.1f}<extra></extra>",
            marker={"color": colour(origin), "size": 11},
            error_y=spread,
            name=origin,
            legendgroup=origin,
            showlegend=True,
        )
    return drawn.update_xaxes(type="log")


def attention_map(weights: Any, *, src: Sequence[str], tgt: Sequence[str]) -> go.Figure:
    """What one sequence has to do with another, such as attention weights, as a heatmap: a row for each token of `tgt`.

    Args:
        weights: (tgt, src), between 0 and 1; a tensor or an array.
        src: the tokens that are attended to, across.
        tgt: the tokens that attend, down.

    Raises:
        ValueError: the shapes do not fit together.
    """
    shown = as_array(weights)
    if shown.shape != (len(tgt), len(src)):
        raise ValueError(
            f"weights must be (tgt, src) with {len(tgt)} tgt and {len(src)} src tokens, got {shown.shape}"
        )
    # plotly would read `</s>` as markup and show nothing.
    src, tgt = ([escape(token, quote=False) for token in tokens] for tokens in (src, tgt))
    # Positions, not tokens, are the coordinates: a token may stand twice. Nothing is paper, so dark pages stay dark.
    # Room for the tokens is made by their length: plotly's own way leaves too little of a narrow page for the map.
    left, below = (24 + 7 * max(map(len, tokens)) for tokens in (tgt, src))
    margin = {"l": left, "r": 8, "t": 24, "b": 28 + below * 3 // 4}
    drawn = figure(x="attended to", y="attends", height=500, margin=margin)
    drawn.add_heatmap(
        z=shown.round(3).tolist(),  # what colour can show, and the notebook stays small
        zmin=0,
        zmax=1,
        colorscale=[[0, colour("trained", 0.0)], [1, colour("trained")]],
        colorbar={"title": {"text": "weight"}, "thickness": 12, "outlinewidth": 0, "tickvals": [0, 0.5, 1]},
        customdata=[[[q, k] for k in src] for q in tgt],
        hovertemplate="%{customdata[0]} → %{customdata[1]}: %{z:.2f}<extra></extra>",
        xgap=1,
        ygap=1,
    )
    plain = {"showgrid": False, "zeroline": False, "automargin": False}
    drawn.update_xaxes(tickvals=list(range(len(src))), ticktext=list(src), tickangle=-45, **plain)
    drawn.update_yaxes(tickvals=list(range(len(tgt))), ticktext=list(tgt), autorange="reversed", **plain)
    return drawn


Prefix = tuple[tuple[str, ...], float]
"""Pieces written so far, and their log-probability."""


def search_tree(steps: Sequence[Sequence[Prefix]], *, marked: Mapping[str, Sequence[str]]) -> go.Figure:
    """The prefixes that a beam search kept: each is a point, joined to the prefix that it continues.

    Args:
        steps: for each step, the prefixes that were kept, each (pieces, log-probability).
        marked: translations to trace through the tree, by name: their pieces. The first is drawn solid.
    """
    score = {pieces: log_p for step in steps for pieces, log_p in step}
    drawn = figure(x="pieces written", y="log-probability of the prefix (nats)", height=420)
    above = score | {(): 0.0}
    edges = [
        (len(pieces), above[pieces[:-1]], log_p) for pieces, log_p in score.items() if pieces[:-1] in above
    ]
    across = [x for length, _, _ in edges for x in (length - 1, length, None)]
    down = [y for _, parent, log_p in edges for y in (parent, log_p, None)]
    line, hidden = {"color": colour("fixed", 0.6), "width": 1}, {"hoverinfo": "skip", "showlegend": False}
    drawn.add_scatter(x=across, y=down, mode="lines", line=line, **hidden)
    drawn.add_scatter(
        x=[len(pieces) for pieces in score],
        y=list(score.values()),
        customdata=[["".join(pieces).replace("▁", " ").strip()] for pieces in score],
        hovertemplate="%{customdata[0]}<br>%{y:.2f} nats<extra></extra>",
        mode="markers",
        marker={"color": colour("fixed"), "size": 6},
        name="kept in the beam",
    )
    for number, (name, whole) in enumerate(marked.items()):
        path = [tuple(whole[:length]) for length in range(1, len(whole) + 1)]
        path = [pieces for pieces in path if pieces in score]
        drawn.add_scatter(
            x=[0, *(len(pieces) for pieces in path)],
            y=[0.0, *(score[pieces] for pieces in path)],
            mode="lines+markers",
            hoverinfo="skip",
            line={"color": colour("trained"), "width": 2.5, "dash": DASHES[number % len(DASHES)]},
            marker={"size": 7, "symbol": ("circle", "diamond")[number % 2]},
            name=name,
        )
    return drawn
