"""Controls: choose what is learned, press *Train*, and watch the curve move over the recorded runs.

Training runs in a thread of its own, so that *Stop* is heard at any time, and what it shows is set on a `widgets.HTML`,
which any version of Jupyter's widgets draws. Where nobody can press anything, as when the book is executed, only the
recorded runs are drawn; that figure is what the pages and the stored notebooks show.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go
from IPython.display import display

from reservoir.training import Event, Finished, Started, Stepped, Validated
from reservoir_book import plots
from reservoir_book.explorables import pictures
from reservoir_book.kernel import answered, duration
from reservoir_lab.runs import build, find_records
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.preemption import Preempted
from reservoir_lab.runs.run import Run

EVERY = 0.3  # seconds between two pictures
KEPT = 6  # runs in view; the oldest goes first
Choice = Mapping[str, Any] | Sequence[Any] | str


def choose_and_train(
    make: Callable[..., Run],
    *,
    recorded: Mapping[str, str],
    metric: str = "perplexity",
    title: str = "perplexity (logarithmic)",
    log: bool = True,
    **choices: Choice,
) -> go.Figure | None:
    """Show a control that trains what is chosen; without somebody to press it, return the figure of the recorded runs.

    Args:
        make: from a value for each of `choices`, the run to train; a ValueError of it is told to the reader.
        recorded: words -> the recipe whose recorded runs are drawn as a band.
        metric: the validation metric that is drawn.
        title: of its axis, with the unit.
        log: whether that axis is logarithmic.
        choices: for each argument of `make` its values, by their words or by themselves; or a text to begin with.

    Raises:
        ValueError: a recipe in `recorded` has no records.
    """
    bands = {words: _lines(recipe, metric) for words, recipe in recorded.items()}
    if not answered():
        drawn = plots.curve(bands, x="steps", y=title, origins=dict.fromkeys(bands, "fixed"))
        return drawn.update_yaxes(type="log" if log else "linear")
    display(Control(make, bands, metric=metric, title=title, log=log, choices=choices).box)
    return None


def _lines(recipe: str, metric: str) -> list[plots.Line]:
    records = find_records(recipe)
    if not records:
        raise ValueError(f"recorded names {recipe!r}, of which there are no records")
    return [([p["step"] for p in one.points], [p["metrics"][metric] for p in one.points]) for one in records]


class Control:
    """The widgets of one control, in `box`, and the runs that it has trained, in `runs`."""

    def __init__(
        self,
        make: Callable[..., Run],
        bands: Mapping[str, Sequence[plots.Line]],
        *,
        metric: str,
        title: str,
        log: bool,
        choices: Mapping[str, Choice],
    ):
        self.make, self.bands, self.metric, self.title, self.log = make, bands, metric, title, log
        self.runs: list[dict[str, Any]] = []
        self.thread: threading.Thread | None = None
        self.stopping = False
        self.fields = {}
        for name, values in choices.items():
            words = {"description": name.replace("_", " "), "style": {"description_width": "initial"}}
            if isinstance(values, str):
                self.fields[name] = widgets.Text(value=values, **words)
            else:
                options = values.items() if isinstance(values, Mapping) else [(str(v), v) for v in values]
                self.fields[name] = widgets.Dropdown(options=list(options), **words)
        self.seed = widgets.BoundedIntText(
            value=0, min=0, max=9999, description="seed", layout={"width": "12em"}
        )
        self.train = widgets.Button(description="Train", button_style="primary")
        self.stop = widgets.Button(description="Stop", disabled=True)
        self.clear = widgets.Button(description="Clear")
        self.picture, self.words = widgets.HTML(), widgets.HTML()
        self.train.on_click(self.begin)
        self.stop.on_click(lambda _: setattr(self, "stopping", True))
        self.clear.on_click(self.forget)
        row = {"display": "flex", "flex_flow": "row wrap"}
        self.box = widgets.VBox(
            [
                widgets.Box([*self.fields.values(), self.seed], layout=row),
                widgets.Box([self.train, self.stop, self.clear], layout=row),
                self.words,
                self.picture,
            ]
        )
        self.say("Choose, and press Train. The band is what the recorded seeds did.")
        self.draw()

    def say(self, words: str) -> None:
        self.words.value = f'<div role="status">{escape(words)}</div>'

    def forget(self, _: Any = None) -> None:
        """Take the runs that have ended out of view."""
        self.runs = [run for run in self.runs if run is self.runs[-1] and self.thread is not None]
        self.draw()

    def begin(self, _: Any = None) -> None:
        """Train what is chosen, in a thread."""
        if self.thread is not None:
            return
        values = {name: field.value for name, field in self.fields.items()}
        try:
            run = self.make(**values).evolve(seed=self.seed.value)
        except ValueError as error:
            self.say(f"This cannot be trained: {error}.")
            return
        said = [
            next(
                (str(words) for words, value in getattr(field, "options", ()) if value == values[name]), None
            )
            or str(values[name])
            for name, field in self.fields.items()
        ]
        label = f"{', '.join(said)}, seed {run.seed}"
        self.runs = [*self.runs, {"label": label, "origin": origin(run), "points": []}][-KEPT:]
        self.stopping, self.train.disabled, self.stop.disabled = False, True, False
        self.say(f"{label}: building the model.")
        self.thread = threading.Thread(target=self._train, args=(run, self.runs[-1]), daemon=True)
        self.thread.start()

    def _train(self, run: Run, shown: dict[str, Any]) -> None:
        begun = drawn = time.monotonic()
        first = 0

        def watch(event: Event) -> None:
            nonlocal begun, drawn, first
            now = time.monotonic()
            match event:
                case Started(step=step):
                    begun, first = now, step
                case Stepped(step=step, loss=loss) if now - drawn >= EVERY:
                    drawn = now
                    left = (now - begun) * (run.budget.steps - step) / max(step - first, 1)
                    said = f"step {step:,} of {run.budget.steps:,}, loss {loss:.2f}, {duration(left)} left"
                    self.say(f"{shown['label']}: {said}")
                case Validated(point=point):
                    shown["points"].append((point.step, point.metrics[self.metric]))
                    self.draw()
                case Finished():
                    value = f"{shown['points'][-1][1]:.3g}" if shown["points"] else "nothing measured"
                    self.say(f"{shown['label']}: {self.metric} {value} after {duration(now - begun)}.")

        try:
            model, task, _ = build(run)
            train_run(run, model, task, listeners=[watch], stop=lambda: self.stopping)
        except Preempted:
            self.say(f"{shown['label']}: stopped.")
        except Exception as error:  # in a thread nobody else would hear of it
            self.say(f"{shown['label']}: training ended with {type(error).__name__}: {error}")
        finally:
            self.thread, self.train.disabled, self.stop.disabled = None, False, True

    def draw(self) -> None:
        """Show the recorded bands and the runs so far."""
        bands = [(words, "fixed", seeds) for words, seeds in self.bands.items()]
        self.picture.value = chart(bands, self.runs, x="steps", y=self.title, log=self.log)


def origin(run: Run) -> str:
    """Where the most unusual weights of a run come from, by which its curve is coloured."""
    if run.mask.keep < 1:
        return "masked"
    if run.freeze != type(run.freeze)():
        return "seeded"
    return "trained"


def chart(
    bands: Sequence[tuple[str, str, Sequence[plots.Line]]],
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
    xs = [at for _, _, seeds in bands for seed in seeds for at in seed[0]]
    xs += [at for run in runs for at, _ in run["points"]]
    ys = [scale(value) for _, _, seeds in bands for seed in seeds for value in seed[1]]
    ys += [scale(value) for run in runs for _, value in run["points"]]
    most, low, high = max(xs, default=1) or 1, min(ys, default=0.0), max(ys, default=1.0)
    low, high = (low if log else min(low, 0.0)), high if high > low else low + 1

    def place(at: float, value: float) -> tuple[float, float]:
        share = (scale(value) - low) / (high - low)
        return left + (width - left - right) * at / most, height - bottom - (height - top - bottom) * share

    end = width - right
    parts = [pictures.rect(0, 0, width, height, fill="#fffefb")]
    for step in range(5):
        value = low + (high - low) * step / 4
        value = 10**value if log else value
        where = place(0, value)[1]
        parts.append(pictures.line([(left, where), (end, where)], "#e3e1da", 1))
        parts.append(pictures.text(left - 6, where + 4, f"{value:.3g}", text_anchor="end", font_size=11))
        at = most * step / 4
        parts.append(
            pictures.text(
                place(at, value)[0], height - bottom + 16, f"{at:,.0f}", text_anchor="middle", font_size=11
            )
        )
    parts.append(pictures.text(left, top - 9, y))
    parts.append(pictures.text(end, height - 8, x, text_anchor="end"))
    named: list[tuple[float, str, str]] = []
    for words, name, seeds in bands:
        steps = seeds[0][0]
        columns = list(zip(*(values for _, values in seeds), strict=False))
        edge = [place(at, max(column)) for at, column in zip(steps, columns, strict=False)]
        edge += [place(at, min(column)) for at, column in reversed(list(zip(steps, columns, strict=False)))]
        joined = " ".join(f"{one:.1f},{other:.1f}" for one, other in edge)
        parts.append(pictures.element("polygon", points=joined, fill=plots.ORIGINS[name], fill_opacity=0.22))
        middle = [place(at, sum(column) / len(column)) for at, column in zip(steps, columns, strict=False)]
        parts.append(pictures.line(middle, plots.ORIGINS[name], 1.5))
        if middle:
            named.append((middle[-1][1], f"{words}, {len(seeds)} recorded seeds", plots.ORIGINS[name]))
    dashes: dict[str, int] = {}
    for run in runs:
        number = dashes[run["origin"]] = dashes.get(run["origin"], -1) + 1
        dash = (None, "7 4", "2 3", "10 3 2 3")[number % 4]
        points = [place(at, value) for at, value in run["points"]]
        colour = plots.ORIGINS[run["origin"]]
        if points:
            parts.append(pictures.line(points, colour, 2.2, stroke_dasharray=dash))
            parts.append(pictures.element("circle", cx=points[-1][0], cy=points[-1][1], r=3.5, fill=colour))
            named.append((points[-1][1], run["label"], colour))
    lowest = 0.0
    for where, words, colour in sorted(named):
        lowest = max(where + 4, lowest + 15)
        parts.append(pictures.text(end + 8, lowest, words, fill=colour, font_size=12))
    described = "; ".join(words for _, words, _ in named)
    return pictures.svg(width, height, *parts, role="img", aria_label=f"{y} against {x}: {described}")
