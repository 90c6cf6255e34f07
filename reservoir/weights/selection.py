"""Select exactly the k largest of many numbers, ties included, without sorting them all."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from reservoir.layers.arguments import check_number

SAMPLE = 8192  # numbers that are sorted, to know about where the threshold lies
MARGIN = 5  # standard errors of the sample on either side of it
GUESSES = 10  # thresholds that are tried before the numbers between the two best are sorted out
APART = 16  # scores that two thresholds have to have between them to say how dense scores are there


def kept_count(n: int, keep: float) -> int:
    """How many of `n` weights a mask keeps: `keep · n`, rounded to the nearest; halves to the even number.

    Raises:
        ValueError: `keep` is not in (0, 1].
    """
    check_number("keep", keep, above=0, most=1)
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
    """`largest`, called repeatedly on scores that move slowly: the search begins at the last threshold.

    Any threshold with exactly k scores at or above it is right. Counting the scores above a threshold takes a hundredth
    of the time of sorting all of them. A count that is off says how far the next guess has to move; between a guess
    that is too low and one that is too high, the search interpolates. The first guess comes from a sorted sample. Where
    no guess is right, as among equal scores, the scores between the two best guesses are selected exactly. So the
    result depends neither on the sample nor on earlier calls. On a GPU the processor would wait for each count, so the
    scores are sorted there.
    """

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None  # the threshold, and how far apart scores lie there

    def __call__(self, scores: Tensor, k: int) -> Tensor:
        """As `largest`."""
        n = scores.numel()
        if not 0 <= k <= n:
            raise ValueError(f"k must be from 0 to the {n} scores, got {k}")
        flat = scores.detach().reshape(-1)
        if scores.is_meta:  # nothing to choose by
            return torch.full(scores.shape, k == n, dtype=torch.bool, device=scores.device)
        # A NaN makes the sum NaN, in one pass. So do infinities of both signs, which the second pass tells apart.
        if flat.sum().isnan() and (count := int(flat.isnan().sum())):
            raise ValueError(f"scores must be numbers, but {count} of the {n} are NaN")
        if k in (0, n):
            return torch.full(scores.shape, k == n, dtype=torch.bool, device=scores.device)
        if flat.is_cuda:
            order = flat.sort(descending=True, stable=True).indices
            return torch.zeros_like(flat, dtype=torch.bool).scatter_(0, order[:k], True).view(scores.shape)
        mask = self._search(flat, k) if n >= 4 * SAMPLE else None
        if mask is None:
            mask = _exact(flat, flat, k, k)
        return mask.view(scores.shape)

    def _search(self, flat: Tensor, k: int) -> Tensor | None:
        begin = self._last or _from_sample(flat, k)
        if begin is None:
            return None
        (guess, spacing), known = begin, self._last is not None
        # A threshold with more than k scores at or above it, and one with fewer, each with that count.
        low: tuple[float, int] | None = None
        high: tuple[float, int] | None = None
        for turn in range(GUESSES):
            mask, count = _at_least(flat, guess)
            if count == k:
                self._last = guess, spacing
                return mask
            if count > k:
                low = guess, count
            else:
                high = guess, count
            if low and high:
                count = low[1] - high[1]
                if count >= APART:
                    spacing = (high[0] - low[0]) / count
                guess = low[0] + (high[0] - low[0]) * ((low[1] - k) / count)
                if not low[0] < guess < high[0]:
                    break
            else:  # further each time, so that it gets to the other side
                step = 2**turn * (count - k) * spacing
                if guess + step == guess:  # among equal scores
                    break
                guess += step
        self._last = None
        if low is None or high is None:  # they moved further than that, or lie closer together: ask a sample
            return self._search(flat, k) if known else None
        self._last = low[0], spacing
        between = flat[(flat >= low[0]) & (flat < high[0])]
        return _exact(flat, between, k, k - high[1])


def _by_numpy(numbers: Tensor) -> bool:
    """Whether numpy can take them where they are: it sorts, compares and counts several times as fast on a CPU."""
    return type(numbers) is Tensor and numbers.device.type == "cpu" and numbers.dtype != torch.bfloat16


def _from_sample(flat: Tensor, k: int) -> tuple[float, float] | None:
    """An estimate of the threshold of the k largest and of the distance between scores there.

    None if the threshold is too near an end of the sample, or among infinite scores.
    """
    sample = flat[:: len(flat) // SAMPLE]
    if _by_numpy(sample):
        sample = torch.from_numpy(np.sort(sample.numpy())).flip(0)
    else:
        sample = sample.sort(descending=True).values
    share, m = k / len(flat), len(sample)
    rank, margin = share * m, MARGIN * math.sqrt(m * share * (1 - share)) + 1
    first, last = math.floor(rank - margin), math.ceil(rank + margin)
    if first < 0 or last >= m:
        return None
    low, high = float(sample[last]), float(sample[first])
    spacing = (high - low) / ((last - first) * (len(flat) / m))
    return (float(sample[round(rank)]), spacing) if math.isfinite(spacing) else None


def _exact(flat: Tensor, candidates: Tensor, k: int, rank: int) -> Tensor:
    """The mask of the k largest, whose smallest is the `rank`-th largest of `candidates`."""
    place = len(candidates) - rank
    if _by_numpy(candidates):
        threshold = torch.from_numpy(np.partition(candidates.numpy(), place))[place]
    else:
        threshold = candidates.kthvalue(place + 1).values
    mask, count = _at_least(flat, threshold)
    if surplus := count - k:
        ties = (flat == threshold).nonzero()[:, 0]
        mask[ties[len(ties) - surplus :]] = False
    return mask


def _at_least(flat: Tensor, threshold: Tensor | float) -> tuple[Tensor, int]:
    if _by_numpy(flat):
        numbers = flat.numpy()
        found = numbers >= numbers.dtype.type(float(threshold))
        return torch.from_numpy(found), int(np.count_nonzero(found))
    mask = flat >= threshold
    # Several times as fast as adding up bools.
    return mask, int(mask.view(torch.int8).sum(dtype=torch.int32))
