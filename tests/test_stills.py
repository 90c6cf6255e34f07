"""The stills of explorables, charts, tables and diagrams: nothing moves unless somebody means it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from digests import check
from safetensors.torch import load
from test_diagrams import NAMES, VALUES
from torch import nn

from reservoir.datasets import shipped
from reservoir_book import explorables, pictures
from reservoir_book.explorables import attention_maps, bench, recorded, stored_translator
from reservoir_book.explorables.gradients import Recorder


def front_table() -> explorables.FrontTable:
    """A table of two tasks with made-up scores, since the recorded ones become more."""
    shown = {"trained": [90.0, 80.0], "frozen-attention": [12.0], "mask": []}
    cells = {row: {task: {"scores": scores} for task in ("circle", "facts")} for row, scores in shown.items()}
    parts = [part._asdict() | {"cells": cells[part.row]} for part in bench.PARTS if part.row in shown]
    tasks = [{"name": "circle", "said": "who?"}, {"name": "facts", "said": "remember"}]
    return explorables.FrontTable(label="a", text="b", parts=parts, tasks=tasks)


def frozen(kind: type, **settings: Any) -> explorables.Explorable:
    sizes = {family: {"poster": recorded.counted(family, "full")} for family in recorded.POSTER}
    if kind is explorables.FrozenBody:
        sizes = {name: recorded.counted_body(*where) for name, where in recorded.SIZES.items()}
    name = "sizes" if kind is explorables.FrozenBody else "tables"
    return kind(label="a", text="b", **{name: sizes}, **settings)


def gradients() -> explorables.Gradients:
    recorder = Recorder(nn.Identity(), None, None, 0)
    draw = torch.Generator().manual_seed(0)
    for step in (1, 5, 10):
        recorder.steps.append(step)
        recorder.losses.append(3 / step)
        recorder.true.append(torch.randn(4, 6, generator=draw))
        for number, kind in enumerate(recorder.estimated):
            recorder.estimated[kind].append(torch.randn(4, 6, generator=draw))
            recorder.cosines[kind].append(number / 4 + step / 20)
    return explorables.Gradients.of(recorder, "abcd", frame=-2)


def attention(at: str) -> str:
    maps = torch.arange(4 * 3 * 5).view(4, 3, 5) / 60
    pieces = {"src": ["▁Der", "Hu", "nd", "<unk>", "</s>"], "tgt": ["▁a", "▁dog", "</s>"]}
    return attention_maps._drawn(pieces | {"cross": maps, "encoder": 1 - maps}, at, 2)


def chart(**more: Any) -> str:
    """Two bands and as many runs as there are dashes, one of them without a point."""
    bands = [(word, origin, [([1, 10, 30], [k, 2.5, 0.4 * k]), ([1, 10, 30], [2.0, 1.0, 0.1])])
             for k, (word, origin) in enumerate((("a", "trained"), ("b", "seeded")), start=1)]  # fmt: skip
    runs = [{"label": f"run {k}", "origin": "masked", "points": [(10 * i, 1.5 + k / (1 + i)) for i in range(k)]}
            for k in range(5)]  # fmt: skip
    return pictures.chart(bands, runs, x="steps", y="loss", **more)


RANDOM = "".join(str(i * i % 7 % 3) for i in range(80))
STILLS: dict[str, Callable[[], explorables.Explorable | str]] = {
    "seeded_weights": explorables.SeededWeights,
    "seeded_weights, orthogonal": lambda: explorables.SeededWeights(kind="orthogonal", size=5),
    "fourier_mixing": explorables.FourierMixing,
    "fourier_mixing, full": lambda: explorables.FourierMixing(signal=RANDOM),
    "masking, once": lambda: explorables.Masking(drawn="once", share=40, epochs=2, seed=5),
    "echo_state": lambda: explorables.EchoStateLab(size=50, penalty=-3),
    "layer_stack": lambda: explorables.LayerStack(records={}),
    "layer_stack, frozen below": lambda: explorables.LayerStack(stack="RRL", embeddings=False, records={}),
    "front_table": front_table,
    "hidden_network": lambda: explorables.HiddenNetwork(label="a", text="b", seed=3, masks={"50": "9a5c3" * 26}),
    "frozen_components": lambda: frozen(explorables.FrozenComponents, drawn="identity", attention=False),
    "frozen_components, language": lambda: frozen(explorables.FrozenComponents, table="language"),
    "frozen_body": lambda: frozen(explorables.FrozenBody, start="pretrained", norms=False, input=False),
    "gradients": gradients,
    "attention_maps, cross": lambda: attention("tgt-1"),
    "attention_maps, encoder": lambda: attention("src-2"),
    "stored_translator": lambda: stored_translator._drawn("Ein Satz.", "A sentence.", 12_345),
    "chart": chart,
    "chart, logarithmic": lambda: chart(log=True),
    "chart, empty": lambda: pictures.chart([], [], x="steps", y="loss"),
    "shares": lambda: pictures.shares(dict(a="b", c="d"), {"x": [56.0, None], "y": [0.0, 55.4], "z": [100.0, 3.0]}),
}  # fmt: skip


def test_100_percent_are_all():
    shown = ["0", "99", "99.5", "99.9", "99.9", "100"]
    assert [pictures.percent(share) for share in (0, 99.4, 99.5, 99.86, 99.97, 100)] == shown


@pytest.mark.parametrize("name", STILLS)
def test_a_still_has_its_digest(name):
    shown = STILLS[name]()
    check(name, shown if isinstance(shown, str) else shown.picture())


@pytest.mark.parametrize("name", NAMES)
def test_a_diagram_has_its_digest(name):
    check(f"diagram {name}", pictures.diagram(name, **VALUES).svg)


def test_what_gradients_send_to_the_page_has_its_digest():
    shown = gradients()
    names = ("frame", "words", "steps", "losses", "cosines", "arrows", "share", "text")
    check("gradients, data", {name: getattr(shown, name) for name in names})


def test_the_words_of_a_text_with_holes_have_their_digest():
    holes = explorables.Masking(sentence=" ".join("abcdefghijklmnopqrstuvwxyz"), share=60, epochs=3)
    check("masking, words", re.findall(r">([^<]+)<", holes.picture()))


def test_the_bit_that_is_turned_over_is_one_of_the_first_mask_s():
    """The tensors differ before and after in the second byte of that mask and nowhere else."""
    folder = shipped() / "models" / "miniature"
    shown = explorables.StoredTranslator.of(folder, sentence="Der Hund.")
    spoilt = bytearray(shown.weights)
    spoilt[shown.bit // 8] ^= 1 << shown.bit % 8
    before, after = load(shown.weights), load(bytes(spoilt))
    other = {name: (before[name] != after[name]).flatten().nonzero().tolist() for name in before}
    ((name, places),) = ((name, places) for name, places in other.items() if places)
    assert places == [[1]] and name == min(one for one in before if one.endswith(".mask"))
