"""Position encodings: fixed sinusoids or a learned table."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reservoir.layers.linear import Embedding


def sinusoids(length: int, d_model: int, *, device: torch.device | str | None = None) -> Tensor:
    """Sines and cosines of geometrically spaced frequencies (Vaswani et al. 2017, §3.5).

    The sines fill the first half of the features and the cosines the second, as fairseq and Marian lay them
    out. The paper interleaves them; a permutation of the features makes no difference to what can be learned.

    Returns:
        (length, d_model) fp32.
    """
    if d_model % 2:
        raise ValueError(f"d_model must be even for sinusoidal positions, got {d_model}")
    if torch.empty(0, device=device).is_meta:
        # To work them out there, PyTorch would import modules for a second.
        return torch.empty(length, d_model, dtype=torch.float32, device=device)
    pair = torch.arange(d_model // 2, device=device, dtype=torch.float64)
    angle = torch.arange(length, device=device, dtype=torch.float64)[:, None] * 10000.0 ** (
        -2 * pair / d_model
    )
    return torch.cat([angle.sin(), angle.cos()], dim=1).float()


class SinusoidalPositions(nn.Module):
    """Adds `sinusoids` to a sequence; the table grows when a longer sequence comes.

    Args:
        d_model: width of the residual stream, even.
    """

    table: Tensor  # (positions, d_model)

    def __init__(self, d_model: int):
        super().__init__()
        self.d_model = d_model
        self.table: Tensor
        self.register_buffer("table", sinusoids(256, d_model), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """(batch, length, d_model) -> the same shape; `start` is the position of the first token."""
        end = start + x.shape[1]
        if end > len(self.table):
            self.table = sinusoids(2 * end, self.d_model, device=x.device).to(self.table.dtype)
        return x + self.table[start:end]


class LearnedPositions(nn.Module):
    """Adds a trained vector for each position (Gehring et al. 2017; Devlin et al. 2019).

    Rows beyond the longest sequence of the training data never get a gradient: `table.reachable` says how many can, as
    far as is known, and reports count those alone as trainable.

    Args:
        max_length: number of positions; a longer sequence is an error.
        d_model: width of the residual stream.
        stream: name of the random stream that the table is drawn from.
    """

    def __init__(self, max_length: int, d_model: int, *, stream: str):
        super().__init__()
        self.table = Embedding(max_length, d_model, stream=stream)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """(batch, length, d_model) -> the same shape; `start` is the position of the first token."""
        end = start + x.shape[1]
        if end > self.table.num_embeddings:
            raise ValueError(
                f"the model has {self.table.num_embeddings} positions, but the sequence needs {end}"
            )
        # A table that is made while it is used (`reservoir.weights.streaming`) may be made elsewhere.
        return x + self.table.effective_weight()[start:end].to(x.device)
