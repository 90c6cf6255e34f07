"""Claims are read from data, which is refused by file and line where it is wrong, and decided by records alone."""

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from reservoir_lab import recipes
from reservoir_lab.evidence import claims, sources
from reservoir_lab.evidence.claims import LedgerError, NotRunError, budgets, files, measures, verdicts
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.evidence.judge import Estimate
from reservoir_lab.runs.records import all_records, find_records

LEDGER = """
[margin.one]
value = 1.0
why = "BLEU"

[list]
rows = ["attention", "feed-forward"]

[measure.plain]
reads = "score"

[measure.fit]
reads = "score"
idle = { "components/*" = "combinations/no-encoder" }

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
    said = "components/attention has not been run at the laptop scale"
    assert (found.outcome, found.seen) == ("not tested here", said)
    with pytest.raises(ValueError, match="did you mean 'ours/best'"):
        claims.verdict("ours/bst", held=ledger)


def test_a_comparison_is_made_for_each_choice_and_all_must_hold(tmp_path):
    scores = {
        "components/attention": [6.9, 7.0, 7.1],
        "components/embeddings": [0.9, 1.0, 1.1],
        "components/feed-forward": [1.9, 2.0, 2.1],
    }

    def look(measure, recipe, among, scale):
        return Estimate.of(scores[recipe])

    ledger = held(tmp_path)
    found = claims.verdict("ours/best", look=look, held=ledger)
    assert found.outcome == "holds here"
    assert found.seen == "above embeddings: 6.0 (5.8 to 6.2); above feed-forward: 5.0 (4.8 to 5.2)"
    assert found.shown == "holds here (laptop scale)" and "above feed-forward: 5.00" in found.why
    assert found.entry.recipes == ("components/attention", "components/embeddings", "components/feed-forward")
    scores["components/feed-forward"] = [9.9, 10.0, 10.1]
    assert claims.verdict("ours/best", look=look, held=ledger).outcome == "does not hold here"
    (tmp_path / "any").mkdir()
    either = held(tmp_path / "any", change=('is = "above"', 'is = "above"\nany = true'))
    assert claims.verdict("ours/best", look=look, held=either).outcome == "holds here"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            ("components/attention", "components/atention"),
            "did you mean 'components/attention'",
        ),
        (('measure = "plain"', 'measure = "plane"'), "has no measure 'plane'"),
        (('why = "BLEU"', 'why = ""'), "a margin needs a reason"),
        (('why = "BLEU"', 'why = "  "'), "a margin needs a reason"),
        (('rule = "attention is above both others"', 'rule = " "'), "rule is blank"),
        (('is = "above"', 'is = "above"\nbudgets = " "'), "budgets is blank"),
        (('is = "above"', 'is = "above"\ntuning = " "'), "tuning is blank"),
        (('reads = "score"', 'reads = "score"\nmetric = "bleux"'), "metric must be one of .* got 'bleux'"),
        (('is = "above"', 'is = "above"\nrival = "c"'), "the rival must be a or b, got 'c'"),
        (('is = "above"', 'is = "above"\nmargin = "two"'), "has no margin 'two'"),
        (('is = "above"', 'is = "above"\nmargin = 5.0'), "a margin is named here, .* got 5.0"),
        (('is = "above"', 'is = "over"'), "has no relation 'over'"),
        (('is = "above"', 'is = "above"\ngap = "quotient"'), "has no operation 'quotient'"),
        (('is = "above"', 'is = "above"\nmargn = "one"'), "no field margn"),
        (('{ row = ["embeddings", "feed-forward"] }', '{ row = "columns" }'), "has no list 'columns'"),
        (('mark = "ours"\n', ""), "need a mark"),
        (('rule = "attention is above both others"\n', ""), "rule"),
        (('reads = "score"', 'reads = "taste"'), "reads must be one of"),
        (('"combinations/no-encoder"', '"combinations/none"'), "has no recipe"),
        (('"combinations/no-encoder"', "30.0"), "a number that baselines must beat needs a reason"),
        (('b = "components/{row}"', 'b = "transformer/{row}"'), "has no recipe 'transformer/embeddings'"),
        (
            ('b = "components/{row}"', 'b = "reservoirs/regular-4"'),
            "not trained alike .steps: .*say why under",
        ),
        (('b = "components/{row}"', 'b = "universal/digits/full/lr-1e-3"'), "do not learn the same .*digits"),
        (("says = ", "say = "), "no field say"),
        (
            ('mark = "ours"', 'mark = "ours"\nrecipes = ["components/*", "combinatons/no-encoder"]'),
            "no recipe 'combinatons/no-encoder'; did you mean 'combinations/no-encoder'",
        ),
        (
            ('mark = "ours"', 'mark = "ours"\nrecipes = ["components/*", "!components/atention"]'),
            "no recipe 'components/atention'; did you mean 'components/attention'",
        ),
        (('mark = "ours"', 'mark = "ours"\nrecipes = ["component/*"]'), r"no recipe 'component/\*'"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_file_and_its_line(tmp_path, change, named):
    with pytest.raises(LedgerError, match=named) as refused:
        held(tmp_path, change=change)
    assert re.match(r"made-up\.toml, line \d+: '", str(refused.value))


def ours(name, decided):
    """One more claim, and the lines that decide it."""
    told = 'says = "made up"\nwhere = "nowhere"\nmark = "ours"\nrule = "made up"'
    return f'[[claim]]\nid = "ours/{name}"\n{told}\n{decided}\n'


TUNED = ours(
    "tuned",
    """[[claim.compare]]
