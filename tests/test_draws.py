"""Draws: each element a function of stream and index, the promised distributions, and the same bits in JavaScript."""

import json
import math
import shutil
import subprocess

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reservoir.weights import draws
from reservoir.weights.draws import Stream, normal, orthogonal, permutation, sign, sparse, uniform

STREAM = Stream(11, "draws")
ELEMENTWISE = {
    "uniform": lambda shape, **where: uniform(STREAM, shape, bound=0.3, **where),
    "sign": lambda shape, **where: sign(STREAM, shape, scale=0.3, **where),
    "sparse": lambda shape, **where: sparse(STREAM, shape, scale=0.3, share=0.4, **where),
    "normal": lambda shape, **where: normal(STREAM, shape, std=0.3, **where),
}
each_elementwise = pytest.mark.parametrize("draw", ELEMENTWISE.values(), ids=ELEMENTWISE)


@each_elementwise
@given(rows=st.integers(0, 12), cols=st.integers(0, 40), data=st.data())
@settings(deadline=None, max_examples=40)
def test_a_tile_is_the_tile_of_the_whole_whatever_the_chunk(draw, rows, cols, data):
    whole = draw((rows, cols))
    assert whole.shape == (rows, cols) and whole.dtype == torch.float32
    first = data.draw(st.integers(0, rows))
    last = data.draw(st.integers(first, rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "CHUNK_BLOCKS", 2)
        assert torch.equal(draw((last - first, cols), start=first * cols), whole[first:last])


@each_elementwise
def test_elements_do_not_depend_on_the_default_dtype_or_the_global_generator(draw):
    expected = draw((50,))
    torch.manual_seed(5)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(draw((50,)), expected) and draw((50,)).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@given(bound=st.floats(1e-6, 1e6), n=st.integers(1, 300))
@settings(deadline=None)
def test_uniform_is_a_signed_24_bit_integer_times_one_float32(bound, n):
    drawn = uniform(STREAM, (n,), bound=bound).numpy()
    integers = STREAM.words(0, n).numpy() // 256 - 2**23
    assert np.array_equal(drawn, integers.astype(np.float32) * np.float32(bound / 2**23))
    assert drawn.min() >= -np.float32(bound) and drawn.max() < np.float32(bound)


@given(scale=st.floats(1e-6, 1e6), n=st.integers(1, 300))
@settings(deadline=None)
def test_sign_is_one_bit_of_the_stream_an_element(scale, n):
    drawn = sign(STREAM, (n,), scale=scale)
    words = STREAM.words(0, -(-n // 32)).tolist()
    bits = [words[i // 32] >> i % 32 & 1 for i in range(n)]
    magnitude = np.float32(scale)
    assert drawn.tolist() == [magnitude if bit else -magnitude for bit in bits]


@given(share=st.floats(1e-3, 1.0), n=st.integers(1, 300))
@settings(deadline=None)
def test_sparse_is_one_word_an_element_and_as_often_plus_as_minus(share, n):
    drawn = sparse(STREAM, (n,), scale=0.7, share=share)
    words = STREAM.words(0, n).tolist()
    below = 2 * round(share * 2**31)
    assert below % 2 == 0 and below / 2**32 == pytest.approx(share, rel=1e-5)
    magnitude = np.float32(0.7)
    assert drawn.tolist() == [
        0.0 if word >= below else -magnitude if word % 2 else magnitude for word in words
    ]
    with pytest.raises(ValueError, match=r"share must be in \(0, 1\], got 1.5"):
        sparse(STREAM, (n,), scale=0.7, share=1.5)


@given(std=st.floats(1e-6, 1e6), n=st.integers(1, 100))
@settings(deadline=None)
def test_normal_is_an_exact_sum_of_eight_halves_times_one_float32(std, n):
    words = STREAM.words(0, 4 * n).numpy().astype("<u4")
    twice = 2 * words.view("<u2").reshape(n, 8).astype(np.int64).sum(1) - 8 * 65535
    scale = np.float32(std / math.sqrt(8 * (2**32 - 1) / 3))
    assert np.array_equal(twice.astype(np.float32).astype(np.int64), twice)
    assert np.array_equal(normal(STREAM, (n,), std=std).numpy(), twice.astype(np.float32) * scale)


def test_normal_has_the_moments_and_the_reach_that_its_docstring_gives():
    # Derived: cumulants add, so the excess kurtosis of a sum of n is that of one, -6/5 (N² + 1)/(N² - 1), over n.
    levels = np.arange(65536, dtype=np.float64) - 65535 / 2
    one = (levels**4).mean() / (levels**2).mean() ** 2 - 3
    assert one / 8 == pytest.approx(-0.15, abs=1e-6)
    # The farthest value is that of eight equal halves.
    assert 8 * levels.max() / math.sqrt(8 * (levels**2).mean()) < 4.9
    assert math.erfc(4.9 / math.sqrt(2)) == pytest.approx(1e-6, rel=0.05)
    # Drawn: each moment within five of its own standard errors.
    n = 2**20
    x = normal(STREAM, (n,), std=1.0).double()
    assert abs(x.mean()) < 5 / n**0.5
    assert abs((x**2).mean() - 1) < 5 * (1.85 / n) ** 0.5
    assert abs((x**3).mean()) < 5 * (x**6).mean().sqrt() / n**0.5
    assert abs((x**4).mean() - 2.85) < 5 * (x**4).std() / n**0.5
    assert x.abs().max() < 4.9


@given(n=st.integers(0, 200), seed=st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_a_permutation_sorts_the_words(n, seed):
    order = permutation(Stream(seed, "order"), n)
    assert sorted(order.tolist()) == list(range(n))
    words = Stream(seed, "order").words(0, n).tolist()
    assert order.tolist() == sorted(range(n), key=words.__getitem__)


def test_a_permutation_breaks_ties_by_place():
    class Ties:
        def words(self, start, stop, *, device=None):
            return torch.arange(start, stop) // 10 % 2  # ten zeros, ten ones, …

    n = 1000
    expected = sorted(range(n), key=lambda i: i // 10 % 2)
    assert permutation(Ties(), n).tolist() == expected


def test_every_place_of_a_permutation_is_as_likely():
    counts = torch.zeros(5, 5)
    trials = 2000
    for seed in range(trials):
        counts[torch.arange(5), permutation(Stream(seed, "p"), 5)] += 1
    assert (counts - trials / 5).abs().max() < 5 * (trials * 0.2 * 0.8) ** 0.5


def assert_orthogonal(q, gain):
    rows, cols = q.shape
    gram = q.double().T @ q.double() if rows >= cols else q.double() @ q.double().T
    assert (gram - gain**2 * torch.eye(len(gram))).abs().max() < 1e-5 * gain**2


@given(rows=st.integers(1, 90), cols=st.integers(1, 90), gain=st.floats(0.01, 10), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_orthogonal_is_orthogonal_for_any_shape(rows, cols, gain, seed):
    q = orthogonal(Stream(seed, "q"), rows, cols, gain=gain)
    assert q.shape == (rows, cols) and q.dtype == torch.float32 and q.is_contiguous()
    assert_orthogonal(q, gain)


# Powers of two and four, the widths that models use, primes, and one more or less than a window.
@pytest.mark.parametrize("n", [64, 65, 96, 127, 128, 255, 256, 257, 288, 384, 509, 512, 768, 1009, 1024])
def test_entries_of_an_orthogonal_draw_look_gaussian(n):
    x = (
        orthogonal(Stream(n, "gaussian"), n, n, gain=1.0).double() * n**0.5
    )  # unit variance, since columns are unit
    assert x.mean().abs() < 5 / n  # of n² entries
    haar = 3 * n / (n + 2)  # the fourth moment of an entry of a Haar matrix
    assert (x**4).mean() == pytest.approx(haar, rel=0.1)
    assert (x == 0).double().mean() < 0.1
    assert x.abs().max() < 8
    # No column and no row is a sparse one among dense ones.
    assert (x**4).mean(0).max() < 7 and (x**4).mean(1).max() < 7
    # Distance to the normal distribution function; the grid is coarse at n = 64.
    ordered = x.flatten().sort().values
    reached = torch.arange(1, n * n + 1) / (n * n)
    expected = (1 + torch.erf(ordered / math.sqrt(2))) / 2
    assert (reached - expected).abs().max() < 0.05


def test_orthogonal_draws_spread_evenly_over_both_signs_of_the_determinant():
    signs = [np.linalg.det(orthogonal(Stream(s, "det"), 9, 9, gain=1.0).double().numpy()) for s in range(200)]
    assert 60 < sum(value > 0 for value in signs) < 140


@given(n=st.integers(1, 64))
@settings(deadline=None, max_examples=20)
def test_entries_of_an_orthogonal_draw_are_exact_multiples_of_a_power_of_a_half(n):
    half = (n.bit_length() - 1) // 2
    q = orthogonal(STREAM, n, n, gain=1.0).double() * 2.0 ** (3 * half * (2 if n % 4**half else 1))
    assert torch.equal(q, q.round())
    assert not (torch.signbit(q) & (q == 0)).any()  # a zero has one form only, or a digest could differ


def test_orthogonal_refuses_what_it_cannot_do_exactly():
    with pytest.raises(
        ValueError, match="rows and cols must be at most 262144 for exact sums, got 262145 and 2"
    ):
        orthogonal(STREAM, 262145, 2, gain=1.0)
    with pytest.raises(ValueError, match="rows and cols must be at least 1, got 0 and 2"):
        orthogonal(STREAM, 0, 2, gain=1.0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_draws_the_same_bits():
    for draw in ELEMENTWISE.values():
        assert torch.equal(draw((301, 1003), device="cuda").cpu(), draw((301, 1003)))
    assert torch.equal(permutation(STREAM, 9999, device="cuda").cpu(), permutation(STREAM, 9999))
    on_gpu = orthogonal(STREAM, 600, 300, gain=1.3, device="cuda")
    assert torch.equal(on_gpu.cpu(), orthogonal(STREAM, 600, 300, gain=1.3))


JAVASCRIPT = r"""
const mulmod = (a, b) => BigInt.asUintN(64, BigInt(a) * BigInt(b));
function words(seed, name, n) {
  let hash = 0xCBF29CE484222325n;
  for (const byte of new TextEncoder().encode(name)) hash = mulmod(hash ^ BigInt(byte), 0x100000001B3n);
  const half = (value) => [Number(value & 0xFFFFFFFFn), Number(value >> 32n)];
  const out = [];
  for (let block = 0; 4 * block < n; block++) {
    let [c0, c1, c2, c3] = [block, 0, ...half(hash)];
    let [k0, k1] = half(BigInt(seed));
    for (let round = 0; round < 10; round++) {
      const [low0, high0] = half(mulmod(c0, 0xD2511F53));
      const [low1, high1] = half(mulmod(c2, 0xCD9E8D57));
      [c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1, (high0 ^ c3 ^ k1) >>> 0, low0];
      k0 = (k0 + 0x9E3779B9) >>> 0; k1 = (k1 + 0xBB67AE85) >>> 0;
    }
    out.push(c0, c1, c2, c3);
  }
  return out.slice(0, n);
}
const f = Math.fround;
const uniform = (seed, name, n, bound) =>
  words(seed, name, n).map((w) => f(((w >>> 8) - 2 ** 23) * f(bound * 2 ** -23)));
const sign = (seed, name, n, scale) => {
  const w = words(seed, name, Math.ceil(n / 32));
  return Array.from({length: n}, (_, i) => (w[i >> 5] >>> (i & 31)) & 1 ? f(scale) : -f(scale));
};
const normal = (seed, name, n, std) => {
  const w = words(seed, name, 4 * n), scale = f(std / Math.sqrt(8 * (2 ** 32 - 1) / 3));
  return Array.from({length: n}, (_, i) => {
    let sum = 0;
    for (let j = 4 * i; j < 4 * i + 4; j++) sum += (w[j] & 0xFFFF) + (w[j] >>> 16);
    return f((2 * sum - 8 * 65535) * scale);
  });
};
function orthogonal(seed, name, n, gain) {  // n by n, row by row
  const half = Math.floor(Math.log2(n) / 2), size = 4 ** half, rest = n % size;
  const spans = [[0, n - rest]].concat(rest ? [[n - size, n]] : []);
  let x = Array.from({length: n}, (_, i) => Array.from({length: n}, (_, j) => +(i === j)));
  for (let round = 0; round < 3; round++) {
    const w = words(seed, `${name}/${round}/permutation`, n);
    x = w.map((_, i) => i).sort((a, b) => w[a] - w[b] || a - b).map((i) => x[i]);
    spans.forEach(([low, high], place) => {
      const s = sign(seed, `${name}/${round}/sign/${place}`, n, 1);
      x = x.map((row, i) => row.map((v) => v * s[i] * (i < low || i >= high ? 2 ** half : 1)));
      for (let width = 1; width < size; width *= 2)
        for (let i = low; i < high; i++)
          if (((i - low) & width) === 0)
            for (let j = 0; j < n; j++)
              [x[i][j], x[i + width][j]] = [x[i][j] + x[i + width][j], x[i][j] - x[i + width][j]];
    });
  }
  return x.flat().map((v) => f(v * (gain * 2 ** -(3 * half * spans.length))) + 0);
}
const draws = {uniform, sign, normal, orthogonal};
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
const bits = (v) => new Uint32Array(new Float32Array([v]).buffer)[0];
console.log(JSON.stringify(asked.map(([kind, ...rest]) => draws[kind](...rest).map(bits))));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs node, as a stand-in for a browser")
def test_javascript_draws_the_same_bits():
    seed, name = 2**64 - 5, "encoder.ünïcødé/3"
    stream = Stream(seed, name)
    asked = [("uniform", 501, 0.1), ("sign", 501, 0.1), ("normal", 501, 0.02)]
    asked += [("orthogonal", n, 1.1) for n in (1, 3, 16, 37, 64)]
    text = json.dumps([(kind, str(seed), name, n, option) for kind, n, option in asked])
    answer = subprocess.run(
        ["node", "-e", JAVASCRIPT], input=text, capture_output=True, text=True, check=True
    )
    ours = {
        "uniform": lambda n, option: uniform(stream, (n,), bound=option),
        "sign": lambda n, option: sign(stream, (n,), scale=option),
        "normal": lambda n, option: normal(stream, (n,), std=option),
        "orthogonal": lambda n, option: orthogonal(stream, n, n, gain=option),
    }
    for (kind, n, option), theirs in zip(asked, json.loads(answer.stdout), strict=True):
        assert ours[kind](n, option).flatten().numpy().view("<u4").tolist() == theirs, (kind, n)
