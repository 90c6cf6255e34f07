"""Batches: every pair once, never more tokens than asked, little padding, and an order that seed and epoch fix."""

import itertools
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reservoir.datasets import TokenBatches, pad_sources, train_bpe
from reservoir_lab.corpora import parallel


def corpus(lengths):
    """Pairs of the given lengths; the first ids of a row tell which pair it is."""
    src = [[4 + (i * 31 + k) % 900 for k in range(s)] for i, (s, _) in enumerate(lengths)]
    tgt = [[4 + (i * 17 + k) % 800 for k in range(t)] for i, (_, t) in enumerate(lengths)]
    return src, tgt


def unpad(batch):
    """The pairs in a batch, read back from its tensors, which must agree with each other."""
    pairs = []
    for src, tgt_in, tgt_out in zip(
        batch.src.tolist(), batch.tgt_in.tolist(), batch.tgt_out.tolist(), strict=True
    ):
        s, t = src.index(2), tgt_out.index(2)
        assert tgt_in[0] == 1 and tgt_in[1 : t + 1] == tgt_out[:t]
        assert not any(src[s + 1 :]) and not any(tgt_out[t + 1 :]) and not any(tgt_in[t + 1 :])
        pairs.append((tuple(src[:s]), tuple(tgt_out[:t])))
    return pairs


def equal(a, b):
    return torch.equal(a.src, b.src) and torch.equal(a.tgt_in, b.tgt_in) and torch.equal(a.tgt_out, b.tgt_out)


lengths = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=200)


@given(
    lengths=lengths, max_tokens=st.integers(41, 400), seed=st.integers(0, 2**63), number=st.integers(0, 1000)
)
@settings(max_examples=60, deadline=None)
def test_an_epoch_holds_every_pair_once_within_the_bound(lengths, max_tokens, seed, number):
    src, tgt = corpus(lengths)
    epoch = TokenBatches(src, tgt, max_tokens=max_tokens, seed=seed, max_length=40).epoch(number)
    found, tokens = [], 0
    for batch in epoch:
        assert max(batch.src.shape[1], batch.tgt_in.shape[1]) * len(batch.src) <= max_tokens
        assert (
            batch.tgt_in.shape == batch.tgt_out.shape and batch.src.dtype == batch.tgt_in.dtype == torch.int64
        )
        assert batch.n_tokens == int((batch.tgt_out != 0).sum())
        found += unpad(batch)
        tokens += batch.n_tokens
    assert sorted(found) == sorted((tuple(s), tuple(t)) for s, t in zip(src, tgt, strict=True))
    assert tokens == sum(len(t) + 1 for t in tgt)


