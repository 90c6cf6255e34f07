"""A recurrent body, which reads as a language model's does: from the beginning, with a state for what has been."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class LSTMConfig:
    """Sizes of a recurrent body.

    Args:
        d_model: width of the input and of the states.
        layers: depth.
    """

    d_model: int = 128
    layers: int = 2

    def build_body(self) -> LSTMBody:
        """What reads."""
        return LSTMBody(self)


class LSTMBody(nn.LSTM):
    """An LSTM (Hochreiter & Schmidhuber 1997); its memory is not initialised.

    Args:
        config: sizes.
    """

    def __init__(self, config: LSTMConfig):
        self.stream, self.blocks = "lstm", 4  # the maps of four gates are stacked along the rows
        super().__init__(config.d_model, config.d_model, config.layers, batch_first=True)

    def reset_parameters(self) -> None:
        """Leave the memory as it is: `reservoir.frozen.initialise` draws every weight from its stream."""

    def states(self, x: Tensor) -> Tensor:  # (batch, length, d_model) -> same
        """The last layer's states."""
        with torch.autocast(x.device.type, enabled=False):  # a sum over hundreds of steps wants its digits
            return super().forward(x.float())[0]
