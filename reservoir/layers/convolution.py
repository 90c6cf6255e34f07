"""Dynamic convolution: each position computes the weights of its own neighbourhood (Wu et al. 2019)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers.linear import Linear


class DynamicConvolution(nn.Module):
    """`W_o conv(GLU(W_i x))`: a light convolution whose kernel each position makes from its own vector.

    A kernel is softmaxed over its window, and all features of a head share it (Wu et al. 2019, §3 and §4). Where
    attention compares positions, this layer only looks at one to know how to weigh those around it.

    Args:
        d_model: width of the residual stream.
        n_heads: kernels a position; divides d_model.
        kernel: width of the window, odd: as many positions on either side.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, *, kernel: int, stream: str):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got {d_model} and {n_heads}")
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(f"kernel must be odd and positive, got {kernel}")
        self.n_heads, self.kernel = n_heads, kernel
        self.into = Linear(d_model, 2 * d_model, stream=f"{stream}.into", blocks=2)
        self.weigh = Linear(d_model, n_heads * kernel, stream=f"{stream}.weigh", bias=False)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        x = F.glu(self.into(x), -1)
        batch, length = x.shape[:2]
        weights = (
            self.weigh(x).view(batch, length, self.n_heads, 1, self.kernel).float().softmax(-1).to(x.dtype)
        )
        if mask is not None:  # padding counts as zeros
            x = x * mask[..., None]
        half = self.kernel // 2
        windows = F.pad(x, (0, 0, half, half)).unfold(1, self.kernel, 1)  # (batch, length, d_model, kernel)
        windows = windows.unflatten(2, (self.n_heads, -1))  # (batch, length, heads, d_head, kernel)
        return self.out((windows * weights).sum(-1).flatten(2))
