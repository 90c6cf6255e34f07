"""Choosing a mask: the share of a matrix's scores that is largest, ours against a sort, as hidden-networks has it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmarks.measure import Comparison, Settings, compare
from reservoir.weights.masks import kept_count, largest

SIZES = {"laptop": (512, 128), "IWSLT": (1024, 512)}  # a feed-forward map


def by_sorting(scores: Tensor, keep: float) -> Tensor:
    """Ramanujan et al. 2020, as they released it: sort all, then write zeros and ones in that order."""
    out = scores.clone()
    _, order = scores.flatten().sort()
    j = int((1 - keep) * scores.numel())
    flat = out.flatten()
    flat[order[:j]] = 0
    flat[order[j:]] = 1
    return out


def run(settings: Settings) -> Iterator[Comparison]:
    """At two sizes and three shares, of scores seen for the first time and of scores that move as in training."""
    for name, shape in settings.chosen(SIZES).items():
        for keep in (0.1, 0.5, 0.9):
            for moving in (False, True):
                steps = torch.randn(8, *shape, device=settings.device)
                scores = [steps[0] + (0.001 * step if moving else 0.0) for step in steps]
                yield one(name, scores, keep, moving, settings)


def one(name: str, scores: list[Tensor], keep: float, moving: bool, settings: Settings) -> Comparison:
    """One share of one matrix's scores."""
    n = scores[0].numel()
    k = kept_count(n, keep)

    # A turn goes through all scores, since what moves takes longer in some steps than in others.
    def ours(turn: int) -> list[Tensor]:
        return [largest(one, k) for one in scores]

    shape = "×".join(map(str, scores[0].shape))
    return compare(
        ours,
        lambda turn: [by_sorting(one, keep) for one in scores],
        case=f"{name} {shape}, keep {keep}, {'as in training' if moving else 'at first sight'}",
        peer="a full sort",
        unit="scores",
        work=lambda turn: n * len(scores),
        settings=settings,
        required=15.0 if moving else None,
    )
