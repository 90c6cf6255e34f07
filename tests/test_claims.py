"""Claims are decided by rules over ranges of seeds, and by records alone."""

import hashlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir import recipes
from reservoir.datasets import shipped
from reservoir.evidence import claims, sources
from reservoir.evidence.claims import Range, above, below, between, every, ledger, orders
from reservoir.evidence.source_recipes import COMPARISONS

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
    name = "poster/width"
    assert claims.frame([name])["verdict"].item() == claims.verdict(name).word


QUOTED = sorted(f"{name}/{claim}" for name in sources.names() for claim in sources.source(name).claims)


@pytest.mark.parametrize("name", QUOTED)
def test_every_sentence_of_the_sources_is_in_the_ledger(name):
    """With a rule, or as one that claims no result and says what is done about it."""
    assert (name in claims.ENTRIES) != (name in claims.DESCRIPTIONS)


@pytest.mark.parametrize("where", [where for where, beside in COMPARISONS.items() if beside.best])
def test_every_order_of_a_table_is_in_the_ledger(where):
    assert f"{where}-order" in claims.ENTRIES
    entry, names = claims.ENTRIES[f"{where}-order"], set()
    for group in COMPARISONS[where].recipes.values():
        names |= set(group)
    assert set(entry.recipes) == names


def test_a_claim_that_nothing_here_decides_says_what_it_would_take(monkeypatch):
    monkeypatch.setattr(ledger, "ENTRIES", {})
    ledger.untested("ours/moon", needs="a rocket", why="we have none", says="it is cheese", where="folklore")
    found = claims.verdict("ours/moon")
    assert (found.word, found.seen) == ("cannot be tested here", "we have none")
    assert found.entry.rule == "it would take a rocket" and not found.entry.recipes


def test_a_description_is_of_a_sentence_that_is_quoted_and_no_claim_beside(monkeypatch):
    monkeypatch.setattr(ledger, "ENTRIES", {})
    monkeypatch.setattr(ledger, "DESCRIPTIONS", {})
    with pytest.raises(sources.SourceError, match="'setup'"):
        claims.description("bair/setups", instead="nothing")
    claims.description("bair/setup", instead="the same")
    for enter in (claims.description, lambda name, instead: claims.claim(name, rule=instead)(lambda: None)):
        with pytest.raises(ValueError, match="already"):
            enter("bair/setup", instead="twice")


def ordered(monkeypatch, scores: dict[str, list[float]]):
    """The verdict on the order of the poster's language models, with these scores."""

    def found(name: str) -> Range:
        if name not in scores:
            raise claims.NotRunError(name)
        return Range.of(scores[name])

    monkeypatch.setattr(orders, "score", found)
    monkeypatch.setattr(orders, "spread", lambda names: 0.0)
    return claims.verdict("poster/lm-order")


def test_an_order_needs_every_pair_that_the_source_has_apart(monkeypatch):
    printed = {line.name: line.figure.value for line in COMPARISONS["poster/lm"].lines()}
    same = {name: [value, value + 0.1] for name, value in printed.items()}
    assert ordered(monkeypatch, same).word == "confirmed"
    swapped = dict(same, **{"language/baseline": same["language/embeddings-feed-forward"]})
    found = ordered(monkeypatch, swapped)
    assert found.word == "refuted" and "baseline is not better than embeddings" in found.seen
    few = {name: same[name] for name in list(same)[:3]}
    assert ordered(monkeypatch, few).word == "not run"
    assert ordered(monkeypatch, dict(same, **{"language/baseline": [30.0, 300.0]})).word == "undecided"


def test_rules_written_after_records_say_so():
    late = {name for name, entry in claims.ENTRIES.items() if entry.late}
    assert "poster/big-order" in late and "poster/width" not in late
    assert all(claims.ENTRIES[name].recipes for name in late)


HISTORY = json.loads((shipped() / "claims" / "history.json").read_text(encoding="utf-8"))


def test_a_rule_keeps_its_date_while_its_words_stay_the_same():
    """Moving a rule does not make it late; changing its words needs a new date in `data/claims/history.json`."""
    digests = {
        name: hashlib.sha256(entry.rule.encode()).hexdigest()[:16] for name, entry in claims.ENTRIES.items()
    }
    assert digests == {name: dated["rule"] for name, dated in HISTORY.items()}
