"""Encoders for a classifier: from the embedding of each token to what is pooled. Most are of use untrained.

After Wieting & Kiela 2019, "No training required", who put them on top of pretrained word vectors.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.layers.linear import Undrawn
from reservoir.layers.recurrent import read_packed
from reservoir.reservoirs import EchoState, SpectralRadius
from reservoir.weights.initialisation import Uniform


class Sizes(Protocol):
    """What an encoder needs of a configuration."""

    @property
    def d_model(self) -> int: ...

    @property
    def d_encoder(self) -> int: ...


class Encoder(Protocol):
    """From embeddings (batch, length, d_model), and (batch, length) true at tokens, to (batch, length, d_out)."""

    d_out: int

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor: ...


class Bag(nn.Module):
    """No encoder: the embeddings as they are, whose pooling ignores their order."""

    def __init__(self, config: Sizes):
        super().__init__()
        self.d_out = config.d_model

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, d_model) -> same."""
        return x


class Projection(nn.Module):
    """BOREP, a bag of random embedding projections: one linear map for every token, uniform on ±1 / √d_model.

    With mean pooling it is a linear map of the bag, and adds nothing to it; with maximum pooling it does.
    """

    def __init__(self, config: Sizes):
        super().__init__()
        self.d_out = config.d_encoder
        self.map = Linear(config.d_model, config.d_encoder, stream="encoder.map", bias=False)
        self.map.initialisations = {"weight": Uniform(config.d_model**-0.5)}

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, d_model) -> (batch, length, d_encoder)."""
        return self.map(x)


class LSTM(Undrawn, nn.LSTM):
    """A long short-term memory in both directions, half of `d_encoder` each, all weights uniform on ±1 / √half."""

    def __init__(self, config: Sizes):
        self.stream, self.blocks, self.d_out = "encoder", 1, config.d_encoder
        half = _half(config)
        super().__init__(config.d_model, half, batch_first=True, bidirectional=True)
        self.initialisations = dict.fromkeys(dict(self.named_parameters()), Uniform(half**-0.5))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]  # called as an `Encoder`
        """(batch, length, d_model) -> (batch, length, d_encoder)."""
        self.check_drawn()
        if x.is_meta:
            return super().forward(x)[0]
        return read_packed(super().forward, x, mask)


class EchoStates(nn.Module):
    """An echo state network in each direction, half of `d_encoder` units each.

    Spectral radius 0.9, tanh, no leak, half of the recurrent weights zero. The inputs' weights are uniform on
    ±1.7 / √d_model, so that the drive of a unit has a variance near one.
    """

    def __init__(self, config: Sizes):
        super().__init__()
        self.d_out = config.d_encoder
        options = {
            "recurrent": SpectralRadius(0.9, density=0.5),
            "input_scaling": 1.7 * config.d_model**-0.5,
            "dtype": torch.float32,
        }
        self.there, self.back = (
            EchoState(config.d_model, _half(config), stream=f"encoder.{way}", **options)
            for way in ("there", "back")
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, d_model) -> (batch, length, d_encoder)."""
        lengths = mask.sum(1, keepdim=True)
        # Each text is turned round in its own length, so that filling stays behind it.
        order = torch.arange(x.shape[1], device=x.device)[None]
        turned = torch.where(order < lengths, lengths - 1 - order, order)[..., None]  # (batch, length, 1)
        back = self.back(x.gather(1, turned.expand_as(x)))
        return torch.cat([self.there(x), back.gather(1, turned.expand_as(back))], -1)


def _half(config: Sizes) -> int:
    if config.d_encoder % 2:
        raise ValueError(f"d_encoder must be even, half for each direction, got {config.d_encoder}")
    return config.d_encoder // 2
