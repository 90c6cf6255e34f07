"""The hidden network: the page draws the library's weights, reads digits as Python does, and carries the records."""

import json

import pytest
import torch
from javascript import JS, in_javascript

from reservoir_book.explorables import HiddenNetwork
from reservoir_book.explorables import recorded as ours
from reservoir_lab.recipes.supermasks import PERCENTAGES
from reservoir_lab.runs import find_records

SCRIPT = f"""
import * as page from '{(JS / "hidden_network/model.mjs").as_uri()}';
const {{ seed, masks, pictures, labels }} = given;
console.log(JSON.stringify(Object.entries(masks).map(([percent, bits]) => {{
  const net = page.network({{ seed, percent: Number(percent), bits }});
  return {{
    up: [...net.up.weight], kept: [page.kept(net.up), page.kept(net.down)],
    logits: [...page.read(net, page.pixels(pictures, 7)).logits], accuracy: page.accuracy(net, pictures, labels),
  }};
}})));
"""


@pytest.fixture(scope="module")
def made() -> HiddenNetwork:
    return HiddenNetwork.searched(steps=30)


def test_the_page_draws_and_reads_what_python_does(made):
    asked = {name: getattr(made, name) for name in ("seed", "masks", "pictures", "labels")}
    pixels, _ = ours.small_digits()["test"]
    for percent, page in zip(PERCENTAGES, in_javascript(SCRIPT, asked), strict=True):
        reader = ours.search(percent / 100, steps=30)
        assert page["up"] == reader.up.weight.flatten().tolist()
        assert page["kept"] == [round(percent / 100 * n) for n in (320, 200)]
        found = reader(ours.seen(pixels[7]))
        torch.testing.assert_close(
            torch.tensor(page["logits"], dtype=torch.float32), found, atol=1e-4, rtol=1e-4
        )
        # With weights of one size and pixels of sixteen greys, two answers often tie but for rounding.
        assert page["accuracy"] == pytest.approx(ours.accuracy(reader), abs=1.0)


def test_a_search_finds_what_chance_does_not():
    assert ours.accuracy(ours.search(0.5, steps=30)) > 2 * ours.accuracy(
        ours.drawn_reader(0.5, seed=0).eval()
    )


def test_it_carries_the_records_and_stays_small(made):
    for curve, shown in zip(ours.CURVES, made.curves, strict=True):
        ran = [percent for percent in PERCENTAGES if find_records(f"keep/{curve}-{percent}")]
        assert [point["percent"] for point in shown["points"]] == ran
    assert len(json.dumps([made.masks, made.pictures, made.labels, made.curves])) < 20_000


def test_it_has_a_picture_and_a_text_for_where_scripts_do_not_run(made):
    assert "keeps half" in made.text and made.keep == 50
    assert HiddenNetwork(label="a", text="b").picture() is None