@given(
    seed=st.integers(0, 2**32), mean=st.floats(8, 30), ratio=st.floats(0.6, 1.6), spread=st.floats(0, 0.3)
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_padding_stays_under_a_tenth_for_lengths_like_a_languages(seed, mean, ratio, spread):
    """Of any mean, ratio and scatter, as long as an epoch has enough batches (150 or so) to sort lengths into."""
    draws = np.random.default_rng(seed)
    n = int(150 * 512 / mean / max(1, ratio))
    s = np.clip(draws.gamma(4, mean / 4, n), 1, 100).astype(int)
    t = np.clip(s * ratio * draws.lognormal(0, spread, n), 1, 100).astype(int)
    rows = [[4] * length for length in range(101)]
    src, tgt = [rows[i] for i in s], [rows[i] for i in t]
    assert padding(TokenBatches(src, tgt, max_tokens=512, seed=0, max_length=100).epoch(0)) < 0.1


@pytest.mark.data
@pytest.mark.parametrize("max_tokens", [2048, 3072, 4096])
def test_padding_stays_under_a_tenth_on_multi30k(max_tokens, multi30k):
    batches = TokenBatches(*multi30k, max_tokens=max_tokens, seed=0, max_length=100)
    assert batches.dropped == 0 and len(batches) == 29_000
    for number in range(2):
        assert padding(batches.epoch(number)) < 0.1


def padding(epoch) -> float:
    """The share of the positions of `src` and `tgt_out`, over all batches, that are padding."""
    pad = total = 0
    for batch in epoch:
        pad += int((batch.src == 0).sum() + (batch.tgt_out == 0).sum())
        total += batch.src.numel() + batch.tgt_out.numel()
    return pad / total


@pytest.fixture(scope="module")
def multi30k():
    if not os.environ.get("RESERVOIR_MIRROR"):
        pytest.skip("RESERVOIR_MIRROR names no mirror that has Multi30k")
    pairs = parallel("multi30k", src="de", tgt="en").train
    vocabulary = train_bpe([*pairs.src, *pairs.tgt], 8000)
    return vocabulary.encode_batch(pairs.src), vocabulary.encode_batch(pairs.tgt)


@pytest.fixture
def batches():
    draws = np.random.default_rng(0)
    pairs = corpus(draws.integers(3, 30, (500, 2)).tolist())
    return lambda seed: TokenBatches(*pairs, max_tokens=256, seed=seed, max_length=30)


def test_seed_and_epoch_alone_fix_the_order(batches):
    used = batches(7)
    for number in range(3):  # what was drawn before must not matter
        list(used.epoch(number))
    again, fresh = used.epoch(1), batches(7).epoch(1)
    assert len(again) == len(fresh) and all(equal(a, b) for a, b in zip(again, fresh, strict=True))


def test_an_epoch_can_be_entered_anywhere(batches):
    whole = list(batches(7).epoch(2))
    epoch = batches(7).epoch(2)
    assert all(
        equal(a, b) for a, b in zip(whole[9:], map(epoch.__getitem__, range(9, len(epoch))), strict=True)
    )
    assert equal(epoch[-1], whole[-1]) and len(epoch) == len(whole)
    with pytest.raises(IndexError):
        epoch[len(whole)]


@pytest.mark.parametrize("other", [(7, 1), (8, 0)])
def test_another_epoch_or_seed_has_other_batches_in_another_order(batches, other):
    first = [frozenset(unpad(batch)) for batch in batches(7).epoch(0)]
    second = [frozenset(unpad(batch)) for batch in batches(other[0]).epoch(other[1])]
    assert len(set(first) & set(second)) < len(first) / 2


def test_batches_do_not_come_sorted_by_length(batches):
    widths = [batch.src.shape[1] for batch in batches(7).epoch(0)]
    assert sum(a > b for a, b in itertools.pairwise(widths)) > len(widths) / 4


def test_long_pairs_are_dropped_and_counted():
    src, tgt = corpus([(5, 5), (11, 5), (5, 11), (10, 10), (10_000, 3)])
    batches = TokenBatches(src, tgt, max_tokens=64, seed=0, max_length=10)
    assert batches.dropped == 3 and len(batches) == 2
    assert sum(len(batch.src) for batch in batches.epoch(0)) == 2


def test_wrong_arguments_are_named():
    src, tgt = corpus([(5, 5), (5, 60)])
    with pytest.raises(
        ValueError, match="max_tokens=50 cannot hold pair 1, 60 tokens and eos: raise max_tokens to 61"
    ):
        TokenBatches(src, tgt, max_tokens=50, seed=0, max_length=100)
    with pytest.raises(ValueError, match="none of 2 pairs has at most max_length=2 tokens"):
        TokenBatches(src, tgt, max_tokens=50, seed=0, max_length=2)
    with pytest.raises(ValueError, match="src has 2 sentences but tgt has 1"):
        TokenBatches(src, tgt[:1], max_tokens=50, seed=0, max_length=100)
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        TokenBatches(src, tgt, max_tokens=100, seed=-1, max_length=100)


def test_sources_for_decoding_are_padded_like_training_ones():
    assert pad_sources([[5, 6], [], [7]]).tolist() == [[5, 6, 2], [2, 0, 0], [7, 2, 0]]
    assert pad_sources([]).shape == (0, 1)


def test_a_batch_moves_whole(batches):
    batch = batches(7).epoch(0)[0]
    moved = batch.to("meta")
    assert {moved.src.device.type, moved.tgt_in.device.type, moved.tgt_out.device.type} == {"meta"}
    assert moved.n_tokens == batch.n_tokens
