"""Controls: choose what is learned, press *Train*, and watch the curve move over the recorded runs.

Training runs in a thread of its own, so that *Stop* is heard at any time, and what it shows is set on a `widgets.HTML`,
which any version of Jupyter's widgets draws. Where nobody can press anything, as when the book is executed, only the
recorded runs are drawn; that figure is what the pages and the stored notebooks show.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go
from IPython.display import display

from reservoir.training import Event, Finished, Validated
from reservoir_book import pictures, plots
from reservoir_book.kernel import Progress, answered, duration
from reservoir_lab.runs import build, find_records
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.handlers import Checkpoints
from reservoir_lab.runs.preemption import Preempted
from reservoir_lab.runs.run import Run

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
        self.plot()

    def say(self, words: str) -> None:
        self.words.value = f'<div role="status">{escape(words)}</div>'

    def forget(self, _: Any = None) -> None:
        """Take the runs that have ended out of view."""
        self.runs = [run for run in self.runs if run is self.runs[-1] and self.thread is not None]
        self.plot()

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
        said = [str(getattr(field, "label", field.value)) for field in self.fields.values()]
        label = f"{', '.join(said)}, seed {run.seed}"
        self.runs = [*self.runs, {"label": label, "origin": origin(run), "points": []}][-KEPT:]
        self.stopping, self.train.disabled, self.stop.disabled = False, True, False
        self.say(f"{label}: building the model.")
        self.thread = threading.Thread(target=self._train, args=(run, self.runs[-1]), daemon=True)
        self.thread.start()

    def _train(self, run: Run, shown: dict[str, Any]) -> None:
        def say(words: str) -> None:
            self.say(f"{shown['label']}: {words}")

        progress = Progress(say, patience=0.0)

        def watch(event: Event) -> None:
            progress(event)
            match event:
                case Validated(point=point):
                    shown["points"].append((point.step, point.metrics[self.metric]))
                    self.plot()
                case Finished() if shown["points"]:
                    taken = duration(progress.clock() - progress.begun)
                    say(f"{self.metric} {shown['points'][-1][1]:.3g} after {taken}")

        try:
            model, task, _ = build(run)
            asked = Checkpoints(stop=lambda: self.stopping)
            train_run(run, model, task, listeners=[watch], checkpoints=asked)
        except Preempted:
            say("stopped.")
        except Exception as error:  # in a thread nobody else would hear of it
            say(f"training ended with {type(error).__name__}: {error}")
        finally:
            self.thread, self.train.disabled, self.stop.disabled = None, False, True

    def plot(self) -> None:
        """Show the recorded bands and the runs so far."""
        bands = [(words, "fixed", seeds) for words, seeds in self.bands.items()]
        self.picture.value = pictures.chart(bands, self.runs, x="steps", y=self.title, log=self.log)


def origin(run: Run) -> str:
    """Where the most unusual weights of a run come from, by which its curve is coloured; a transform has none."""
    mixing = {*getattr(run.model, "mixing", ()), *getattr(run.model, "encoder_mixing", ())}
    if run.mask.keep < 1:
        return "masked"
    if mixing & {"fourier", "fourier-normalised", "dft"} or run.freeze.drawn == "identity":
        return "fixed"
    if run.freeze != type(run.freeze)() or "random-mixing" in mixing:
        return "seeded"
    return "trained"
