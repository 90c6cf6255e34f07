"""Claims are decided by rules over ranges of seeds, and by records alone."""

import hashlib
import json
import math
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir import recipes
from reservoir.datasets import shipped
from reservoir.evidence import claims, sources
from reservoir.evidence.claims import (
    LedgerError,
    NotRunError,
    Range,
    above,
    below,
    between,
    every,
    files,
    measures,
    quantities,
    ranges,
)
from reservoir.evidence.comparison import comparisons
from reservoir.runs.records import find_records

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


@given(st.lists(st.floats(-9.0, 9.0), min_size=2, max_size=4), values)
def test_a_ratio_may_have_a_negative_numerator_but_no_other_denominator(a, b):
    ratio = Range.of(a) / Range.of(b)
    assert all(ratio.low - 1e-9 <= x / y <= ratio.high + 1e-9 for x in a for y in b)
    with pytest.raises(ValueError, match="positive figure to divide by"):
        Range.of([1, 2]) / Range.of([-1, 1])


LEDGER = """
[margin.one]
value = 1.0
why = "BLEU"

[list]
rows = ["attention", "feed-forward"]

[measure.plain]
reads = "score"

[measure.lent]
reads = "score"
lend = ["components/*"]

[[claim]]
id = "ours/best"
says = "attention is the best"
where = "nowhere"
mark = "ours"
rule = "attention is above both others"

[[claim.compare]]
measure = "plain"
a = "components/attention"
b = "components/{row}"
each = { row = ["embeddings", "feed-forward"] }
is = "above"
label = "above {row}:"
"""


def held(tmp_path, text=LEDGER, change=("", "")):
    """A ledger of one file."""
    assert change[0] in text
    (tmp_path / "made-up.toml").write_text(text.replace(*change, 1), encoding="utf-8")
    return files.read(tmp_path)


def test_what_nobody_ran_is_not_decided(tmp_path):
    def look(measure, recipe, among, scale):
        raise NotRunError(f"{recipe} has not been run at the {scale} scale")

    ledger = held(tmp_path)
    found = claims.verdict("ours/best", look=look, held=ledger)
    assert (found.word, found.seen) == (
        "not run",
        "components/attention has not been run at the laptop scale",
    )
    with pytest.raises(ValueError, match="did you mean 'ours/best'"):
        claims.verdict("ours/bst", held=ledger)


def test_a_comparison_is_made_for_each_choice_and_all_must_hold(tmp_path):
    scores = {
        "components/attention": [3, 4],
        "components/embeddings": [1, 2],
        "components/feed-forward": [1, 2],
    }

    def look(measure, recipe, among, scale):
        return Range.of(scores[recipe])

    ledger = held(tmp_path)
    found = claims.verdict("ours/best", look=look, held=ledger)
    assert found.word == "confirmed"
    assert found.seen == "above embeddings: 2.0 (1.0 to 3.0); above feed-forward: 2.0 (1.0 to 3.0)"
    assert found.entry.recipes == ("components/attention", "components/embeddings", "components/feed-forward")
    scores["components/feed-forward"] = [5, 6]
    assert claims.verdict("ours/best", look=look, held=ledger).word == "refuted"
    (tmp_path / "any").mkdir()
    either = held(tmp_path / "any", change=('is = "above"', 'is = "above"\nany = true'))
    assert claims.verdict("ours/best", look=look, held=either).word == "confirmed"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            ("components/attention", "components/atention"),
            "did you mean 'components/attention'",
        ),
        (('measure = "plain"', 'measure = "plane"'), "has no measure 'plane'"),
        (('why = "BLEU"', 'why = ""'), "a margin needs a reason"),
        (('is = "above"', 'is = "above"\nmargin = "two"'), "has no margin 'two'"),
        (('is = "above"', 'is = "over"'), "has no relation 'over'"),
        (('is = "above"', 'is = "above"\ngap = "quotient"'), "has no operation 'quotient'"),
        (('is = "above"', 'is = "above"\nmargn = "one"'), "no field margn"),
        (('{ row = ["embeddings", "feed-forward"] }', '{ row = "columns" }'), "has no list 'columns'"),
        (('mark = "ours"\n', ""), "need a mark"),
        (('rule = "attention is above both others"\n', ""), "rule"),
        (('reads = "score"', 'reads = "taste"'), "reads must be one of"),
        (("says = ", "say = "), "no field say"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_file_and_its_line(tmp_path, change, named):
    with pytest.raises(LedgerError, match=named) as refused:
        held(tmp_path, change=change)
    assert re.match(r"made-up\.toml, line \d+: '", str(refused.value))


def test_a_claim_without_a_quotation_must_say_whose_words_it_is_in(tmp_path):
    unquoted = LEDGER.replace('says = "attention is the best"\nwhere = "nowhere"\nmark = "ours"\n', "")
    with pytest.raises(LedgerError, match="'ours/best': data/sources has no source 'ours'"):
        held(tmp_path, unquoted)


def test_two_entries_of_one_name_are_refused_where_the_second_stands(tmp_path):
    text = LEDGER + LEDGER[LEDGER.index("[[claim]]") :]
    second = len(text[: text.rindex("id = ")].splitlines()) + 1
    with pytest.raises(LedgerError, match=f"line {second}: 'ours/best': there are two of that name"):
        held(tmp_path, text)


def judged(tmp_path, lines: str, scores: dict[str, list[float]]) -> claims.Verdict:
    """The verdict on a claim that compares `components/attention` with `components/embeddings` as these lines say."""
    head = LEDGER[: LEDGER.index('b = "components/{row}"')]
    margins = '[margin.two]\nvalue = 2.0\nwhy = "made up"\n'
    ledger = held(tmp_path, margins + head + 'b = "components/embeddings"\n' + lines)

    def look(measure, recipe, among, scale):
        return Range.of(scores[recipe.partition("/")[2]])

    return claims.verdict("ours/best", look=look, held=ledger)


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ('is = "above"', "undecided"),
        ('is = "above"\non_means = true', "confirmed"),  # the means alone differ
        ('is = "below"\non_means = true', "refuted"),
        ('is = "below"\non_means = true\nweak = true', "undecided"),
        ('is = "above"\nmargin = "-two"', "confirmed"),  # no seed is two below
        ('is = "above"\nmargin = "two"', "undecided"),
        ('is = "within"\nmargin = "two"\naround = "1.5"', "confirmed"),  # of 1.5, not of nothing
        ('is = "within"\nmargin = "two"', "undecided"),
    ],
)
def test_what_a_comparison_asks_is_what_is_judged(tmp_path, lines, word):
    scores = {"attention": [2.0, 4.0], "embeddings": [1.0, 2.0]}  # the gap is from 0 to 3
    assert judged(tmp_path, lines, scores).word == word


