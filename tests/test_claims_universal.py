"""The claims on frozen bodies: each rule says of the papers' own figures what a reader of their tables would say."""

import pytest

from reservoir_lab import recipes
from reservoir_lab.evidence import claims, sources
from reservoir_lab.evidence.claims import NotRunError
from reservoir_lab.evidence.judge import Estimate
from reservoir_lab.recipes.universal import SWITCHES, switch_name

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


ADDED = sources.table("frozen-pretrained/cifar10-added")


def in_the_papers(measure, recipe, among, scale) -> Estimate:
    """What the papers print: at one rate Lu et al., where validation chooses it Rothermel et al."""
    family, *parts = recipe.split("/")
    try:
        if family == "switches":
            rows = {
                switch_name("", parts): row for parts, (row, *_) in zip(SWITCHES[:4], ADDED.rows, strict=True)
            }
            return Estimate(ADDED.figure(rows[f"switches//{parts[1]}"], parts[0]).value)
        where, rows = ("cross-modal", ROTHERMEL) if recipe.endswith("/~") else ("frozen-pretrained", LU)
        table = sources.table(f"{where}/accuracy")
        return Estimate(table.figure(rows[parts[1]], COLUMNS[parts[0]]).value)
    except (KeyError, sources.SourceError):
        raise NotRunError(f"the papers have no {recipe}") from None


@pytest.mark.parametrize(
    ("name", "word", "seen"),
    [
        (
            "blog/as-well",
            "does not hold here",
            "cifar10-pixels: 3.4",
        ),  # 42 against 38.6 is more than two points
        ("lu/pretrained", "holds here", "bit-memory: 24.2"),
        ("lu/matched", "holds here", "cifar10: -5.2"),
        ("lu/lstm", "holds here", "bit-xor: 49.9"),
        ("lu/added", "holds here", "pretrained, input+output+positions+norms: 68.0 after 60.0"),
        ("rothermel/full", "holds here", "mnist: 0.2"),
        ("rothermel/frozen", "holds here", "listops: 7.2"),
        ("rothermel/trained", "holds here", "cifar10: -0.1"),
        ("ours/stories", "not tested here", "stories"),
    ],
)
def test_the_rules_read_the_papers_own_figures(name, word, seen):
    found = claims.verdict(name, look=in_the_papers)
    assert (found.outcome, seen in found.seen) == (word, True), found.seen


def test_one_rate_flatters_when_the_sweep_widens_the_gap():
    def look(measure, recipe, among, scale):
        full = 70.0 if recipe.endswith("/~") else 61.0
        return Estimate(full if "/full/" in recipe else 60.0)

    found = claims.verdict("ours/rate", look=look)
    assert found.outcome == "holds here" and "1.0 points ahead at one rate, 10.0" in found.seen


@pytest.mark.parametrize(
    ("lora", "vera", "words"),
    [
        (92.0, 91.5, ["holds here", "holds here"]),
        (92.0, 88.0, ["holds here", "does not hold here"]),
        (85.0, 92.0, ["does not hold here", "holds here"]),
    ],
)
def test_low_rank_updates_are_compared_with_norms_and_with_each_other(lora, vera, words):
    scores = {"lora": lora, "vera": vera, "pretrained": 88.0}
    numbers = {"lora": 18_000, "vera": 4_000}

    def look(measure, recipe, among, scale):
        body = recipe.split("/")[2]
        if measure == "trained":
            return Estimate(numbers[body])
        return Estimate.of(scores[body] + wobble for wobble in (-0.1, 0.0, 0.1))

    found = [claims.verdict(name, look=look) for name in ("ours/lora", "ours/vera")]
    assert [one.outcome for one in found] == words
    assert "22% of the trainable parameters" in found[1].seen


def commonest(task):
    """The share of the commonest answer in a task's test set, in per cent."""
    examples, _ = recipes.get(f"universal/{task}/random/lr-1e-3", scale="laptop").task.load()
    (test,) = examples.test.in_order(batch=10**6)
    return 100 * test.y.flatten().bincount().max().item() / test.y.numel()


@pytest.mark.parametrize("task", ["listops", "digits"])
def test_what_nobody_has_to_learn_is_the_commonest_class(task):
    assert round(commonest(task), 1) == claims.ledger().measures["accuracy"].idle[f"universal/{task}/*"]


@pytest.mark.data
@pytest.mark.parametrize("task", ["mnist", "cifar10", "cifar10-pixels"])
def test_and_of_the_pictures_as_well(task, mirror):
    assert round(commonest(task), 1) == claims.ledger().measures["accuracy"].idle[f"universal/{task}/*"]


def test_of_bit_memory_three_in_four_need_no_memory():
    examples, _ = recipes.get("universal/bit-memory/random/lr-1e-3", scale="laptop").task.load()
    (test,) = examples.test.in_order(batch=10**6)
    shown = test.x[:, -test.y.shape[1] :]
    right = ((shown != 0).double() + 0.5 * (shown == 0)).mean().item()
    assert round(100 * right) == claims.ledger().measures["accuracy"].idle["universal/bit-memory/*"]
