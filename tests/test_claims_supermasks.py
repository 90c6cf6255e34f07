"""Rules on supermasks: on made-up curves each says what a reader of them would say."""

from types import SimpleNamespace

import pytest

from reservoir.datasets import labelled
from reservoir.evidence import claims
from reservoir.evidence.claims import measures
from reservoir.recipes.supermasks import PERCENTAGES

HILL = {
    percent: 20 - 8 * (percent / 100 - 0.5) ** 2 * 4 for percent in PERCENTAGES
}  # 20 at 50, lower on either side


def made_up() -> dict[str, float]:
    """What the paper would have us see, with pruning and S below, and a deeper model that falls at 60 %."""
    scores = {"keep/trained": 28, "keep/trained-shared": 27.5, "keep/pruned": 10, "keep/by-score-50": 15}
    scores |= {"keep/narrow-8": 16, "keep/narrow-4": 17, "keep/by-score-90": 17}
    for percent, bleu in HILL.items():
        scores |= {
            f"keep/{stack}-random-{percent}": bleu + more
            for stack, more in {"shared": 0, "layers": 0.2, "wide": 3}.items()
        }
        scores[f"keep/deep-random-{percent}"] = bleu + (1 if percent <= 50 else -3)
        scores[f"keep/shared-pretrained-{percent}"] = bleu + 4
        scores[f"initial/kaiming-{percent}"] = bleu - 1
        scores[f"initial/xavier-{percent}"] = bleu - 1 - percent / 20
        scores[f"initial/signed-{percent}"] = bleu
        scores[f"initial/unscaled-{percent}"] = bleu - 2
        scores |= {f"pairs/mrpc-{percent}": 60 + HILL[percent] / 2, f"pairs/rte-{percent}": 50 + percent / 20}
    scores |= {"keep/deep-pretrained-50": 25, "keep/wide-pretrained-50": 27.4}
    scores |= {"pairs/mrpc-70": 71, "pairs/rte-70": 56, "fine-tune/mrpc/regular-4": 75}
    scores |= {"fine-tune/rte/regular-4": 60, "supermask/random": 25.5, "supermask/pretrained": 29}
    return scores


@pytest.fixture
def world(monkeypatch):
    """The made-up scores, three seeds each; a test may change them or take some away."""
    scores = made_up()

    def find_records(recipe, scale):
        if recipe not in scores:
            return []
        made = (scores[recipe] + wobble for wobble in (-0.1, 0.0, 0.1))
        return [SimpleNamespace(tests={"test": {"score": one}}, scored_by="score") for one in made]

    monkeypatch.setattr(measures, "find_records", find_records)
    return scores


AS_PRINTED = {
    "one-layer/no-difference": "confirmed",
    "one-layer/best-half": "confirmed",
    "one-layer/ends": "confirmed",
    "one-layer/boost": "confirmed",
    "one-layer/reaches": "confirmed",
    "one-layer/match": "confirmed",
    "one-layer/depth-or-width": "confirmed",
    "one-layer/wider-always": "confirmed",
    "one-layer/transition": "confirmed",
    "one-layer/xavier": "confirmed",
    "one-layer/xavier-more": "confirmed",
    "ours/scaling": "confirmed",
    "ours/signed": "confirmed",
    "ours/usual-draws": "confirmed",
    "ours/magnitude": "confirmed",
    "ours/nearly-all": "confirmed",
    "ours/sharing": "confirmed",
    "ours/pruning": "confirmed",
    "ours/narrow": "confirmed",
    "ours/alone": "confirmed",
    "ours/with-embeddings": "refuted",
    "one-layer/best-seventy": "confirmed",
    "one-layer/roberta-result": "confirmed",
}


@pytest.mark.parametrize("name", AS_PRINTED)
def test_a_rule_says_what_a_reader_would(world, name):
    found = claims.verdict(name)
    assert found.word == AS_PRINTED[name], found.seen


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("one-layer/no-difference", {"keep/layers-random-70": 25}),
        ("one-layer/best-half", {"keep/shared-random-30": 21}),
        ("one-layer/ends", {"keep/layers-random-90": 19.9}),
        ("one-layer/boost", {"keep/shared-pretrained-10": 1}),
        ("one-layer/match", {"keep/wide-pretrained-50": 25}),
        ("one-layer/depth-or-width", {"keep/deep-pretrained-50": 23}),
        ("one-layer/wider-always", {"keep/wide-random-60": 1}),
        ("one-layer/transition", {"keep/deep-random-60": 20.5}),
        ("one-layer/xavier-more", {"initial/xavier-50": 8}),
        ("one-layer/roberta-result", {"pairs/mrpc-70": 66}),
        ("ours/pruning", {"keep/pruned": 22}),
        ("ours/narrow", {"keep/narrow-4": 22}),
        ("ours/nearly-all", {"keep/by-score-90": 10}),
        ("ours/usual-draws", {"initial/kaiming-50": 21, "initial/kaiming-90": 21}),
    ],
)
def test_one_point_that_says_otherwise_refutes(world, name, changes):
    world.update(changes)
    assert claims.verdict(name).word == "refuted"


def test_a_curve_needs_three_points_and_leaves_out_what_nobody_ran(world):
    for percent in PERCENTAGES[::2]:
        if percent != 50:
            world.pop(f"keep/shared-random-{percent}")
    assert claims.verdict("one-layer/best-half").word == "confirmed"
    for percent in (20, 40, 60):
        world.pop(f"keep/shared-random-{percent}")
    found = claims.verdict("one-layer/best-half")
    assert found.word == "not run" and "1 of 8 comparisons" in found.seen


def test_nothing_is_said_of_masks_that_have_hardly_learned(world):
    world["keep/shared-random-50"] = 1.0
    found = claims.verdict("one-layer/boost")
    assert found.word == "cannot be tested here" and "1.0 (0.9 to 1.1) BLEU" in found.seen


@pytest.mark.data
@pytest.mark.parametrize("corpus", ["mrpc", "rte"])
def test_the_commonest_class_is_as_common_as_it_says(corpus, mirror):
    (texts,) = labelled(corpus).tests.values()
    most = max(texts.labels.count(label) for label in set(texts.labels))
    assert round(100 * most / len(texts), 1) == claims.margin("one-layer", f"commonest-{corpus}")
