"""Claims are decided by rules over ranges of seeds, and by records alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir.experiments import claims, recipes
from reservoir.experiments.claims import Range, above, below, between, every, ledger

values = st.lists(st.floats(0.1, 100.0), min_size=2, max_size=4)


@given(values, values)
def test_a_difference_holds_whatever_seeds_meet(a, b):
    gap = Range.of(a) - Range.of(b)
    assert all(gap.low - 1e-9 <= x - y <= gap.high + 1e-9 for x in a for y in b)
    assert math.isclose(gap.mean, sum(a) / len(a) - sum(b) / len(b), abs_tol=1e-9)


@given(values, values)
def test_a_ratio_holds_whatever_seeds_meet(a, b):
    ratio = Range.of(a) / Range.of(b)
    assert all(ratio.low * (1 - 1e-9) <= x / y <= ratio.high * (1 + 1e-9) for x in a for y in b)


@given(values, st.floats(0.0, 100.0))
def test_above_and_below_contradict_each_other(a, threshold):
    figure = Range.of(a)
    words = {above(figure, threshold), below(figure, threshold)}
    assert words in ({"confirmed", "refuted"}, {"undecided"}) or threshold in (figure.low, figure.high)


@pytest.mark.parametrize(
    ("a", "b", "word"),
    [([3, 4], [1, 2], "confirmed"), ([1, 2], [3, 4], "refuted"), ([1, 3], [2, 4], "undecided")],
)
def test_seeds_must_agree(a, b, word):
    assert above(Range.of(a) - Range.of(b)) == word


def test_one_seed_decides_nothing_unless_it_borrows_a_spread():
    gap = Range.of([5.0]) - Range.of([1.0, 1.2])
    assert above(gap) == "undecided"
    assert above(Range.of([5.0]).widened(1.0) - Range.of([1.0, 1.2])) == "confirmed"
    assert above(Range.of([5.0]).widened(5.0) - Range.of([1.0, 1.2])) == "undecided"
    assert Range.of([1.0, 2.0]).widened(9.0) == Range.of([1.0, 2.0])
    assert above(Range.of([5.0]).widened(0.0) - Range.of([1.0, 1.2])) == "undecided"


def test_between_is_refuted_outside_and_undecided_across_the_edge():
    assert between(Range.of([1, 2]), 0, 3) == "confirmed"
    assert between(Range.of([4, 5]), 0, 3) == "refuted"
    assert between(Range.of([2, 5]), 0, 3) == "undecided"


def test_every_takes_the_worst():
    assert every(["confirmed", "confirmed"]) == "confirmed"
    assert every(["confirmed", "undecided"]) == "undecided"
    assert every(["undecided", "refuted"]) == "refuted"
    assert every(["not run", "undecided"]) == "not run"


def test_a_ratio_of_what_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="needs positive figures"):
        Range.of([-1, 1]) / Range.of([1, 2])


def test_what_nobody_ran_is_not_decided(monkeypatch):
    monkeypatch.setattr(ledger, "ENTRIES", {})

    @claims.claim("ours/nothing", rule="never", recipes=("none/such",), says="nothing", where="nowhere")
    def judge():
        return above(claims.score("none/such")), "seen"

    found = claims.verdict("ours/nothing")
    assert (found.word, found.seen) == ("not run", "none/such has not been run at the laptop scale")
    with pytest.raises(ValueError, match="already"):
        claims.claim("ours/nothing", rule="", recipes=(), says="", where="")(judge)
    with pytest.raises(ValueError, match="did you mean 'ours/nothing'"):
        claims.verdict("ours/nothin")


def test_the_scores_are_the_records():
    found = claims.score("transformer/multi30k", test="test2016")
    bleus = [record.tests["test2016"]["bleu"] for record in claims.records("transformer/multi30k")]
    assert (found.low, found.high, found.seeds) == (min(bleus), max(bleus), 3)


def test_every_entry_names_recipes_that_exist_and_has_a_verdict():
    for name, entry in claims.ENTRIES.items():
        assert set(entry.recipes) <= set(recipes.names()), name
        found = entry.verdict()
        assert found.seen and entry.rule and entry.says and entry.where, name
        assert claims.frame([name])["verdict"].item() == found.word
