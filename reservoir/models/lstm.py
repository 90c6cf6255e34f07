"""An LSTM as the body of a model, in the place of a causal transformer."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.linear import Undrawn
from reservoir.layers.mixing import full_precision
from reservoir.models.config import ModelConfig
from reservoir.models.pretrained import Familiar

GATES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
"""PyTorch's names of a layer's parameters."""


@dataclass(frozen=True)
class LSTMConfig(ModelConfig):
    """Sizes of a recurrent body.

    Args:
        d_model: width of the input and of the states.
        layers: depth.
    """

    d_model: int = 128
    layers: int = 2

    def build_body(self) -> LSTMBody:
        """Make the body, its memory not initialised."""
        return LSTMBody(self)


class LSTMBody(Familiar, Undrawn, nn.LSTM):
    """An LSTM (Hochreiter & Schmidhuber 1997); its memory is not initialised.

    Args:
        config: sizes.
    """

    def __init__(self, config: LSTMConfig):
        self.config = config
        self.stream, self.blocks = "lstm", 4  # the maps of four gates are stacked along the rows
        super().__init__(config.d_model, config.d_model, config.layers, batch_first=True)

    def states(self, x: Tensor) -> Tensor:
        """Return the last layer's states: (batch, length, d_model) -> same.

        On the meta device it returns something of their shape, by as many operations.
        """
        self.check_drawn()
        if x.is_meta:  # PyTorch would take every time step, which takes a minute although nothing is computed
            return self._outline(x)
        with full_precision(x.device):  # a sum over hundreds of steps wants its digits
            return super().forward(x.float())[0]

    def _outline(self, x: Tensor) -> Tensor:
        for layer in range(self.num_layers):
            w_x, w_h, b_x, b_h = (getattr(self, f"{name}_l{layer}") for name in GATES)
            gates = F.linear(x, w_x, b_x)
            gates = gates + F.linear(gates[..., : self.hidden_size], w_h, b_h)
            x = gates[..., : self.hidden_size].sigmoid()
        return x