def test_only_the_lowest_is_told_where_the_claim_says_so(tmp_path):
    lines = (
        'is = "above"\nlabel = "row {n}:"\nlowest_only = true\neach = { n = ["attention", "feed-forward"] }\n'
    )
    text = (
        LEDGER[: LEDGER.index('a = "components')]
        + 'a = "components/{n}"\nb = "components/embeddings"\n'
        + lines
    )
    scores = {"components/attention": 5.0, "components/feed-forward": 3.0, "components/embeddings": 1.0}

    def look(measure, recipe, among, scale):
        return Range.exactly(scores[recipe])

    found = claims.verdict("ours/best", look=look, held=held(tmp_path, text))
    assert (found.word, found.seen) == ("confirmed", "row feed-forward: 2.0")


def test_a_selection_picks_by_the_mean_of_what_has_been_run():
    scores = {"a": [1.0, 2.0], "b": [5.0, 6.0]}

    def figure(measure, recipe, among):
        if recipe not in scores:
            raise NotRunError(recipe)
        return Range.of(scores[recipe])

    parts = tuple(quantities.Leaf("score", name) for name in ("a", "b", "c"))
    for operation, name in (("lowest", "a"), ("highest", "b")):
        made = quantities.Compound(operation, parts, ("a", "b", "c"))
        assert quantities.selected(made, figure) == (name, Range.of(scores[name]))
    scores.clear()
    with pytest.raises(NotRunError):
        quantities.selected(made, figure)


def test_apart_and_notable_count_in_either_direction():
    two, half, about = (Range(*figures, 3) for figures in ((2.1, 3, 4), (0.2, 0.3, 0.4), (0.9, 1, 1.1)))
    assert (ranges.apart(two, 2), ranges.apart(half, 2), ranges.apart(about, 2)) == (
        "confirmed",
        "confirmed",
        "undecided",
    )
    assert ranges.apart(Range(1.1, 1.2, 1.3, 3), 2) == "refuted"
    words = [ranges.notably_below(Range.exactly(ratio), 0.2) for ratio in (0.7, 0.9, 1.1, 1.3)]
    assert words == ["confirmed", "undecided", "undecided", "refuted"]


def test_printed_shares_are_compared_with_those_of_the_sizes():
    found = claims.verdict("poster/narrow-shares")
    assert found.word == "refuted" and "(2): 0.45, printed 0.55" in found.seen
    assert claims.verdict("poster/big-shares").word == "confirmed"


def test_a_file_that_is_no_toml_is_named(tmp_path):
    with pytest.raises(LedgerError, match=r"made-up\.toml is no TOML"):
        held(tmp_path, "[[claim]\n")


def test_one_seed_borrows_from_the_recipes_that_its_measure_names():
    lent = claims.ledger().measures["bleu"]
    widest = max(
        claims.figure("score", name).half_width
        for name in [*recipes.family("components"), "transformer/multi30k"]
    )
    one = next(n for n in recipes.names() if n.startswith("combinations/") and _seeds(n) == 1)
    assert math.isclose(lent.figure(one).half_width, widest)


