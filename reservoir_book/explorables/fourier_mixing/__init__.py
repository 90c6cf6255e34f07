"""Draw a signal over tokens and features: what a Fourier layer mixes it to, and what the real part has lost."""

from __future__ import annotations

import torch
import traitlets
from torch import Tensor

from reservoir.layers import fourier
from reservoir_book.explorables import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS

TOKENS, FEATURES = 8, 10
VALUES = {"0": 0.0, "1": 1.0, "2": -1.0}
SIDE = 20  # pixels of a cell in the picture


class FourierMixing(Explorable, source=__file__):
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
