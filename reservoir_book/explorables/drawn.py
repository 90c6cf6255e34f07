"""Explorables that draw all they show from a seed: weights, projections, labels, transforms, holes, echo states."""

from __future__ import annotations

import math
from html import escape

import numpy as np
import torch
import traitlets
from torch import Tensor

from reservoir.datasets import lorenz, mackey_glass
from reservoir.layers import fourier
from reservoir.reservoirs import EchoState, SpectralRadius, free_run, ridge
from reservoir.training import mask
from reservoir.weights import Stream, draws, initialise
from reservoir_book import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS

DISTRIBUTIONS = ("uniform", "sign", "normal", "orthogonal")


def seeded_weights(seed: int, name: str, *, kind: str = "uniform", size: int = 16) -> Tensor:
    """What `SeededWeights` shows: a (size, size) matrix with a standard deviation of 1 / √size.

    Args:
        seed, name: of the stream.
        kind: one of `DISTRIBUTIONS`, the draws of `reservoir.weights.draws`.
        size: rows and columns.
    """
    stream, shape = Stream(seed, name), (size, size)
    match kind:
        case "uniform":
            return draws.uniform(stream, shape, bound=math.sqrt(3 / size))
        case "sign":
            return draws.sign(stream, shape, scale=1 / math.sqrt(size))
        case "normal":
            return draws.normal(stream, shape, std=1 / math.sqrt(size))
        case "orthogonal":
            return draws.orthogonal(stream, *shape, gain=1.0)
    raise ValueError(f"kind must be one of {', '.join(DISTRIBUTIONS)}, got {kind!r}")


class SeededWeights(Explorable, folder="seeded_weights"):
    """A matrix of weights that is stored as a seed and a name, drawn in the page with the bits that Python draws.

    Args:
        seed: a whole number.
        name: of the tensor's stream.
        kind: one of `DISTRIBUTIONS`.
        size: rows and columns, 4 to 32.
    """

    label = traitlets.Unicode("Weights from a seed").tag(sync=True)
    text = traitlets.Unicode(
        "A square matrix of small squares, strong in colour where a weight is large and pale where it is negative. "
        "A seed and a name are all that is stored; any other seed, and any other name, gives an unrelated matrix."
    ).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    name = traitlets.Unicode("encoder.0.attention.out").tag(sync=True)
    kind = traitlets.Enum(DISTRIBUTIONS, "uniform").tag(sync=True)
    size = traitlets.Int(16, min=4, max=32).tag(sync=True)

    def picture(self) -> str:
        """The matrix as it is at first."""
        weights = seeded_weights(self.seed, self.name, kind=self.kind, size=self.size)
        opacities = 0.52 + 0.48 * weights / weights.abs().max()
        cells = pictures.grid(opacities.tolist(), ORIGINS["seeded"], 10, 10)
        return pictures.svg(10 * self.size, 10 * self.size, cells)


class Separability(Explorable, folder="separability"):
    """Cover's theorem, drawn: one labelling that is separated or fails, the share that is, and the formula.

    Lifted points lie in the plane and go through `reservoir.weights.FourierFeatures(2, d, seed=seed, gamma=5)`.

    Attributes:
        n, d: points and dimensions.
        lifted: "no" for points in d dimensions, "yes" for points in the plane that are lifted there.
        number: which drawing is shown.
        seed: of points, labels and features.
    """

    n = traitlets.Int(20).tag(sync=True)
    d = traitlets.Int(10).tag(sync=True)
    lifted = traitlets.Enum(["no", "yes"], "no").tag(sync=True)
    number = traitlets.Int(0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)


class RandomProjection(Explorable, folder="random_projection"):
    """Forty points under a random projection: ratios of squared distances, next to what the theorem promises.

    The weights are those of `reservoir.weights.RandomProjection(d, k, seed=seed, kind=kind)`.

    Attributes:
        k, d: dimensions after and before.
        epsilon: the relative error of a squared distance that is shaded.
        kind: "gaussian", "sign" or "sparse".
        cloud: "scattered" points, or "words" with a one in a place of their own.
        seed: of points and projection.
    """

    k = traitlets.Int(32).tag(sync=True)
    d = traitlets.Int(1024).tag(sync=True)
    epsilon = traitlets.Float(0.3).tag(sync=True)
    kind = traitlets.Enum(["gaussian", "sign", "sparse"], "gaussian").tag(sync=True)
    cloud = traitlets.Enum(["scattered", "words"], "scattered").tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)


TOKENS, FEATURES = 8, 10
VALUES = {"0": 0.0, "1": 1.0, "2": -1.0}
SIDE = 20  # pixels of a cell in the picture


