"""The explorable of the tests: one of each control, numbers as bytes, a figure that follows."""

from pathlib import Path

import numpy as np
import traitlets

from reservoir_book.explorables import Explorable


class Wave(Explorable, folder=Path(__file__).parent):
    waves = traitlets.Int(2).tag(sync=True)
    width = traitlets.Float(1.0).tag(sync=True)
    shape = traitlets.Enum(["sine", "square"], "sine").tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    noisy = traitlets.Bool(False).tag(sync=True)
    name = traitlets.Unicode("A wave").tag(sync=True)
    weights = traitlets.Bytes(np.arange(5, dtype=np.float32).tobytes()).tag(sync=True)

    def picture(self) -> str:
        return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><path d="M0 5L20 5" stroke="grey"/></svg>'