measure = "plain"
a = "few-bits/masks"
b = "few-bits/narrow-8"
is = "above\"""",
)
SPECIAL = ours("class", 'special = "weight class"\narguments = { axis = "trained" }')
ORDER = ours(
    "order",
    'order = { table = "one-layer/translation", margin = "one", measure = "plain", contests = "Task" }',
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (SPECIAL.replace('"trained" }', '"xtrained" }'), "no axis 'xtrained'; did you mean 'trained'"),
        (SPECIAL.replace("axis =", "axes ="), "'weight class' takes axis, got axes"),
        (
            SPECIAL + 'recipes = ["combinatons/no-encoder"]\n',
            "'ours/class': .*no recipe .*did you mean 'combinations/no-encoder'",
        ),
        (SPECIAL.replace("weight class", "shares"), "'shares' takes table, column, got axis"),
        (ORDER, "'ours/order': the compared runs are not trained alike"),
        (ORDER.replace("contests =", "contest ="), "an order has no field contest"),
    ],
)
def test_a_wrong_claim_without_comparisons_is_refused_as_well(tmp_path, text, named):
    with pytest.raises(LedgerError, match=rf"made-up\.toml, line \d+: .*{named}"):
        held(tmp_path, LEDGER + text)


def test_runs_at_two_learning_rates_are_compared_for_a_reason_alone(tmp_path):
    told = r"not tuned alike \(learning rates: few-bits/masks 0.003, few-bits/narrow-8 0.016\): say why under tuning"
    with pytest.raises(LedgerError, match=told):  # though one of them is scored in few bits as well
        held(tmp_path, LEDGER + TUNED)
    ledger = held(tmp_path, LEDGER + TUNED + 'tuning = "each by hand"\n')
    assert ledger.entries["ours/tuned"].blocks[0].tuning == "each by hand"


def test_runs_whose_recipes_state_two_precisions_are_not_compared(tmp_path, monkeypatch):
    """None of the book's recipes gets there, since their data decide the precision; a new one may."""
    get = budgets._run

    def one_in_fp32(name, scale):
        return dataclasses.replace(get(name, scale), precision="fp32" if "attention" in name else "bf16")

    monkeypatch.setattr(budgets, "_run", one_in_fp32)
    told = r"not of one precision \(components/attention fp32, components/embeddings bf16\)"
    with pytest.raises(LedgerError, match=rf"made-up\.toml, line \d+: 'ours/best': .*{told}"):
        held(tmp_path)


