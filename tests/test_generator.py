"""The generator: published vectors, an independent Philox, and words that depend on seed, name and index alone."""

import itertools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from reservoir.weights import draws
from reservoir.weights.draws import Stream, name_hash, philox

WORD = st.integers(0, 2**32 - 1)
SEED = st.integers(0, 2**64 - 1)


def philox_of_the_paper(counter, key):
    """Philox 4x32-10 as Salmon et al. write it, in Python's unbounded integers: round, then bump the key."""
    left0, right0, left1, right1 = counter
    key0, key1 = key
    for number in range(10):
        if number:
            key0, key1 = (key0 + 0x9E3779B9) % 2**32, (key1 + 0xBB67AE85) % 2**32
        high0, low0 = divmod(0xD2511F53 * left0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * left1, 2**32)
        left0, right0, left1, right1 = high1 ^ right0 ^ key0, low1, high0 ^ right1 ^ key1, low0
    return left0, right0, left1, right1


@pytest.mark.parametrize(
    ("counter", "key", "expected"),  # Random123's kat_vectors, lines "philox4x32 10"
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_gives_the_published_vectors(counter, key, expected):
    counter = [torch.tensor([int(word, 16)]) for word in counter.split()]
    words = philox(counter, [int(word, 16) for word in key.split()])
    assert " ".join(f"{word.item():08x}" for word in words) == expected


@given(
    counters=st.lists(st.tuples(WORD, WORD, WORD, WORD), min_size=1, max_size=5), key=st.tuples(WORD, WORD)
)
def test_philox_agrees_with_the_algorithm_in_unbounded_integers(counters, key):
    words = torch.stack(philox(torch.tensor(counters).T, key), -1)
    assert words.dtype == torch.int64
    assert words.tolist() == [list(philox_of_the_paper(counter, key)) for counter in counters]


@pytest.mark.parametrize(
    ("name", "expected"),  # from the published FNV-1a test vectors
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_names_are_hashed_by_fnv_1a(name, expected):
    assert name_hash(name) == expected


@given(seed=SEED, name=st.text(st.characters(exclude_categories=["Cs"])), index=st.integers(0, 2**40))
def test_a_word_has_the_documented_counter_and_key(seed, name, index):
    block, place = divmod(index, 4)
    low_high = [(value % 2**32, value // 2**32) for value in (block, name_hash(name), seed)]
    expected = philox_of_the_paper(low_high[0] + low_high[1], low_high[2])[place]
    assert Stream(seed, name).words(index, index + 1).tolist() == [expected]


@pytest.fixture
def compiled(monkeypatch):
    """What numba was asked to fill in, from the first block on."""
    pytest.importorskip("numba", reason="the extra fast is not installed")
    fill, calls = draws.compiled(), []
    monkeypatch.setattr(draws, "WORTHWHILE", 0)
    monkeypatch.setattr(draws, "compiled", lambda: lambda *given: calls.append(given) or fill(*given))
    return calls


@given(
    seed=SEED,
    name=st.text(max_size=5),
    # An index above 2^32 blocks has a high half.
    start=st.one_of(st.integers(0, 5000), st.integers(2**34 - 300, 2**34 + 300), st.integers(2**40, 2**42)),
    length=st.integers(0, 900),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numba_makes_the_words_that_pytorch_makes(compiled, seed, name, start, length):
    compiled.clear()
    found = Stream(seed, name).words(start, start + length)
    assert compiled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "compiled", lambda: None)
        assert torch.equal(found, Stream(seed, name).words(start, start + length))


def test_numba_is_asked_only_for_tensors_with_memory_on_a_processor(compiled):
    assert Stream(3, "m").words(0, 5, device="meta").is_meta
    with FakeTensorMode():
        Stream(3, "m").words(0, 5)
    assert not compiled


def test_numba_waits_until_its_import_is_worth_it(compiled, monkeypatch):
    monkeypatch.setattr(draws, "WORTHWHILE", 10)
    monkeypatch.setattr(draws._Asked, "blocks", 0)
    Stream(3, "m").words(0, 36)
    assert not compiled
    Stream(3, "m").words(0, 4)
    assert compiled


@given(start=st.integers(0, 200), length=st.integers(0, 200))
@settings(deadline=None)
def test_a_slice_is_the_slice_of_the_whole_whatever_the_chunk(start, length):
    stream = Stream(1, "slices")
    whole = stream.words(0, 400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "CHUNK_BLOCKS", 7)
        assert torch.equal(stream.words(start, start + length), whole[start : start + length])


def test_a_slice_does_not_keep_more_memory_than_its_own():
    words = Stream(1, "memory").words(3, 6)
    assert words.untyped_storage().nbytes() == 3 * 8


def test_a_stream_is_a_value_and_its_words_repeat():
    assert Stream(7, "a") == Stream(7, "a")
    assert hash(Stream(7, "a")) == hash(Stream(7, "a"))
    assert torch.equal(Stream(7, "a").words(0, 99), Stream(7, "a").words(0, 99))
    assert Stream(7, "a").sub("b").sub(3) == Stream(7, "a/b/3")


def test_drawing_leaves_the_global_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    words = Stream(7, "a").words(0, 99)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(1)
    assert torch.equal(words, Stream(7, "a").words(0, 99))


def test_streams_are_uncorrelated():
    n = 2**14
    streams = [Stream(seed, name) for seed in (0, 1, 2**32, 2**63) for name in ("", "a", "b", "a/0", "a/1")]
    bits = torch.stack([stream.words(0, n) for stream in streams])[:, :, None] >> torch.arange(32) & 1
    signs = (2 * bits - 1).double()  # (streams, n, 32)
    assert signs.mean(1).abs().max() < 6 / n**0.5  # each bit is fair
    for one, other in itertools.combinations(signs, 2):
        assert (one * other).mean(0).abs().max() < 6 / n**0.5
    assert (signs[:, 1:] * signs[:, :-1]).mean(1).abs().max() < 6 / n**0.5  # neighbours


def test_a_default_device_of_meta_does_not_reach_the_stream():
    with torch.device("meta"):
        stream = Stream(3, "m")
        assert stream.words(0, 5).is_meta
    assert torch.equal(stream.words(0, 5), Stream(3, "m").words(0, 5))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same_words():
    stream = Stream(2**64 - 1, "gpu")
    assert torch.equal(stream.words(3, 100_003, device="cuda").cpu(), stream.words(3, 100_003))


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", True, None])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ValueError, match=r"seed must be an integer in \[0, 2\*\*64\), got"):
        Stream(seed, "a")


def test_other_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="name must be a string, got 3"):
        Stream(0, 3)
    with pytest.raises(ValueError, match=r"start and stop must .*, got 5 and 4"):
        Stream(0, "a").words(5, 4)
