"""The largest of many numbers: exactly so many, ties decided, without sorting them all."""

from __future__ import annotations

import math

import torch
from torch import Tensor

SAMPLE = 8192  # numbers that are sorted, to know about where the threshold lies
MARGIN = 5  # standard errors of the sample on either side of it
GUESSES = 10  # thresholds that are tried before the numbers between the two best are sorted out
REACH = 100  # scores on either side of the last threshold among which the next is looked for


def kept(n: int, keep: float) -> int:
    """How many of `n` weights a mask keeps: `keep · n`, rounded to the nearest; halves to the even number.

    Raises:
        ValueError: `keep` is not in (0, 1].
    """
    if not 0 < keep <= 1:
        raise ValueError(f"keep must be in (0, 1], got {keep}")
    return round(keep * n)


def largest(scores: Tensor, k: int) -> Tensor:
    """A mask of exactly the `k` largest scores; of equal ones those that come first in row-major order are taken.

    Args:
        scores: any shape, any memory layout.
        k: from 0 to the number of scores.

    Returns:
        bool, of the same shape, contiguous.

    Raises:
        ValueError: `k` is out of range, or a score is not a number.
    """
    return Selection()(scores, k)


class Selection:
    """`largest`, again and again on scores that move slowly: it begins to look where the threshold was the last time.

    Any threshold with exactly k scores at or above it will do. Counting those above one takes a hundredth of sorting
    all, and between two counts the next guess is interpolated; a sorted sample says where to begin. Where guesses do
    not end, as among equal scores, what lies between the two best is looked at in full. So the answer depends neither
    on the sample nor on what was seen before.
    """

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None  # the threshold, and how far it moved

    def __call__(self, scores: Tensor, k: int) -> Tensor:
        """As `largest`."""
        n = scores.numel()
        if not 0 <= k <= n:
            raise ValueError(f"k must be from 0 to the {n} scores, got {k}")
        flat = scores.detach().reshape(-1)
        if k in (0, n) or scores.is_meta:  # nothing to choose, or nothing to choose by
            return torch.full(scores.shape, k == n, dtype=torch.bool, device=scores.device)
        mask = self._search(flat, k) if n >= 4 * SAMPLE else None
        if mask is None:
            mask = _exact(flat, flat, k, k)
        return mask.view(scores.shape)

    def _search(self, flat: Tensor, k: int) -> Tensor | None:
        bracket = self._bracket(flat, k)
        if bracket is None:
            return None
        (low, at_low), (high, at_high) = bracket  # counts of scores at or above each: at_low > k > at_high
        spacing = (high - low) / (at_low - at_high)
        for _ in range(GUESSES):
            guess = low + (high - low) * ((at_low - k) / (at_low - at_high))
            if not low < guess < high:
                break
            mask, count = _at_least(flat, guess)
            if count == k:
                self._remember(guess, spacing)
                return mask
            if count > k:
                low, at_low = guess, count
            else:
                high, at_high = guess, count
        between = flat[(flat >= low) & (flat < high)]
        self._remember(low, spacing)
        return _exact(flat, between, k, k - at_high)

    def _bracket(self, flat: Tensor, k: int) -> tuple[tuple[float, int], tuple[float, int]] | None:
        """Two thresholds with k between their counts; the counts are of the whole, so a bad sample only costs time."""
        if self._last is not None:
            middle, reach = self._last
            low, high = middle - reach, middle + reach
        else:
            sample = flat[:: len(flat) // SAMPLE].sort(descending=True).values
            share, m = k / len(flat), len(sample)
            rank, margin = share * m, MARGIN * math.sqrt(m * share * (1 - share)) + 1
            first, last = math.floor(rank - margin), math.ceil(rank + margin)
            if first < 0 or last >= m:
                return None
            low, high = float(sample[last]), float(sample[first])
        at_low, at_high = (_at_least(flat, threshold)[1] for threshold in (low, high))
        if at_low > k > at_high:
            return (low, at_low), (high, at_high)
        if self._last is None:
            return None
        self._last = None  # it moved further than that: ask a sample
        return self._bracket(flat, k)

    def _remember(self, threshold: float, spacing: float) -> None:
        """Next time it will lie within a few times as far as it has moved now, or within a few scores."""
        moved = abs(threshold - self._last[0]) if self._last else 0.0
        self._last = (threshold, max(4 * moved, REACH * spacing))


def _exact(flat: Tensor, candidates: Tensor, k: int, rank: int) -> Tensor:
    """The mask of the k largest, whose smallest is the `rank`-th largest of `candidates`."""
    threshold = candidates.kthvalue(len(candidates) - rank + 1).values
    mask, count = _at_least(flat, threshold)
    if surplus := count - k:
        if flat.isnan().any():
            raise ValueError(f"{int(flat.isnan().sum())} of the {len(flat)} scores are not numbers")
        ties = (flat == threshold).nonzero()[:, 0]
        mask[ties[len(ties) - surplus :]] = False
    return mask


def _at_least(flat: Tensor, threshold: Tensor | float) -> tuple[Tensor, int]:
    mask = flat >= threshold
    return mask, int(
        mask.view(torch.int8).sum(dtype=torch.int32)
    )  # several times faster than adding up bools