def test_sides_that_chose_from_unequally_many_rates_decide_nothing(tmp_path, monkeypatch):
    swept = TUNED.replace("few-bits/masks", "universal/digits/full/~")
    ledger = held(tmp_path, LEDGER + swept.replace("few-bits/narrow-8", "universal/digits/random/~"))
    there = {
        "universal/digits/full/lr-1e-3",
        "universal/digits/random/lr-1e-3",
        "universal/digits/full/lr-3e-3",
    }
    monkeypatch.setattr(budgets, "find_record", lambda name, scale: True if name in there else None)
    (one,) = ledger.entries["ours/tuned"].blocks[0].comparisons
    read = budgets.compared_runs(one, ledger.measures)
    assert budgets.unequal(read, "laptop") == "universal/digits/full/~ 2, universal/digits/random/~ 1"
    there.add("universal/digits/random/lr-1e-2")
    assert budgets.unequal(read, "laptop") == ""


def test_a_claim_on_unequal_sweeps_is_unfit_unless_it_says_why(tmp_path, monkeypatch, made):
    for name in ("attention", "embeddings", "feed-forward"):
        made[f"components/{name}"] = [recorded(30.0 + seed, seed) for seed in range(3)]
    monkeypatch.setattr(budgets, "unequal", lambda *_: "one 5, other 3")
    found = real(tmp_path, monkeypatch, LEDGER)
    assert (found.outcome, "one 5, other 3" in found.why) == ("unfit", True)
    (other := tmp_path / "other").mkdir()  # a folder is read once
    assert real(other, monkeypatch, LEDGER + 'tuning = "made up"\n').outcome == "cannot tell"


def test_every_claim_of_the_book_gives_its_sides_one_budget_or_says_why_not():
    for name, entry in claims.entries().items():
        for block in entry.blocks:
            for one in block.comparisons:
                tried = budgets.unequal(budgets.compared_runs(one, claims.ledger().measures), entry.scale)
                assert block.tuning or not tried, f"{name}: {tried}"


def test_a_claim_without_a_quotation_must_say_whose_words_it_is_in(tmp_path):
    unquoted = LEDGER.replace('says = "attention is the best"\nwhere = "nowhere"\nmark = "ours"\n', "")
    with pytest.raises(LedgerError, match="'ours/best': data/sources has no source 'ours'"):
        held(tmp_path, unquoted)


def test_the_metrics_of_the_ledger_are_those_that_records_have():
    counts = {"sequences", "sentences", "tokens", "hidden", "signature"}
    judged = (
        one for one in all_records() if not one.recipe.startswith("bench/")
    )  # the bench has its own judge
    found = {name for one in judged for test in one.tests.values() for name in test}
    assert found - counts == set(measures.METRICS)


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
        return Estimate.of(scores[recipe.partition("/")[2]])

    return claims.verdict("ours/best", look=look, held=ledger)


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        ('is = "above"', "holds here"),
        ('is = "below"', "does not hold here"),
        ('is = "above"\nmargin = "-two"', "holds here"),
        ('is = "above"\nmargin = "two"', "does not hold here"),
        ('is = "within"\nmargin = "two"', "holds here"),
        ('is = "within"\nmargin = "two"\naround = "3.5"', "does not hold here"),  # of 3.5, not of nothing
        ('is = "apart by"\nmargin = "two"\ngap = "ratio"', "does not hold here"),  # either way
        ('is = "above"\nunfit = "made up"', "unfit"),
    ],
)
def test_what_a_comparison_asks_is_what_is_judged(tmp_path, lines, outcome):
    scores = {"attention": [6.9, 7.0, 7.1], "embeddings": [5.9, 6.0, 6.1]}
    assert judged(tmp_path, lines, scores).outcome == outcome


