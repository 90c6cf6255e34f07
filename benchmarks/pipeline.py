"""Batches for training: ours against PyTorch's DataLoader with transformers' grouping by length.

Both are given sentences as ids, shuffle them, put sentences of like length together, and pad them into tensors. The
peer's batches have a fixed number of sentences, ours at most so many tokens; it gets as many sentences a batch as ours
have on average. What is counted is tokens that are no padding; how much padding there is stands in a line of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from benchmarks.measure import Amount, Comparison, Settings, compare
from reservoir.datasets import TokenBatches, Vocabulary

SIZES = {"laptop": (20_000, 14, 1024), "IWSLT": (100_000, 25, 4096)}
"""Sentence pairs, their mean length in tokens, and tokens of a batch."""
BOS, EOS = Vocabulary.bos, Vocabulary.eos


def sentences(pairs: int, mean: float) -> tuple[list[list[int]], list[list[int]]]:
    """Random ids in sentences of log-normal lengths."""
    draw = np.random.default_rng(0)
    lengths = draw.lognormal(math.log(mean), 0.4, pairs).clip(2, 100)
    sides = []
    for ratio in (np.ones(pairs), draw.normal(1.05, 0.1, pairs)):
        counts = np.maximum(1, np.round(lengths * ratio)).astype(int)
        flat = draw.integers(4, 10_000, counts.sum())
        sides.append([part.tolist() for part in np.split(flat, counts.cumsum()[:-1])])
    return sides[0], sides[1]


def collate(rows: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What a user of DataLoader writes: three padded tensors."""

    def padded(side: list[list[int]]) -> torch.Tensor:
        return pad_sequence([torch.tensor(row) for row in side], batch_first=True)

    sources = padded([[*src, EOS] for src, _ in rows])
    return sources, padded([[BOS, *tgt] for _, tgt in rows]), padded([[*tgt, EOS] for _, tgt in rows])


def padding(batches: Iterable[tuple[torch.Tensor, ...]]) -> float:
    """Positions of all tensors that hold no token, in per cent."""
    filled = positions = 0
    for tensor in itertools.chain.from_iterable(batches):
        filled, positions = filled + int((tensor != 0).sum()), positions + tensor.numel()
    return 100 * (1 - filled / positions)


def run(settings: Settings) -> Iterator[Comparison | Amount]:
    """An epoch's batches by either side, some of them a turn; then the share of padding."""
    from transformers.trainer_pt_utils import LengthGroupedSampler

    for name, (pairs, mean, most) in settings.chosen(SIZES).items():
        src, tgt = sentences(pairs, mean)
        ours = TokenBatches(src, tgt, max_tokens=most, seed=0, max_length=128)
        epoch = ours.epoch(0)
        size = max(1, round(pairs / len(epoch)))
        lengths = [max(len(s), len(t)) for s, t in zip(src, tgt, strict=True)]
        loader = torch.utils.data.DataLoader(
            list(zip(src, tgt, strict=True)),
            batch_size=size,
            sampler=LengthGroupedSampler(size, lengths=lengths),
            collate_fn=collate,
        )
        tokens = sum(map(len, src)) + sum(map(len, tgt)) + 2 * pairs
        some = 50  # batches of a turn
        share = some / len(epoch)
        ours_on, theirs_on = itertools.count(1), iter(loader)

        def one_of_ours(turn: int, ours=ours, ours_on=ours_on, some=some) -> None:
            for batch in ours.epoch(next(ours_on))[:some]:
                assert batch.n_tokens

        def one_of_theirs(turn: int, loader=loader, some=some) -> None:
            for source, *_ in itertools.islice(loader, some):
                assert len(source)

        yield compare(
            one_of_ours,
            one_of_theirs,
            case=f"{name}, {pairs:,} pairs, an epoch begun and {some} batches",
            peer="DataLoader, grouped by length",
            unit="tokens",
            work=lambda turn, tokens=tokens, share=share: tokens * share,
            settings=settings,
            warm_up=(0,),
        )
        yield Amount(
            f"{name}, padding of an epoch",
            "DataLoader, grouped by length",
            "% of the positions",
            padding((batch.src, batch.tgt_out) for batch in epoch),
            padding((source, target) for source, _, target in theirs_on),
        )
