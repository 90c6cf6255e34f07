"""Round trained weights to fewer bits, to the nearest level with one scale per row: a simple baseline."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn


def round_rows(matrix: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """Write each row as `scale · step` with one scale per row and integer steps from -levels to levels.

    Args:
        matrix: (rows, columns).
        levels: on either side of zero; the largest entry of a row is at ±levels.

    Returns:
        the scales, (rows,), and the steps, (rows, columns), integers in the matrix's dtype.
    """
    scale = matrix.abs().amax(1) / levels
    return scale, (matrix / scale.clamp(min=1e-30)[:, None]).round()


def rounded_bytes(rows: int, columns: int, bits: int) -> int:
    """Count the bytes of a matrix with `bits` bits per entry and a 32-bit scale per row."""
    return -(-rows * columns * bits // 8) + 4 * rows


@torch.no_grad()
def rounded(model: nn.Module, bits: int) -> nn.Module:
    """Return a copy of `model` with matrices rounded to nearest, row by row; vectors, such as biases, stay unchanged.

    Nothing is trained or calibrated afterwards, so better quantisation methods lose less.

    Args:
        model: any module.
        bits: per entry, at least 2: 2^(bits - 1) - 1 levels on either side of zero.
    """
    if bits < 2:
        raise ValueError(f"bits must be 2 or more, got {bits}")
    result = copy.deepcopy(model)
    for parameter in result.parameters():
        if parameter.ndim == 2:
            scale, step = round_rows(parameter, 2 ** (bits - 1) - 1)
            parameter.copy_(step * scale[:, None])
    return result