def recorded(score: float, seed: int, *, precision: str = "fp32", begun: str = "") -> SimpleNamespace:
    run = {"task": "", "precision": precision, "start": {"recipe": "masked/regular-4"} if begun else None}
    began = [begun] if begun else []
    tests = {"test": {"bleu": score}}
    return SimpleNamespace(
        tests=tests, scored_by="bleu", run=run, seed=seed, begun_with=began, recipe="components/x"
    )


@pytest.fixture
def made(monkeypatch):
    """Records by recipe, which a test fills; nothing else is recorded."""
    found: dict[str, list[SimpleNamespace]] = {}
    monkeypatch.setattr(measures, "find_records", lambda name, scale: found.get(name, []))
    monkeypatch.setattr(measures, "_spreads", {})
    monkeypatch.setattr(measures, "_rows", lambda *_: [])
    return found


def test_fine_tuning_from_one_pretraining_is_one_run(made):
    made["components/attention"] = [recorded(30.0 + seed, seed, begun="one@abc") for seed in range(3)]
    assert claims.figure("score", "components/attention").runs == 1
    made["components/attention"] = [recorded(30.0 + seed, seed, begun=f"{seed}@abc") for seed in range(3)]
    assert claims.figure("score", "components/attention").runs == 3
    made["components/attention"] = [recorded(30.0 + seed, seed) for seed in range(3)]
    assert claims.figure("score", "components/attention").runs == 3


def real(tmp_path, monkeypatch, text: str):
    """The verdict of a ledger that is the book's for once, on what is recorded."""
    ledger = held(tmp_path, text)
    monkeypatch.setattr(verdicts, "ledger", lambda: ledger)
    return claims.verdict("ours/best", held=ledger)


def test_records_of_two_precisions_are_not_compared(tmp_path, monkeypatch, made):
    for name, precision in (("attention", "fp32"), ("embeddings", "fp32"), ("feed-forward", "bf16")):
        made[f"components/{name}"] = [recorded(30.0 + seed, seed, precision=precision) for seed in range(3)]
    with pytest.raises(LedgerError, match=r"made-up\.toml, line \d+: 'ours/best': .* in bf16 and .* in fp32"):
        real(tmp_path, monkeypatch, LEDGER)
    for record in made["components/feed-forward"]:
        record.run["precision"] = "auto"  # not recorded; bf16 wherever one could tell
    unknown = real(tmp_path, monkeypatch, LEDGER)
    assert (
        unknown.outcome == "unfit" and "components/feed-forward did not record its precision" in unknown.why
    )
    for name in ("attention", "embeddings"):
        made[f"components/{name}"] = [recorded(30.0 + seed, seed, precision="bf16") for seed in range(3)]
    assert real(tmp_path, monkeypatch, LEDGER).outcome == "cannot tell"


def test_an_order_compares_rows_of_one_precision(made):
    rows = {line.recipe for line in comparisons()["poster/narrow"].lines() if line.recipe}
    for name in rows:
        made[name] = [recorded(30.0 + seed, seed) for seed in range(3)]
    assert claims.verdict("poster/narrow-order").outcome == "cannot tell"  # all score alike
    for record in made["narrow/attention"]:
        record.run["precision"] = "auto"
    found = claims.verdict("poster/narrow-order")
    assert found.outcome == "unfit" and "narrow/attention did not record its precision" in found.why
    for record in made["narrow/attention"]:
        record.run["precision"] = "bf16"
    with pytest.raises(LedgerError, match=r"narrow-order': .*narrow/attention in bf16 and .* in fp32"):
        claims.verdict("poster/narrow-order")


