"""Checks of chapter 0's exercises."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reservoir_book.checks.verdict import Mistake, call, compare, exercise, number, refuse, same

KEPT: dict[str, tuple[Callable[[int], int], str]] = {
    "trained": (lambda n: 4 * n, "a float32 has four"),
    "seeded": (lambda n: 0, "the seed gives them back, so nothing of them is kept"),
    "masked": (lambda n: -(-n // 8), "one bit a weight is kept"),
    "pretrained": (lambda n: 0, "they are in another checkpoint, which is only named"),
}
"""Origin -> bytes of n weights, and why."""


@exercise("ex-bytes-kept", "bytes_kept")
def bytes_kept(written: Callable[[int, str], int]) -> str:
    """Exercise of chapter 0: `bytes_kept(n, origin)`, what a checkpoint stores for n float32 weights."""
    for n, (origin, (kept, why)) in itertools.product((1000, 13, 8, 0), KEPT.items()):
        found = number(call(written, n, origin))
        if found == kept(n):
            continue
        start = f"for {n} weights of origin {origin!r} you keep {found:g} bytes, not {kept(n)}"
        masked = origin == "masked"
        refuse({
            f"{start}: that is a byte a weight; a float32 has four": origin == "trained" and found == n,
            f"{start}: a mask is one bit a weight, and a byte has eight of them": masked and found == n > 1,
            f"{start}: the last bits need a byte too: round up": masked and found == n // 8,
            f"{start}: there are no parts of a byte: round up": masked and found == n / 8,
            f"{start}: the weights themselves come back from the seed; only their bits are kept":
                masked and found >= 4 * n,
            f"{start}: {why}": True,
        })  # fmt: skip
    return "a trained weight takes four bytes, a masked one a bit, a seeded or pretrained one nothing"


@exercise("ex-spread", "spread")
def spread(written: Callable[[Sequence[float]], tuple[float, float]]) -> str:
    """Exercise of chapter 0: `spread(values)`, the mean over seeds and the standard deviation of the sample."""

    def right(values: Sequence[float]) -> Tensor:
        return torch.tensor([statistics.mean(values), statistics.stdev(values)], dtype=torch.float64)

    def instead(of: Callable[[Sequence[float]], float]) -> Callable[[Sequence[float]], Tensor]:
        return lambda values: torch.tensor([statistics.mean(values), of(values)], dtype=torch.float64)

    def read(found: Any, expected: Tensor) -> Tensor:
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Mistake(f"return two numbers, the mean and the standard deviation, not {found!r}")
        return torch.tensor([*map(number, found)], dtype=torch.float64)

    def otherwise(found: Tensor, expected: Tensor, values: Sequence[float]) -> str:
        wrong = int(same(found[0], expected[0]))  # which of the two, the mean first
        what = ("mean", "standard deviation")[wrong]
        return f"the {what} of {values} is {expected[wrong]:.4g}, not {found[wrong]:.4g}"

    return compare(written, right, [([30.0, 31.0, 32.0],), ([1.0, 4.0, 4.0, 9.0],), ([2.0, 2.0],)], {
        "you return the two the other way round: the mean comes first": lambda values: right(values).flip(0),
        "you divide by n; a sample's squares are divided by n - 1, or few seeds look too alike":
            instead(statistics.pstdev),
        "that is the variance; take its root": instead(statistics.variance),
        "that is the error of the mean; the spread of seeds is not divided by √n":
            instead(lambda values: statistics.stdev(values) / math.sqrt(len(values))),
        "that is the distance from the lowest to the highest": instead(lambda values: max(values) - min(values)),
    }, praise="a mean, and how far one seed lies from another", read=read, otherwise=otherwise)  # fmt: skip
