"""The generator in JavaScript gives the bits of the one in Python: any seed, name, length and start."""

import numpy as np
import pytest
import torch
from javascript import JS, in_javascript

from reservoir.weights import draws
from reservoir.weights.draws import Stream

SCRIPT = f"""
import * as draws from '{(JS / "shared/draws.mjs").as_uri()}';
import {{ Stream }} from '{(JS / "shared/philox.mjs").as_uri()}';
const bits = (array) => [...new Uint32Array(array.buffer, array.byteOffset, array.length)];
console.log(JSON.stringify(given.map(([seed, name, kind, ...rest]) => {{
  const stream = new Stream(seed, name);
  return bits(kind === 'words' ? stream.words(...rest) : draws[kind](stream, ...rest));
}})));
"""
SEEDS = [0, 1, 2**31, 2**32 + 5, 2**53 + 1, 2**64 - 1]
NAMES = ["", "encoder.0.attention.qkv", "Küche/0/▁Tür", "a" * 300]


def on_the_page(asked: list) -> list[list[int]]:
    """The bits of each draw, as unsigned 32-bit integers; the modules run under node."""
    return in_javascript(SCRIPT, asked)


def bits(tensor: torch.Tensor) -> list[int]:
    array = tensor.numpy()
    array = array.astype(np.uint32) if array.dtype == np.int64 else array.view(np.uint32)
    return array.flatten().tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_words_are_the_same(seed):
    spans = [(0, 9), (3, 4), (2**20 + 1, 2**20 + 30), (2**34 - 3, 2**34 + 6)]
    asked = [[str(seed), name, "words", *span] for name in NAMES for span in spans]
    expected = [bits(Stream(seed, name).words(*span)) for name in NAMES for span in spans]
    assert on_the_page(asked) == expected


def test_draws_are_the_same_to_the_bit():
    asked, expected = [], []
    for seed, name in zip(SEEDS, NAMES * 2, strict=False):
        stream = Stream(seed, name)
        for bound, n, start in ((1.0, 50, 0), (0.0721, 33, 129)):
            asked.append([str(seed), name, "uniform", n, {"bound": bound, "start": start}])
            expected.append(bits(draws.uniform(stream, (n,), bound=bound, start=start)))
            asked.append([str(seed), name, "sign", n, {"scale": bound, "start": start}])
            expected.append(bits(draws.sign(stream, (n,), scale=bound, start=start)))
            for share in (1, 1 / 3, 3 * 2.0**-32):
                asked.append([str(seed), name, "sparse", n, {"scale": bound, "share": share, "start": start}])
                expected.append(bits(draws.sparse(stream, (n,), scale=bound, share=share, start=start)))
            asked.append([str(seed), name, "normal", n, {"std": bound, "start": start}])
            expected.append(bits(draws.normal(stream, (n,), std=bound, start=start)))
        for n in (0, 1, 2, 1000):
            asked.append([str(seed), name, "permutation", n])
            expected.append(bits(draws.permutation(stream, n)))
        for rows, cols in ((1, 1), (2, 3), (64, 64), (37, 20), (20, 37), (100, 5)):
            asked.append([str(seed), name, "orthogonal", rows, cols, {"gain": 1.41}])
            expected.append(bits(draws.orthogonal(stream, rows, cols, gain=1.41)))
    for one, given, wanted in zip(asked, on_the_page(asked), expected, strict=True):
        assert given == wanted, one