def test_a_weight_class_has_one_precision(monkeypatch):
    name = "whole/weight-class-trained"
    assert claims.verdict(name).outcome != "unfit"
    others = ""

    def one_in_fp32(recipe, scale="laptop"):
        precision = "fp32" if recipe == "transformer/multi30k" else others
        return [SimpleNamespace(run={"precision": precision}) for _ in find_records(recipe, scale=scale)]

    monkeypatch.setattr(verdicts, "records", one_in_fp32)
    others = "auto"
    found = claims.verdict(name)
    assert found.outcome == "unfit" and "transformer/multi30k is in fp32" in found.why
    others = "bf16"
    with pytest.raises(LedgerError, match="transformer/multi30k in fp32"):
        claims.verdict(name)


def test_on_another_task_precision_may_be_another(tmp_path, monkeypatch, made):
    both = '{ mean = "{row}", each = { row = ["gpt/wikipedia", "components/feed-forward"] } }'
    each = 'each = { row = ["embeddings", "feed-forward"] }\n'
    text = LEDGER.replace('"components/{row}"', both).replace(each, "").replace(" {row}:", "")
    for name, precision in (
        ("components/attention", "fp32"),
        ("components/feed-forward", "fp32"),
        ("gpt/wikipedia", "bf16"),
    ):
        made[name] = [recorded(30.0 + seed, seed, precision=precision) for seed in range(3)]
    assert real(tmp_path, monkeypatch, text).outcome == "cannot tell"


def test_a_baseline_that_does_not_beat_doing_nothing_is_unfit(tmp_path, monkeypatch, made):
    text = LEDGER.replace('measure = "plain"', 'measure = "fit"')
    for name, score in (("attention", 30.0), ("embeddings", 20.0), ("feed-forward", 25.0)):
        made[f"components/{name}"] = [recorded(score + seed / 10, seed) for seed in range(3)]
    made["combinations/no-encoder"] = [recorded(10.0 + seed / 10, seed) for seed in range(3)]
    assert real(tmp_path, monkeypatch, text).outcome == "holds here"
    made["combinations/no-encoder"] = [recorded(21.0 + seed / 10, seed) for seed in range(3)]
    found = real(tmp_path, monkeypatch, text)
    assert found.outcome == "unfit" and "components/embeddings does not clearly beat" in found.why
    (turned := tmp_path / "turned").mkdir()
    text += 'rival = "a"\n'  # now attention is the baseline, which beats it
    assert real(turned, monkeypatch, text).outcome == "holds here"
    made["combinations/no-encoder"] = [recorded(31.0 + seed / 10, seed) for seed in range(3)]
    found = real(turned, monkeypatch, text)
    assert found.outcome == "unfit" and "components/attention does not clearly beat" in found.why


def test_a_baseline_whose_runs_all_reach_the_same_beats_what_it_is_above(tmp_path, monkeypatch, made):
    text = LEDGER.replace('measure = "plain"', 'measure = "fit"').replace("combinations/no-encoder", "20")
    text = text.replace('idle = { "components/*" = "20" }', 'idle = { "components/*" = 20.0 }\nwhy = "BLEU"')
    made["components/attention"] = [recorded(30.0 + seed / 10, seed) for seed in range(3)]
    for name in ("embeddings", "feed-forward"):
        made[f"components/{name}"] = [recorded(25.0, seed) for seed in range(3)]
    assert real(tmp_path, monkeypatch, text).outcome == "holds here"
    made["components/feed-forward"] = [recorded(20.0, seed) for seed in range(3)]
    assert real(tmp_path, monkeypatch, text).outcome == "unfit"


def test_a_method_less_a_number_need_not_beat_doing_nothing_itself(tmp_path, monkeypatch, made):
    less = 'a = { difference = ["components/attention", { margin = "one" }] }'
    text = LEDGER.replace('measure = "plain"', 'measure = "fit"').replace('a = "components/attention"', less)
    for name, score in (("attention", 5.0), ("embeddings", 20.0), ("feed-forward", 25.0)):
        made[f"components/{name}"] = [recorded(score + seed / 10, seed) for seed in range(3)]
    made["combinations/no-encoder"] = [recorded(10.0 + seed / 10, seed) for seed in range(3)]
    assert real(tmp_path, monkeypatch, text).outcome == "does not hold here"