def _seeds(name: str) -> int:
    try:
        return claims.figure("score", name).seeds
    except NotRunError:
        return 0


def test_the_scores_are_the_records():
    found = claims.figure("score", "transformer/multi30k")
    bleus = [record.score for record in find_records("transformer/multi30k")]
    assert (found.low, found.high, found.seeds) == (min(bleus), max(bleus), 3)


def test_a_sweep_that_is_not_whole_decides_nothing(monkeypatch):
    record = SimpleNamespace(tests={"test": {"accuracy": 50.0}}, scored_by="accuracy")

    def choose(sweep, scale):
        missing = [sweep[4]] if "mnist" in sweep[0] else []
        return SimpleNamespace(recipe=sweep[3], records=[record], missing=missing, complete=not missing)

    monkeypatch.setattr(measures, "choose", choose)
    assert claims.figure("score", "universal/listops/random/~").mean == 50.0
    with pytest.raises(NotRunError, match=r"random/lr-1e-2 is the best so far, and .*/lr-3e-2 not run"):
        claims.figure("score", "universal/mnist/random/~")


def test_every_entry_names_recipes_that_exist_and_has_a_verdict():
    for name, entry in claims.entries().items():
        assert set(entry.recipes) <= set(recipes.names()), name
        found = claims.verdict(name)
        assert found.seen and entry.rule and entry.says and entry.where, name
    name = "poster/width"
    assert claims.frame([name])["verdict"].item() == claims.verdict(name).word


QUOTED = sorted(f"{name}/{claim}" for name in sources.names() for claim in sources.source(name).claims)


@pytest.mark.parametrize("name", QUOTED)
def test_every_sentence_of_the_sources_is_in_the_ledger(name):
    """With a rule, or as one that claims no result and says what is done about it."""
    assert (name in claims.entries()) != (name in claims.descriptions())


@pytest.mark.parametrize("where", [where for where, beside in comparisons().items() if beside.best])
def test_every_order_of_a_table_is_in_the_ledger(where):
    assert f"{where}-order" in claims.entries()
    assert set(claims.entries()[f"{where}-order"].recipes) == set(comparisons()[where].names)


def test_a_claim_that_nothing_here_decides_says_what_it_would_take(tmp_path):
    moon = """
[[claim]]
id = "ours/moon"
says = "it is cheese"
where = "folklore"
mark = "ours"
needs = "a rocket"
why = "we have none"
"""
    found = claims.verdict("ours/moon", held=held(tmp_path, moon))
    assert (found.word, found.seen) == ("cannot be tested here", "we have none")
    assert found.entry.rule == "it would take a rocket" and not found.entry.recipes


def test_a_description_is_of_a_sentence_that_is_quoted_and_no_claim_beside(tmp_path):
    described = '[[description]]\nid = "bair/{}"\ninstead = "the same"\n'
    with pytest.raises(LedgerError, match=r"made-up\.toml, line 2: 'bair/setups': .*'setup'"):
        held(tmp_path, described.format("setups"))
    both = LEDGER.replace('id = "ours/best"', 'id = "bair/setup"') + described.format("setup")
    (tmp_path / "both").mkdir()
    with pytest.raises(LedgerError, match="'bair/setup': there are two of that name"):
        held(tmp_path / "both", both)


def ordered(scores: dict[str, list[float]]):
    """The verdict on the order of the poster's language models, with these scores."""

    def look(measure, name, among, scale):
        if name not in scores:
            raise NotRunError(name)
        return Range.of(scores[name])

    return claims.verdict("poster/lm-order", look=look)


def test_an_order_needs_every_pair_that_the_source_has_apart():
    printed = {line.name: line.figure.value for line in comparisons()["poster/lm"].lines()}
    same = {name: [value, value + 0.1] for name, value in printed.items()}
    assert ordered(same).word == "confirmed"
    swapped = dict(same, **{"language/baseline": same["language/embeddings-feed-forward"]})
    found = ordered(swapped)
    assert found.word == "refuted" and "baseline is not better than embeddings" in found.seen
    few = {name: same[name] for name in list(same)[:3]}
    assert ordered(few).word == "not run"
    assert ordered(dict(same, **{"language/baseline": [30.0, 300.0]})).word == "undecided"


def test_rules_written_after_records_say_so():
    late = {name for name, entry in claims.entries().items() if entry.late}
    assert "poster/big-order" in late and "poster/width" not in late
    assert all(claims.entries()[name].recipes for name in late)


HISTORY = json.loads((shipped() / "claims" / "history.json").read_text(encoding="utf-8"))


def test_a_rule_keeps_its_date_while_its_words_stay_the_same():
    """Moving a rule does not make it late; changing its words needs a new date in `data/claims/history.json`."""
    digests = {
        name: hashlib.sha256(entry.rule.encode()).hexdigest()[:16] for name, entry in claims.entries().items()
    }
    assert digests == {name: dated["rule"] for name, dated in HISTORY.items()}
