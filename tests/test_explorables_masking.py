"""Holes in a text: the page hides the words that Python hides."""

from pathlib import Path

import torch
from javascript import in_javascript

from reservoir.training import mask
from reservoir.weights import Stream
from reservoir_book.explorables import Masking

MODEL = Path(__file__).parent.parent / "reservoir_book/explorables/masking/model.mjs"
SCRIPT = f"""
import {{ hidden }} from '{MODEL.as_uri()}';
console.log(JSON.stringify(given.map((one) => hidden(one).map((word) => word ?? null))));
"""


def test_the_page_hides_what_python_hides():
    asked = [
        {"seed": seed, "epoch": epoch, "n": n, "share": share}
        for seed, epoch, n, share in (
            (0, 0, 35, 0.15),
            (7, 3, 60, 0.5),
            (2**40, 11, 1, 0.01),
            (3, 2, 30, 0.15),
        )
    ]
    for one, words in zip(asked, in_javascript(SCRIPT, asked), strict=True):
        ids, n = 4 + torch.arange(one["n"])[None], one["n"]
        stream = Stream(one["seed"], f"masking/{one['epoch']}")
        ours = mask(ids, stream, mask_id=4 + n, share=one["share"])
        assert ours.positions.tolist() == [place for place, word in enumerate(words) if word]
        for place in ours.positions.tolist():
            read = int(ours.ids[0, place]) - 4
            assert (words[place]["way"] == "mask") == (read == n)
            assert read == n or words[place]["read"] == read


def test_what_is_said_at_first_is_so():
    first = Masking()
    words = first.sentence.split()
    ids = 4 + torch.arange(len(words))[None]
    assert len(words) == 34
    for epoch in range(4):
        ours = mask(ids, Stream(0, f"masking/{epoch}"), mask_id=4 + 34)
        assert len(ours.targets) == 5 and int((ours.ids == 4 + 34).sum()) == 4
