"""Elementwise draws on a processor, compiled by numba: the bits of `reservoir.weights.draws`, much faster.

A loop over blocks is what a compiler turns into vector instructions. The elements of a block are first written as
planes that stay in the cache, since a store to every fourth place of memory would keep the loop from being vectorised.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor

from reservoir.weights.generator import KEY_STEPS, MULTIPLIERS, ROUNDS, Stream

PLANE = 256  # blocks at a time; their planes take 4 kB
WORD, LONG, SHIFT = np.uint32, np.uint64, np.uint64(32)
FIRST_MULTIPLIER, SECOND_MULTIPLIER = (LONG(value) for value in MULTIPLIERS)
FIRST_STEP, SECOND_STEP = (WORD(value) for value in KEY_STEPS)
HALF_RANGE, NORMAL_MEAN = np.int32(2**23), np.int32(8 * 65535)


@njit(inline="always")
def _block(index, name_low, name_high, key_low, key_high):
    """The four words of one block (`reservoir.weights.generator.philox`)."""
    c0, c1, c2, c3 = WORD(index), WORD(index >> SHIFT), name_low, name_high
    for _ in range(ROUNDS):
        p0, p1 = FIRST_MULTIPLIER * LONG(c0), SECOND_MULTIPLIER * LONG(c2)
        c0, c1 = WORD(WORD(p1 >> SHIFT) ^ c1 ^ key_low), WORD(p1)
        c2, c3 = WORD(WORD(p0 >> SHIFT) ^ c3 ^ key_high), WORD(p0)
        key_low, key_high = WORD(key_low + FIRST_STEP), WORD(key_high + SECOND_STEP)
    return c0, c1, c2, c3


@njit(inline="always")
def _centred(word, scale):
    return np.float32(np.int32(word >> WORD(8)) - HALF_RANGE) * scale


@njit(cache=True, nogil=True)
def _uniform(name_low, name_high, key_low, key_high, first, scale, out):  # (blocks, 4)
    planes = np.empty((4, PLANE), np.float32)
    for low in range(0, out.shape[0], PLANE):
        size = min(PLANE, out.shape[0] - low)
        for i in range(size):
            a, b, c, d = _block(first + LONG(low + i), name_low, name_high, key_low, key_high)
            planes[0, i], planes[1, i] = _centred(a, scale), _centred(b, scale)
            planes[2, i], planes[3, i] = _centred(c, scale), _centred(d, scale)
        for i in range(size):
            for j in range(4):
                out[low + i, j] = planes[j, i]


@njit(cache=True, nogil=True)
def _sign(name_low, name_high, key_low, key_high, first, scale, out):  # (blocks, 128)
    for i in range(out.shape[0]):
        words = _block(first + LONG(i), name_low, name_high, key_low, key_high)
        for part in range(4):
            for j in range(32):
                bit = np.int32((words[part] >> WORD(j)) & WORD(1))
                out[i, 32 * part + j] = np.float32(bit + bit - np.int32(1)) * scale


@njit(cache=True, nogil=True)
def _normal(name_low, name_high, key_low, key_high, first, scale, out):  # (blocks, 1)
    half, shift = WORD(0xFFFF), WORD(16)
    for i in range(out.shape[0]):
        a, b, c, d = _block(first + LONG(i), name_low, name_high, key_low, key_high)
        total = (a & half) + (a >> shift) + (b & half) + (b >> shift)
        total += (c & half) + (c >> shift) + (d & half) + (d >> shift)
        out[i, 0] = np.float32(np.int32(total + total) - NORMAL_MEAN) * scale


@njit(cache=True, nogil=True)
def _masked(bits, start, out):  # (⌈n / 8⌉,) packed, (elements,)
    for i in range(out.shape[0]):
        place = start + i
        out[i] *= np.float32((bits[place >> 3] >> (place & 7)) & 1)


KERNELS = {"uniform": _uniform, "sign": _sign, "normal": _normal}


def elements(stream: Stream, kind: str, scale: float, per_block: int, start: int, stop: int) -> Tensor:
    """Elements start..stop (the latter left out) of a draw, as a flat float32 tensor on the CPU.

    Args:
        stream: where the words come from.
        kind: "uniform", "sign" or "normal".
        scale: the factor of the integers, as rounded to float32.
        per_block: elements per block of four words.
        start, stop: indices of elements, 0 <= start <= stop.
    """
    first, last = start // per_block, -(-stop // per_block)
    drawn = torch.empty(last - first, per_block, dtype=torch.float32, device="cpu")
    key_low, key_high, name_low, name_high = (WORD(half) for half in stream.halves)
    KERNELS[kind](name_low, name_high, key_low, key_high, LONG(first), np.float32(scale), drawn.numpy())
    flat = drawn.view(-1)
    wanted = flat[start - first * per_block : stop - first * per_block]
    return flat if wanted.shape == flat.shape else wanted.clone()


def mask(elements: Tensor, bits: Tensor, start: int) -> None:
    """Multiply a flat float32 tensor on the CPU, in place, by the bits of a packed mask from element `start` on."""
    _masked(bits.numpy(), start, elements.numpy())
