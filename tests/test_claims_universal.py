"""The claims on frozen bodies: each rule says of the papers' own figures what a reader of their tables would say."""

from types import SimpleNamespace

import pytest

from reservoir.evidence import claims, sources
from reservoir.evidence.claims import NotRunError, Range, universal
from reservoir.recipes.universal import SWITCHES, switch_name

COLUMNS = {
    "bit-memory": "BitMem",
    "bit-xor": "XOR",
    "listops": "ListOps",
    "mnist": "MNIST",
    "cifar10": "CIFAR10",
    "cifar10-pixels": "C10-LRA",
}
LU = {
    "pretrained": "pretrained, frozen",
    "random": "random, frozen",
    "matched": "random with matched statistics, frozen",
    "full": "fully trained",
    "lstm": "LSTM",
}
ROTHERMEL = {
    "random": "random, frozen",
    "pretrained": "pretrained, frozen",
    "full": "random, trained",
    "pretrained-full": "pretrained, trained",
}


def printed(where: str, rows: dict[str, str]):
    def read(task: str, body: str) -> Range:
        try:
            value = sources.table(where).figure(rows[body], COLUMNS[task]).value
        except (KeyError, sources.SourceError):
            raise NotRunError(f"{where} has no {task}, {body}") from None
        return Range.exactly(value)

    return read


@pytest.fixture
def in_the_papers(monkeypatch):
    monkeypatch.setattr(universal, "fixed", printed("frozen-pretrained/accuracy", LU))
    monkeypatch.setattr(universal, "swept", printed("cross-modal/accuracy", ROTHERMEL))
    added = sources.table("frozen-pretrained/cifar10-added").frame()
    figures = {
        switch_name(start, parts): Range.exactly(value)
        for start in ("pretrained", "random")
        for parts, value in zip(SWITCHES[:4], added[start], strict=True)
    }
    monkeypatch.setattr(universal, "score", figures.__getitem__)
    monkeypatch.setattr(universal, "spread", lambda recipes: 0.0)


@pytest.mark.parametrize(
    ("name", "word", "seen"),
    [
        ("blog/as-well", "refuted", "cifar10-pixels: 3.4"),  # 42 against 38.6 is more than two points
        ("lu/pretrained", "confirmed", "bit-memory: 24.2"),
        ("lu/matched", "confirmed", "cifar10: -5.2"),
        ("lu/lstm", "confirmed", "bit-xor: 49.9"),
        ("lu/added", "confirmed", "pretrained: 25.0, 54.0, 60.0, 68.0"),
        ("rothermel/full", "confirmed", "mnist: 0.2"),
        ("rothermel/frozen", "confirmed", "listops: 7.2"),
        ("rothermel/trained", "confirmed", "cifar10: -0.1"),
        ("ours/stories", "not run", "stories"),
    ],
)
def test_the_rules_read_the_papers_own_figures(in_the_papers, name, word, seen):
    found = claims.verdict(name)
    assert (found.word, seen in found.seen) == (word, True), found.seen


def test_a_sweep_that_is_not_whole_decides_nothing(monkeypatch):
    record = SimpleNamespace(tests={"test": {"accuracy": 50.0}})

    def choose(recipes):
        missing = [recipes[4]] if "mnist" in recipes[0] else []
        return SimpleNamespace(recipe=recipes[3], records=[record], missing=missing, complete=not missing)

    monkeypatch.setattr(universal, "choose", choose)
    assert universal.swept("listops", "random").mean == 50.0
    with pytest.raises(NotRunError, match=r"random/lr-1e-2 is the best so far, and .*/lr-3e-2 not run"):
        universal.swept("mnist", "random")


def test_one_rate_flatters_when_the_sweep_widens_the_gap(monkeypatch):
    def at(full: float):
        return lambda task, body: Range.exactly(full if body == "full" else 60.0)

    monkeypatch.setattr(universal, "fixed", at(61.0))
    monkeypatch.setattr(universal, "swept", at(70.0))
    found = claims.verdict("ours/rate")
    assert found.word == "confirmed" and "1.0 points ahead at one rate, 10.0" in found.seen
