"""Trained weights in fewer bits: the nearest of a few levels, with one scale a row. A plain way, and a yardstick."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn


def round_rows(matrix: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """Each row as whole steps of a scale of its own, `scale · step`, the step from -levels to levels.

    Args:
        matrix: (rows, columns).
        levels: on either side of nought; the largest entry of a row is the last one.

    Returns:
        the scales, (rows,), and the steps, (rows, columns), whole numbers of the matrix's dtype.
    """
    scale = matrix.abs().amax(1) / levels
    return scale, (matrix / scale.clamp(min=1e-30)[:, None]).round()


def rounded_bytes(rows: int, columns: int, bits: int) -> int:
    """What a matrix takes whose entries are kept in `bits` bits, and the scale of each row in 32."""
    return -(-rows * columns * bits // 8) + 4 * rows


@torch.no_grad()
def rounded(model: nn.Module, bits: int) -> nn.Module:
    """A copy of `model` whose matrices are rounded to nearest, row by row; vectors, such as biases, stay as they are.

    Nothing is trained or calibrated afterwards, so better ways of rounding lose less.

    Args:
        model: any.
        bits: of an entry, 2 or more: 2^(bits - 1) - 1 levels on either side of nought.
    """
    if bits < 2:
        raise ValueError(f"bits must be 2 or more, got {bits}")
    result = copy.deepcopy(model)
    for parameter in result.parameters():
        if parameter.ndim == 2:
            scale, step = round_rows(parameter, 2 ** (bits - 1) - 1)
            parameter.copy_(step * scale[:, None])
    return result
