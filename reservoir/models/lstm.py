"""A recurrent body, which reads as a language model's does: from the beginning, with a state for what has been."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.precision import full_precision


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
        """Leave the memory as it is: `reservoir.weights.initialise` draws every weight from its stream."""

    def states(self, x: Tensor) -> Tensor:  # (batch, length, d_model) -> same
        """The last layer's states; on the meta device something of their shape, by as many operations."""
        if (
            x.is_meta
        ):  # PyTorch would go through it step by step, which takes a minute where nothing is computed
            return self._outline(x)
        with full_precision(x.device):  # a sum over hundreds of steps wants its digits
            return super().forward(x.float())[0]

    def _outline(self, x: Tensor) -> Tensor:
        for layer in range(self.num_layers):
            w_x, w_h, *biases = self._flat_weights[4 * layer : 4 * layer + 4]
            gates = F.linear(x, w_x, biases[0])
            gates = gates + F.linear(gates[..., : self.hidden_size], w_h, biases[1])
            x = gates[..., : self.hidden_size].sigmoid()
        return x
