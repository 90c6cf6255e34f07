"""The poster's claims: each rule says of the poster's own figures what a reader of its tables would say."""

import math

import pytest

from reservoir.evidence import claims, sources
from reservoir.evidence.claims import NotRunError, Range
from reservoir.recipes.components import ROWS

TABLES = {
    "components": ("poster/big", "BLEU"),
    "narrow": ("poster/narrow", "BLEU"),
    "language": ("poster/lm", "PPL"),
}


def on_the_poster(measure, recipe, among, scale) -> Range:
    """What the poster prints for the row that a recipe stands for; two readings share a row."""
    family, _, row = recipe.partition("/")
    if family not in TABLES:
        raise NotRunError(f"the poster has no {recipe}")
    where, score = TABLES[family]
    column = {"epochs": "Epochs"}.get(measure, score)
    if measure in ("trained", "total"):
        return Range.exactly({"trained": 35, "total": 100}[measure])
    return Range.exactly(sources.table(where).figure(ROWS[row][0], column).value)


@pytest.mark.parametrize(
    ("name", "word", "seen"),
    [
        ("poster/similar", "confirmed", "0.9"),
        ("poster/least", "confirmed", "0.6"),
        ("poster/complementary", "confirmed", "1.7"),
        ("poster/diagonal", "refuted", "feed-forward: 0.3"),  # 23.2 against 22.9 is not much
        ("poster/diagonal-hollow", "refuted", "attention: 2.9"),
        ("poster/sensitive", "refuted", "embeddings: 1.8"),  # the narrow model keeps more there
        ("poster/epochs", "refuted", "feed-forward: -8.0"),
        ("poster/small-ffn", "confirmed", "0.2"),
        ("poster/width", "refuted", "0.0"),  # a tie is not more
        ("poster/embeddings", "confirmed", "70.9"),
        ("poster/pretrained", "not run", "embeddings/pretrained"),
    ],
)
def test_the_rules_read_the_posters_own_figures(name, word, seen):
    found = claims.verdict(name, look=on_the_poster)
    assert found.word == word and seen in found.seen


def test_the_share_that_is_kept_is_told_with_the_share_that_is_trained():
    found = claims.verdict("poster/retained", look=on_the_poster)
    assert found.word == "confirmed" and "88.5 % of the BLEU with 35% of the parameters" in found.seen


def test_costs_in_nats_can_be_compared():
    """The language model's rows cost more than the translator's by the factors of their perplexities."""

    def look(measure, recipe, among, scale):
        family, _, row = recipe.partition("/")
        frozen = 1.0 if row == "baseline" else {"components": 1.5, "language": 3.0}[family]
        return Range.of(math.log(10.0 * frozen * luck) for luck in (1.0, 1.01))

    found = claims.verdict("poster/drop", look=look)
    assert found.word == "confirmed" and "embeddings: 0.69" in found.seen