class FourierMixing(Explorable, folder="fourier_mixing"):
    """A signal to draw, its mixing `Re(FFT_seq(FFT_hidden(x)))`, and what comes back from it with frequencies removed.

    Attributes:
        signal: a digit for each entry, token by token: 0 is nothing, 1 is one, 2 is minus one.
        tokens, features: the highest frequency that is kept along either axis.
        part: what is transformed back, the "real" part as in the layer, or "both".
    """

    label = traitlets.Unicode("What a Fourier layer does to a signal").tag(sync=True)
    text = traitlets.Unicode(
        "Four entries of a grid of 8 tokens and 10 features are drawn. Their mixing fills nearly the whole grid. What"
        " is transformed back from its real part is the mean of the drawing and of its mirror image."
    ).tag(sync=True)
    signal = traitlets.Unicode("0" * 23 + "11" + "0" * 8 + "12" + "0" * 45).tag(sync=True)
    tokens = traitlets.Int(TOKENS // 2, min=0, max=TOKENS // 2).tag(sync=True)
    features = traitlets.Int(FEATURES // 2, min=0, max=FEATURES // 2).tag(sync=True)
    part = traitlets.Enum(["real", "both"], "real").tag(sync=True)

    @traitlets.validate("signal")
    def _is_a_signal(self, proposal):
        value = proposal["value"]
        if len(value) != TOKENS * FEATURES or set(value) - set(VALUES):
            raise traitlets.TraitError(f"signal must be {TOKENS * FEATURES} digits 0, 1 and 2, got {value!r}")
        return value

    def numbers(self) -> Tensor:
        """The signal, (8, 10)."""
        values = [VALUES[digit] for digit in self.signal]
        return torch.tensor(values, dtype=torch.float64).view(TOKENS, FEATURES)

    def picture(self) -> str:
        """The three grids at first, with all frequencies kept and the real part alone."""
        x = self.numbers()
        mixed = fourier(x)
        back = fourier(mixed) / mixed.numel()
        grey, ink = ORIGINS["fixed"], pictures.INK
        shown = (x, ink, 1.0), (mixed, grey, float(mixed.abs().max()) or 1.0), (back, ink, 1.0)
        wide, tall, parts = SIDE * FEATURES, SIDE * TOKENS, []
        for number, (values, colour, largest) in enumerate(shown):
            left = number * (wide + 24)
            parts.append(pictures.rect(left, 0, wide, tall, fill="none", stroke="#b9bec4"))
            for row, line in enumerate(values.tolist()):
                for column, value in enumerate(line):
                    half = (SIDE / 2 - 2) * (abs(value) / largest) ** 0.5
                    if half >= 0.7:
                        at = left + (column + 0.5) * SIDE - half, (row + 0.5) * SIDE - half
                        fill, stroke = (colour, None) if value > 0 else ("none", colour)
                        parts.append(pictures.rect(*at, 2 * half, 2 * half, fill=fill, stroke=stroke))
        return pictures.svg(3 * wide + 48, tall, *parts, overflow="visible")


LINE = 17  # words in a line of the picture


class Masking(Explorable, folder="masking"):
    """A text with the holes that `reservoir.training.mask` draws, one line an epoch.

    Epoch e is drawn from `Stream(seed, f"masking/{e}")`; each word counts as one token.

    Attributes:
        sentence: the text; its first 60 words are used.
        share: of the words, how many are asked about, in percent.
        epochs: how many lines there are.
        drawn: "anew" in each epoch, or "once".
        seed: of the holes.
    """

    label = traitlets.Unicode("Holes in a text").tag(sync=True)
    text = traitlets.Unicode(
        "A sentence of 34 words, four times, with other holes each time. In each line five words are asked about:"
        " four are hidden, and one is left as it is. With a larger share some are replaced, too."
    ).tag(sync=True)
    sentence = traitlets.Unicode(
        "the old man who sold his boat to a stranger never went back to the sea but every evening he walked down to the"
        " harbour and waited there until the last light was out"
    ).tag(sync=True)
    share = traitlets.Int(15, min=1, max=60).tag(sync=True)
    epochs = traitlets.Int(4, min=1, max=12).tag(sync=True)
    drawn = traitlets.Enum(["anew", "once"], "anew").tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)

    def picture(self) -> str:
        """The lines as they are at first."""
        words = self.sentence.split()[:60]
        ids, lines = 4 + torch.arange(len(words))[None], []
        for epoch in range(self.epochs):
            stream = Stream(self.seed, f"masking/{epoch if self.drawn == 'anew' else 0}")
            drawn = mask(ids, stream, mask_id=4 + len(words), share=self.share / 100)
            asked, read = set(drawn.positions.tolist()), (drawn.ids[0] - 4).tolist()
            spans = [
                escape(word)
                if place not in asked
                else "▇▇▇"
                if read[place] == len(words)
                else f'<tspan text-decoration="underline">{escape(words[read[place]])}</tspan>'
                for place, word in enumerate(words)
            ]
            lines += [" ".join(spans[start : start + LINE]) for start in range(0, len(spans), LINE)]
        look = {"font_family": "sans-serif", "font_size": 14, "fill": "currentColor"}
        texts = [pictures.element("text", each, x=8, y=24 * number + 20) for number, each in enumerate(lines)]
        return pictures.svg(680, 24 * len(lines) + 8, *texts, **look)


WASHOUT, KNOWN = 200, 1700  # as in model.mjs
AHEAD = {"mackey-glass": 900, "lorenz": 500}


class EchoStateLab(Explorable, folder="echo_state"):
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
        """The series and the forecast."""
        found = self.computed()
        shown = {
            "the series": ("fixed", found["series"][KNOWN:, 0]),
            "forecast": ("trained", found["forecast"][:, 0]),
        }
        lines = [
            {"label": name, "origin": origin, "points": [*enumerate(map(float, values[:400]))]}
            for name, (origin, values) in shown.items()
        ]
        return pictures.chart([], lines, x="steps ahead", y="standard deviations")
