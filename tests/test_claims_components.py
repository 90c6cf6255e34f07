"""The poster's claims: each rule says of the poster's own figures what a reader of its tables would say."""

import math

import pytest

from reservoir_lab.evidence import claims, sources
from reservoir_lab.evidence.claims import NotRunError
from reservoir_lab.evidence.judge import Estimate
from reservoir_lab.recipes.components import ROWS

TABLES = {
    "components": ("poster/big", "BLEU"),
    "narrow": ("poster/narrow", "BLEU"),
    "language": ("poster/lm", "PPL"),
}


def on_the_poster(measure, recipe, among, scale) -> Estimate:
    """What the poster prints for the row that a recipe stands for; two readings share a row."""
    family, _, row = recipe.partition("/")
    if family not in TABLES:
        raise NotRunError(f"the poster has no {recipe}")
    where, score = TABLES[family]
    if measure in ("trained", "total"):
        return Estimate({"trained": 35, "total": 100}[measure])
    return Estimate(sources.table(where).figure(ROWS[row][0], score).value)


@pytest.mark.parametrize(
    ("name", "word", "seen"),
    [
        ("poster/similar", "holds here", "0.9"),
        ("poster/least", "holds here", "0.6"),
        ("poster/complementary", "holds here", "1.7"),
        ("poster/diagonal", "does not hold here", "feed-forward: 0.3"),  # 23.2 against 22.9 is not much
        ("poster/diagonal-hollow", "does not hold here", "attention: 2.9"),
        ("poster/sensitive", "does not hold here", "embeddings: 1.8"),  # the narrow model keeps more there
        ("poster/small-ffn", "holds here", "0.2"),
        ("poster/width", "does not hold here", "0.0"),  # a tie is not more
        ("poster/embeddings", "holds here", "70.9"),
        ("ours/embeddings-start", "not tested here", "embeddings/fine-tuned"),
    ],
)
def test_the_rules_read_the_posters_own_figures(name, word, seen):
    found = claims.verdict(name, look=on_the_poster)
    assert found.outcome == word and seen in found.seen


def test_the_share_that_is_kept_is_told_with_the_share_that_is_trained():
    found = claims.verdict("poster/retained", look=on_the_poster)
    assert found.outcome == "holds here" and "88.5 % of the BLEU with 35% of the parameters" in found.seen


def test_costs_in_nats_can_be_compared():
    """The language model's rows cost more than the translator's by the factors of their perplexities."""

    def look(measure, recipe, among, scale):
        family, _, row = recipe.partition("/")
        frozen = 1.0 if row == "baseline" else {"components": 1.5, "language": 3.0}[family]
        return Estimate.of(math.log(10.0 * frozen * luck) for luck in (1.0, 1.01, 1.02))

    found = claims.verdict("poster/drop", look=look)
    assert found.outcome == "holds here" and "embeddings: 0.69" in found.seen
