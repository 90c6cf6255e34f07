"""Rules on supermasks: on made-up curves each says what a reader of them would say."""

from types import SimpleNamespace

import pytest

from reservoir_lab.corpora import labelled
from reservoir_lab.evidence import claims
from reservoir_lab.evidence.claims import measures
from reservoir_lab.recipes.supermasks import PERCENTAGES

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
        run = {"task": recipe.partition("/")[0], "precision": "fp32"}
        made = enumerate(scores[recipe] + wobble for wobble in (-0.1, 0.0, 0.1))
        more = {"scored_by": "score", "run": run, "recipe": recipe, "begun_with": []}
        return [SimpleNamespace(tests={"test": {"score": one}}, seed=seed, **more) for seed, one in made]

    monkeypatch.setattr(measures, "find_records", find_records)
    monkeypatch.setattr(measures, "_spreads", {})
    monkeypatch.setattr(measures, "_rows", lambda *_: [])
    return scores


AS_PRINTED = {
    "one-layer/no-difference": "holds here",
    "one-layer/best-half": "holds here",
    "one-layer/ends": "holds here",
    "one-layer/boost": "holds here",
    "one-layer/reaches": "unfit",
    "one-layer/match": "unfit",
    "one-layer/depth-or-width": "holds here",
    "one-layer/wider-always": "holds here",
    "one-layer/transition": "holds here",
    "one-layer/xavier": "holds here",
    "one-layer/xavier-more": "holds here",
    "ours/scaling": "holds here",
    "ours/signed": "holds here",
    "ours/usual-draws": "holds here",
    "ours/magnitude": "holds here",
    "ours/nearly-all": "holds here",
    "ours/sharing": "unfit",
    "ours/pruning": "holds here",
    "ours/narrow": "unfit",
    "ours/alone": "holds here",
    "ours/with-embeddings": "does not hold here",
    "one-layer/best-seventy": "holds here",
    "one-layer/roberta-result": "holds here",
}


@pytest.mark.parametrize("name", AS_PRINTED)
def test_a_rule_says_what_a_reader_would(world, name):
    found = claims.verdict(name)
    assert found.outcome == AS_PRINTED[name], found.seen


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("one-layer/no-difference", {"keep/layers-random-70": 25}),
        ("one-layer/best-half", {"keep/shared-random-30": 21}),
        ("one-layer/ends", {"keep/layers-random-90": 19.9}),
        ("one-layer/boost", {"keep/shared-pretrained-10": 1}),
        ("one-layer/depth-or-width", {"keep/deep-pretrained-50": 23}),
        ("one-layer/wider-always", {"keep/wide-random-60": 1}),
        ("one-layer/transition", {"keep/deep-random-60": 20.5}),
        ("one-layer/xavier-more", {"initial/xavier-50": 8}),
        ("one-layer/roberta-result", {"pairs/mrpc-70": 55}),
        ("ours/pruning", {"keep/pruned": 22}),
        ("ours/nearly-all", {"keep/by-score-90": 10}),
        ("ours/usual-draws", {"initial/kaiming-50": 21, "initial/kaiming-90": 21}),
    ],
)
def test_one_point_that_says_otherwise_refutes(world, name, changes):
    world.update(changes)
    assert claims.verdict(name).outcome == "does not hold here"


def test_a_curve_needs_three_points_and_leaves_out_what_nobody_ran(world):
    for percent in PERCENTAGES[::2]:
        if percent != 50:
            world.pop(f"keep/shared-random-{percent}")
    assert claims.verdict("one-layer/best-half").outcome == "holds here"
    for percent in (20, 40, 60):
        world.pop(f"keep/shared-random-{percent}")
    found = claims.verdict("one-layer/best-half")
    assert found.outcome == "not tested here" and "1 of 8 comparisons" in found.seen


def test_nothing_is_said_of_draws_that_all_score_next_to_nothing(world):
    world.update({"initial/kaiming-90": 4.0, "initial/xavier-90": 0.7})
    found = claims.verdict("one-layer/xavier")
    assert found.outcome == "unfit" and "does not clearly beat a guess's 5" in found.why


def test_nothing_is_said_next_to_a_model_that_was_cut_short(world):
    found = claims.verdict("one-layer/match")
    assert found.outcome == "unfit" and "keep/trained stops after 650 steps" in found.why


@pytest.mark.data
@pytest.mark.parametrize("corpus", ["mrpc", "rte"])
def test_the_commonest_class_is_as_common_as_it_says(corpus, mirror):
    (texts,) = labelled(corpus).tests.values()
    most = max(texts.labels.count(label) for label in set(texts.labels))
    share = round(100 * most / len(texts), 1)
    assert share == claims.margin("one-layer", f"commonest-{corpus}")
    assert share == claims.ledger().measures["pairs-accuracy"].idle[f"fine-tune/{corpus}/*"]


def test_a_model_that_was_pruned_until_it_translates_nothing_is_no_rival():
    assert claims.verdict("ours/pruning").outcome == "unfit"
    assert "keep/pruned" not in claims.verdict("whole/weight-class-bytes").seen
