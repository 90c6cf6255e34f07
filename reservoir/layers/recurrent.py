"""A gated recurrent unit in both directions, as a layer that mixes positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from reservoir.layers.linear import Undrawn
from reservoir.layers.precision import full_precision


def read_packed(read: Callable[..., tuple[PackedSequence, Any]], x: Tensor, mask: Tensor) -> Tensor:
    """The states of a recurrent layer that stops where each text ends; zeros at padding.

    Args:
        read: the layer's forward pass, called with a packed sequence.
        x: (batch, length, d_in).
        mask: (batch, length), true at tokens; a text may have none.

    Returns:
        (batch, length, d_out).
    """
    lengths = mask.sum(1).cpu()
    packed = pack_padded_sequence(x, lengths.clamp(min=1), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(read(packed)[0], batch_first=True, total_length=x.shape[1])
    return states if bool(lengths.all()) else states * mask[..., None]


class BiGRU(Undrawn, nn.GRU):
    """Reads a sequence from either end; each direction gives half of the features (Cho et al. 2014, PyTorch's form).

    Args:
        d_model: width of the residual stream, even.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, *, stream: str):
        if d_model % 2:
            raise ValueError(f"d_model must be even, half for each direction, got {d_model}")
        self.stream, self.blocks = stream, 3  # the maps of three gates are stacked along the rows
        super().__init__(d_model, d_model // 2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:  # type: ignore[override]
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        self.check_drawn()
        with full_precision(x.device):  # sums over hundreds of steps need fp32
            x = x.float()
            if mask is None:
                return super().forward(x)[0]
            return read_packed(super().forward, x, mask)
