"""One kernel that draws a weight, masks it and multiplies with it, and writes none of it to memory (Triton).

At batch 1 a matrix product waits for its weights to come from memory. Here nothing comes from there but a bit a weight;
the rest is arithmetic, of which a GPU has plenty left. The generator is Triton's own `tl.philox`, which is the same
Philox 4x32-10 as ours, so the weights have the same bits as those that `reservoir.frozen.draws` draws.

Importing this module needs Triton, which comes with PyTorch's builds for GPUs. Without a GPU it runs under Triton's
interpreter, slowly: set TRITON_INTERPRET=1 before the import.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from reservoir.frozen.draws import Elementwise
from reservoir.frozen.generator import Stream

KINDS = {"uniform": (0, 4), "sign": (1, 128), "normal": (2, 1)}  # number in the kernel, elements of a block
MOST = 8  # rows of x: beyond these a product with drawn tiles is no slower


@triton.jit
def _masked(value, row, column, bits, inside, zero_row, cols, MASKED: tl.constexpr):
    """The weights at (row, column), or zero where the mask has no bit."""
    if MASKED:
        at = row * cols + column
        byte = tl.load(bits + at // 8, mask=inside, other=0).to(tl.int32)
        value = tl.where(((byte >> (at % 8).to(tl.int32)) & 1) == 1, value, 0.0)
    return tl.where(inside & (row != zero_row), value, 0.0)


@triton.jit
def _kernel(
    x, bits, out, key, scale, zero_row, batch, rows, cols,
    KIND: tl.constexpr, MASKED: tl.constexpr, PER_BLOCK: tl.constexpr,
    ROWS: tl.constexpr, BLOCKS: tl.constexpr, BATCH: tl.constexpr,
):  # fmt: skip
    seed, hash_low, hash_high = tl.load(key), tl.load(key + 1), tl.load(key + 2)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64)  # (rows, 1)
    which = tl.arange(0, BATCH)[None, None, :]
    total = tl.zeros((ROWS, BATCH), dtype=tl.float32)
    for first in range(0, cols // PER_BLOCK, BLOCKS):
        block = first + tl.arange(0, BLOCKS)[None, :].to(tl.int64)  # (1, blocks)
        inside = (row < rows) & (block < cols // PER_BLOCK)
        index = row * (cols // PER_BLOCK) + block
        low = (index & 0xFFFFFFFF).to(tl.uint32)
        high = (index >> 32).to(tl.uint32)
        none = tl.zeros((ROWS, BLOCKS), dtype=tl.uint32)
        words = tl.philox(seed, low, high, none + hash_low.to(tl.uint32), none + hash_high.to(tl.uint32))
        if KIND == 2:  # a sum of eight halves
            sum_ = tl.zeros((ROWS, BLOCKS), dtype=tl.int32)
            for r in tl.static_range(4):
                sum_ += (words[r] & 0xFFFF).to(tl.int32) + (words[r] >> 16).to(tl.int32)
            value = (2 * sum_ - 8 * 65535).to(tl.float32) * scale
            value = _masked(value, row, block, bits, inside, zero_row, cols, MASKED)
            at = which * cols + block[:, :, None]
            part = tl.load(x + at, mask=(which < batch) & (block[:, :, None] < cols), other=0.0)
            total += tl.sum(value[:, :, None] * part.to(tl.float32), 1)
        else:
            for r in tl.static_range(4):
                if KIND == 0:  # a word an element
                    column = 4 * block + r
                    value = ((words[r] >> 8).to(tl.int32) - 8388608).to(tl.float32) * scale
                    value = _masked(value, row, column, bits, inside, zero_row, cols, MASKED)
                    at = which * cols + column[:, :, None]
                    part = tl.load(x + at, mask=(which < batch) & (column[:, :, None] < cols), other=0.0)
                    total += tl.sum(value[:, :, None] * part.to(tl.float32), 1)
                else:  # a bit an element
                    for b in range(32):
                        column = 128 * block + 32 * r + b
                        sign = ((words[r] >> b) & 1).to(tl.int32)
                        value = (2 * sign - 1).to(tl.float32) * scale
                        value = _masked(value, row, column, bits, inside, zero_row, cols, MASKED)
                        at = which * cols + column[:, :, None]
                        part = tl.load(x + at, mask=(which < batch) & (column[:, :, None] < cols), other=0.0)
                        total += tl.sum(value[:, :, None] * part.to(tl.float32), 1)
    column = tl.arange(0, BATCH)[None, :]
    tl.store(out + column * rows + row, total, mask=(row < rows) & (column < batch))


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
    """`x Wᵀ` for a weight that is drawn inside the product.

    Args:
        x: (batch, columns), of at most 8 rows, on the GPU.
        stream, drawn: what the weight is drawn from, and as what.
        shape: of the weight, (rows, columns); a row is a whole number of the generator's blocks.
        bits: a mask packed by `reservoir.frozen.streaming.pack`, or None.
        zero_row: the row that stands for padding and is zero, or None.
        rows, blocks: of a program's tile.

    Returns:
        (batch, rows), fp32.

    Raises:
        ValueError: the shape does not fit.
    """
    number, per_block = KINDS[drawn.kind]
    if shape[1] % per_block:
        raise ValueError(
            f"the columns of a weight drawn as {drawn.kind} must be a multiple of {per_block} here, got {shape[1]}"
        )
    if x.ndim != 2 or not 1 <= len(x) <= MOST or x.shape[1] != shape[1]:
        raise ValueError(f"x must be of shape (1 to {MOST}, {shape[1]}), got {tuple(x.shape)}")
    key = torch.tensor(
        [
            stream.seed - 2**64 * (stream.seed >= 2**63),  # the same 64 bits, as int64 has them
            *stream.halves[2:].tolist(),
        ],
        device=x.device,
    )
    x = x.contiguous()
    out = torch.empty(len(x), shape[0], device=x.device)
    _kernel[(triton.cdiv(shape[0], rows),)](
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