def test_a_verdict_says_that_its_runs_begin_with_one_pretrained_body():
    assert claims.verdict("ours/stories").shown.endswith("(laptop scale, one pretrained body)")
    for name in ("blog/as-well", "poster/embeddings"):  # as many bodies as seeds, and none
        assert claims.verdict(name).shown.endswith("(laptop scale)")


def test_printed_shares_are_compared_with_those_of_the_sizes():
    found = claims.verdict("poster/narrow-shares")
    assert found.outcome == "does not hold here" and "(2): 0.45, printed 0.55" in found.seen
    assert claims.verdict("poster/big-shares").outcome == "holds here"


def test_a_file_that_is_no_toml_is_named(tmp_path):
    with pytest.raises(LedgerError, match=r"made-up\.toml is no TOML"):
        held(tmp_path, "[[claim]\n")


def test_the_scores_are_the_records():
    found = claims.figure("score", "transformer/multi30k")
    ((sample, slope),) = found.slopes.items()
    assert (
        list(sample.values) == [record.score for record in find_records("transformer/multi30k")]
        and slope == 1
    )


def test_a_sweep_that_is_not_whole_decides_nothing(monkeypatch):
    run = {"task": "", "precision": "fp32"}
    more = {"seed": 0, "begun_with": [], "recipe": "universal/x", "run": run}
    record = SimpleNamespace(tests={"test": {"accuracy": 50.0}}, scored_by="accuracy", **more)

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
    assert claims.frame([name])["verdict"].item() == claims.verdict(name).shown


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
    assert (found.outcome, found.seen) == ("not tested here", "we have none")
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
        return Estimate.of(scores[name])

    return claims.verdict("poster/lm-order", look=look)


def test_an_order_needs_every_pair_that_the_source_has_apart():
    printed = {line.name: line.figure.value for line in comparisons()["poster/lm"].lines()}
    same = {name: [value, value + 0.1, value + 0.2] for name, value in printed.items()}
    assert ordered(same).outcome == "holds here"
    swapped = dict(same, **{"language/baseline": same["language/embeddings-feed-forward"]})
    found = ordered(swapped)
    assert (
        found.outcome == "does not hold here"
        and "baseline before " in found.why
        and "holds here" in found.seen
    )
    few = {name: same[name] for name in list(same)[:3]}
    assert ordered(few).outcome == "not tested here"
    assert ordered(dict(same, **{"language/baseline": [30.0, 100.0, 300.0]})).outcome == "cannot tell"


ROOT = Path(__file__).parent.parent


def test_an_entry_stands_for_itself():
    """The ledger is sorted by verdict, so what stands above an entry, or in which chapter it is shown, changes."""
    place = re.compile(
        r"\b(claims?|rules?|entry|sentence) (above|below)\b|\bthis chapter\b|^the same\b", re.IGNORECASE
    )
    assert not [
        name for name, one in claims.entries().items() if one.mark == "ours" and place.search(one.says)
    ]
    assert not [name for name, one in claims.entries().items() if place.search(one.where)]


def test_comparisons_that_nobody_has_run_are_named():
    def look(measure, recipe, among, scale):
        if recipe in ("keep/wide-random-30", "keep/shared-random-90"):
            raise NotRunError(recipe)
        return Estimate.of([1.0, 2.0, 3.0] if "wide" in recipe else [1.5, 2.0, 2.5])

    seen = claims.verdict("one-layer/wider-always", look=look).seen
    assert seen.startswith("10 %: 0.0") and seen.endswith("; not run: 30 %, 90 %")
