"""A Triton kernel that draws a weight, masks it and multiplies with it without writing the weight to memory.

At batch size 1, a matrix product is limited by reading its weights from memory. This kernel reads only one mask bit per
weight and computes the rest. Triton's `tl.philox` is the same Philox 4x32-10 as ours, so the weights have the same bits
as those drawn by `reservoir.weights.draws`.

Triton comes with PyTorch's builds for GPUs. Without a GPU the kernel runs in Triton's interpreter, slowly: install
Triton and set TRITON_INTERPRET=1 before this module is imported.
"""

from __future__ import annotations

import functools

import torch
import triton
from torch import Tensor

from reservoir.weights._fused_kernel import kernel
from reservoir.weights.draws import Elementwise
from reservoir.weights.generator import Stream

# Kind -> its number in the kernel, elements per block.
KERNEL_DRAWS = {"uniform": (0, 4), "sign": (1, 128), "normal": (2, 1)}
MOST = 8  # rows of x: with more, a product with drawn tiles is as fast


def product(
    x: Tensor,
    stream: Stream,
    drawn: Elementwise,
    shape: tuple[int, int],
    *,
    bits: Tensor | None = None,
    zero_row: int | None = None,
    rows: int = 16,
    blocks: int = 32,
) -> Tensor:
    """Compute `x Wᵀ` for a weight that is drawn inside the product.

    Args:
        x: (batch, columns) on the GPU; batch is at most 8.
        stream, drawn: the weight's stream and distribution.
        shape: the weight's (rows, columns); columns must be a whole number of the generator's blocks.
        bits: a mask packed by `reservoir.weights.streaming.pack`, or None.
        zero_row: the row for padding, which is zero, or None.
        rows, blocks: size of one program's tile.

    Returns:
        (batch, rows), fp32.

    Raises:
        ValueError: the shape does not fit.
    """
    number, per_block = KERNEL_DRAWS[drawn.kind]
    if shape[1] % per_block:
        raise ValueError(
            f"the columns of a weight drawn as {drawn.kind} must be a multiple of {per_block} here, got {shape[1]}"
        )
    if x.ndim != 2 or not 1 <= len(x) <= MOST or x.shape[1] != shape[1]:
        raise ValueError(f"x must be of shape (1 to {MOST}, {shape[1]}), got {tuple(x.shape)}")
    key = _key(stream, x.device)
    x = x.contiguous()
    out = torch.empty(len(x), shape[0], device=x.device)
    kernel[(triton.cdiv(shape[0], rows),)](
        x,
        x if bits is None else bits,
        out,
        key,
        drawn.scale,
        -1 if zero_row is None else zero_row,
        len(x),
        *shape,
        KIND=number,
        MASKED=bits is not None,
        PER_BLOCK=per_block,
        ROWS=rows,
        BLOCKS=blocks,
        BATCH=triton.next_power_of_2(len(x)),
    )
    return out


@functools.lru_cache(maxsize=4096)
def _key(stream: Stream, device: torch.device) -> Tensor:
    """(3,): the seed and the two halves of the name's hash, kept on the device, since it takes time to bring them."""
    seed = stream.seed - 2**64 * (stream.seed >= 2**63)  # the same 64 bits, as int64 has them
    return torch.tensor([seed, *stream.halves[2:].tolist()], device=device)
