"""Draws by numba: the same bits as without it, whatever the shape, the place and the kind."""

import importlib.util
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from reservoir.weights import draws
from reservoir.weights.draws import DISTRIBUTIONS, Elementwise, compiles
from reservoir.weights.generator import Stream
from reservoir.weights.initialisation import KaimingUniform, Normal, SignedConstant
from reservoir.weights.origins import Seeded
from reservoir.weights.streaming import TiledWeight, pack

pytest.importorskip("numba", reason="the extra fast is not installed")
jit = importlib.import_module("reservoir.weights.jit")
each_kind = pytest.mark.parametrize("kind", DISTRIBUTIONS)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(draws, "WORTHWHILE", 0)


def plain(drawn: Elementwise, stream: Stream, shape, start: int = 0) -> torch.Tensor:
    """By PyTorch, block by block."""
    kind, n = DISTRIBUTIONS[drawn.kind], math.prod(shape)
    return stream.elements(
        start,
        start + n,
        per_block=kind.per_block,
        convert=lambda block: kind.convert(block, drawn.scale),
    ).view(shape)


@each_kind
@given(
    seed=st.integers(0, 2**64 - 1),
    name=st.text(max_size=5),
    size=st.floats(-1e6, 1e6, allow_subnormal=False),
    # A plane has 256 blocks; an index above 2^32 blocks has a high half.
    start=st.one_of(st.integers(0, 5000), st.integers(2**32 - 300, 2**32 + 300), st.integers(2**40, 2**42)),
    shape=st.one_of(
        st.tuples(st.integers(0, 4000)),
        st.tuples(st.integers(0, 40), st.integers(0, 90)),
        st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9)),
    ),
)
@settings(deadline=None, max_examples=80)
def test_numba_draws_the_bits_that_pytorch_draws(kind, seed, name, size, start, shape):
    stream, drawn = Stream(seed, name), Elementwise(kind, size)
    found = jit.elements(
        stream, kind, drawn.scale, DISTRIBUTIONS[kind].per_block, start, start + math.prod(shape)
    )
    expected = plain(drawn, stream, shape, start).view(-1)
    assert found.dtype == torch.float32 and found.numpy().tobytes() == expected.numpy().tobytes()
    assert found.untyped_storage().nbytes() == 4 * found.numel(), "what was cut off must not stay in memory"


@each_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_draw_takes_the_same_values_by_either_way_whatever_the_default_dtype(kind, dtype, always):
    drawn, stream = Elementwise(kind, 0.3), Stream(5, "w")
    torch.set_default_dtype(dtype)
    try:
        found = drawn(stream, (700, 33), start=77)
        assert found.dtype == torch.float32 and torch.equal(found, plain(drawn, stream, (700, 33), 77))
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("initialisation", [KaimingUniform(), SignedConstant(), Normal(std=0.1)])
@given(rows=st.integers(1, 40), cols=st.integers(1, 50), data=st.data())
@settings(deadline=None, max_examples=30)
def test_a_mask_on_a_tile_takes_the_same_weights_by_either_way(initialisation, rows, cols, data):
    keep = np.random.default_rng(data.draw(st.integers(0, 99))).random((rows, cols)) < 0.5
    low = data.draw(st.integers(0, rows - 1))
    high = data.draw(st.integers(low + 1, rows))
    origin, bits = Seeded(3, "w", initialisation, zero_row=0), pack(torch.from_numpy(keep))
    tiled = TiledWeight(origin, torch.Size((rows, cols)), bits=bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "WORTHWHILE", 0)
        found = tiled.rows(low, high).numpy().tobytes()
        patch.setattr(draws, "WORTHWHILE", math.inf)
        assert found == tiled.rows(low, high).numpy().tobytes()  # zeros keep their signs


def test_numba_is_taken_only_on_a_processor(always):
    assert compiles(1) and compiles(1, "cpu") and not compiles(1, "meta")
    with FakeTensorMode():
        assert not compiles(1)


def test_numba_waits_until_its_import_is_worth_it(monkeypatch):
    monkeypatch.setattr(draws._Asked, "elements", 0)
    assert not compiles(draws.WORTHWHILE - 1) and compiles(1)


def test_without_numba_pytorch_draws(monkeypatch, always):
    monkeypatch.setattr(draws, "numba_is_here", lambda: False)
    monkeypatch.setattr(jit, "elements", None)  # whoever calls it fails
    drawn, stream = Elementwise("uniform", 0.3), Stream(5, "w")
    assert not compiles(1)
    assert torch.equal(drawn(stream, (10, 7)), plain(drawn, stream, (10, 7)))
