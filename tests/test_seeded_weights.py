"""Weights from a seed: the page and Python draw the same bits, and the line of Python that the page shows is right."""

from pathlib import Path

import pytest
import torch
from javascript import in_javascript

from reservoir.weights import Stream, draws
from reservoir_book.explorables.drawn import DISTRIBUTIONS, seeded_weights

MODEL = Path(__file__).parent.parent / "reservoir_book/explorables/seeded_weights/model.mjs"
SCRIPT = f"""
import {{ python, weights }} from '{MODEL.as_uri()}';
console.log(JSON.stringify(given.map((one) => [[...weights(one)], python(one)])));
"""


def test_the_page_draws_what_python_draws_and_says_how():
    asked = [
        {"seed": seed, "name": name, "kind": kind, "size": size}
        for kind in DISTRIBUTIONS
        for seed, name, size in ((0, "encoder.0.attention.out", 16), (7, "Küche", 5), (2**40, "", 32))
    ]
    for one, (numbers, call) in zip(asked, in_javascript(SCRIPT, asked), strict=True):
        ours = seeded_weights(one["seed"], one["name"], kind=one["kind"], size=one["size"])
        assert numbers == ours.flatten().tolist(), one
        assert torch.equal(eval(call, {"draws": draws, "Stream": Stream}), ours), call


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="uniform, sign, normal, orthogonal, got 'gauss'"):
        seeded_weights(0, "x", kind="gauss")
