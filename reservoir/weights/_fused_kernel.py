"""The kernel of `reservoir.weights.fused`. It needs Triton, which reads TRITON_INTERPRET when it is imported."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _masked(value, row, column, bits, inside, zero_row, cols, MASKED: tl.constexpr):
    """The weights at (row, column), or zero where the mask has no bit."""
    if MASKED:
        at = row * cols + column
        byte = tl.load(bits + at // 8, mask=inside, other=0).to(tl.int32)
        value = tl.where(((byte >> (at % 8).to(tl.int32)) & 1) == 1, value, 0.0)
    return tl.where(inside & (row != zero_row), value, 0.0)


@triton.jit
def kernel(
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
