"""The echo state lab of chapter 2: a reservoir that is drawn, driven, read and let go in the page."""

from __future__ import annotations

import numpy as np
import torch
import traitlets

from reservoir.datasets import lorenz, mackey_glass
from reservoir.reservoirs import EchoState, SpectralRadius, free_run, ridge
from reservoir.weights import initialise
from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS

WASHOUT, KNOWN = 200, 1700  # as in model.mjs
AHEAD = {"mackey-glass": 900, "lorenz": 500}


class EchoStateLab(Explorable, source=__file__):
    """Sliders for a reservoir; the page draws it from its seed, drives it, solves for its readout and lets it forecast.

    Its weights are those of `EchoState(inputs, size, stream="lab", …)`, bit for bit.

    Attributes:
        task: "mackey-glass" or "lorenz".
        size: units, 50, 100 or 200.
        radius, leak, scaling, bias: as `SpectralRadius`, `leak`, `input_scaling` and `bias_scaling` of `EchoState`.
        penalty: the readout's regularisation is 10 to this power.
        seed: what the reservoir is drawn from.
        lyapunov: by task, by how many factors of e an error grows in a unit of time.
    """

    label = traitlets.Unicode("The echo state lab").tag(sync=True)
    text = traitlets.Unicode(
        "A random reservoir is driven by a chaotic series, a linear readout is fitted to its states, and then it is let"
        " go to forecast by itself. Sliders set its spectral radius, its leak and its input scaling."
    ).tag(sync=True)
    task = traitlets.Enum(list(AHEAD), "mackey-glass").tag(sync=True)
    size = traitlets.Enum([50, 100, 200], 100).tag(sync=True)
    radius = traitlets.Float(0.9).tag(sync=True)
    leak = traitlets.Float(0.4).tag(sync=True)
    scaling = traitlets.Float(0.5).tag(sync=True)
    bias = traitlets.Float(0.5).tag(sync=True)
    penalty = traitlets.Int(-6).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    lyapunov = traitlets.Dict({"mackey-glass": 0.0054, "lorenz": 0.9}).tag(sync=True)

    def computed(self) -> dict[str, np.ndarray]:
        """What the page shows at these settings: series, states, readout (weight and bias) and forecast."""
        draw = lorenz if self.task == "lorenz" else mackey_glass
        series = draw(KNOWN + AHEAD[self.task])
        series = (series - series[:KNOWN].mean(0)) / series[:KNOWN].std(0)
        u = torch.from_numpy(series)
        reservoir = EchoState(
            u.shape[1],
            self.size,
            stream="lab",
            recurrent=SpectralRadius(self.radius),
            leak=self.leak,
            input_scaling=self.scaling,
            bias_scaling=self.bias,
        )
        states = initialise(reservoir, seed=self.seed)(u[:KNOWN])
        readout = ridge(states[WASHOUT:-1], u[WASHOUT + 1 : KNOWN], regularisation=10.0**self.penalty)
        forecast = free_run(reservoir, readout, states[-1], AHEAD[self.task])
        named = {"states": states, "weight": readout.weight, "bias": readout.bias, "forecast": forecast}
        return {"series": series} | {name: value.numpy() for name, value in named.items()}

    def picture(self) -> str:
        """The series and the forecast, as an SVG of two lines."""
        found, ahead = self.computed(), min(400, AHEAD[self.task])

        def line(values: np.ndarray, origin: str, width: float) -> str:
            points = ((1.5 * i, 70 - 22 * max(-3.0, min(3.0, float(y)))) for i, y in enumerate(values))
            return pictures.line(points, ORIGINS[origin], width)

        true, said = found["series"][KNOWN : KNOWN + ahead, 0], found["forecast"][:ahead, 0]
        return pictures.svg(1.5 * ahead, 140, line(true, "fixed", 4), line(said, "trained", 1.8))
