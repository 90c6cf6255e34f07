"""What is asked of the bench, of rows that there are, and what the judge answers in worlds whose truth is known."""

import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reservoir_lab import recipes
from reservoir_lab.evidence import asked, cells, rules, sources
from reservoir_lab.evidence.cells import (
    ACROSS,
    Claim,
    NotFoundError,
    Ran,
    alike,
    answer,
    as_good,
    better,
    cheaper,
    fewer,
    finding,
    found,
    keeps,
    loses_more,
    more_area,
    ordered,
)
from reservoir_lab.recipes import bench
from reservoir_lab.runs import execute, provenance

ROOT = Path(__file__).resolve().parent.parent
N = 20
QUOTED = {f"{name}/{claim}" for name in sources.names() for claim in sources.source(name).claims}


def world(n=N, seed=0, **rows):
    """The judged runs of rows: for each a mean, or a list of scores; "_" in a name is "-", "__" is "/"."""
    rng = np.random.default_rng(seed)
    drawn = {
        name.replace("__", "/").replace("_", "-"): list(
            said if isinstance(said, list) else said + rng.standard_normal(n)
        )
        for name, said in rows.items()
    }

    def of(name):
        row = name.partition("/")[2]
        return [run(score) for score in drawn.get(name, drawn.get(row, []))]

    return of


def run(score, *, slow=1.0, operations=100.0):
    """A run whose validation score grows evenly to its end, `slow` times as slowly as it might."""
    curve = tuple((at * operations / 10, at, min(score, score * at / 5 / slow)) for at in range(1, 11))
    return Ran({"score": score, "accuracy": score}, curve, operations, 1000.0, 500.0)


def outcome(asks, task="grammar", **rows):
    return answer(asks[0], task, world(**rows)).outcome()


# The claims.


def test_every_sentence_of_the_sources_is_asked_or_says_why_not():
    names = [one.name for one in asked.CLAIMS]
    assert len(set(names)) == len(names)
    assert QUOTED <= set(names) | set(asked.DESCRIBED)
    assert not set(names) & set(asked.DESCRIBED) and set(asked.DESCRIBED) <= QUOTED
    for one in asked.CLAIMS:
        assert bool(one.asks) != bool(one.needs), one.name
        part = one.says.startswith("“")  # of a quotation
        assert part or (one.name in QUOTED) != bool(one.says), f"{one.name} has its words twice, or nowhere"
        assert bool(one.where) == bool(one.says and not one.name.startswith(("ours/", "held-out/"))), one.name


def test_words_in_quotation_marks_are_the_sources():
    for one in asked.CLAIMS:
        if one.says.startswith("“"):
            source = one.name.partition("/")[0]
            texts = " ".join(claim.text for claim in sources.source(source).claims.values())
            for words in one.says.strip("“”").split("”, “"):
                assert words in texts, one.name


def test_at_most_15_predictions_are_ours_and_each_names_its_tasks():
    ours = [one for one in asked.CLAIMS if one.name.startswith("ours/")]
    assert tuple(ours) == asked.PREDICTIONS and len(ours) <= 15
    assert all(one.tasks or one.columns() == (ACROSS,) for one in ours)


def test_all_rows_of_all_claims_are_on_the_bench():
    assert sum(len(one.columns()) for one in asked.CLAIMS) > 200
    for one in asked.CLAIMS:
        assert bool(one.columns()) == bool(one.asks), (
            f"{one.name} is asked on no task that has all of its rows"
        )


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Claim("x", better("trained", "tained")), "x asks of 'tained', which is no row"),
        (
            Claim("x", better("trained", "post"), tasks=("facts",)),
            "asks of 'post' on facts, which has no such row",
        ),
        (Claim("x", better("facts/post", "facts/trained")), "asks of 'facts/post', which is no row"),
    ],
)
def test_a_row_that_is_not_there_is_refused(claim, words):
    with pytest.raises(ValueError, match=words):
        claim.columns()


def test_a_claim_that_names_no_task_is_asked_wherever_its_rows_are():
    assert Claim("x", better("trained", "post")).columns() == bench.OPEN
    assert Claim("x", better("trained", "post"), tasks=("words",)).columns() == ("words",)
    assert Claim("x", better("facts/trained", "circle/trained")).columns() == (ACROSS,)


# What the runs say.


@pytest.mark.parametrize(
    ("asks", "rows", "said"),
    [
        (better("a", "b"), {"a": 80.0, "b": 70.0}, "holds"),
        (better("a", "b"), {"a": 70.0, "b": 80.0}, "does not hold"),
        (better("a", "b"), {"a": 80.0, "b": 80.0}, "undecided"),
        (better("a", "b", by=5), {"a": 83.0, "b": 80.0}, "does not hold"),
        (better("a", "b"), {"a": 99.9, "b": 99.6}, "undecided"),
        (as_good("a", "b", 5), {"a": 78.0, "b": 80.0}, "holds"),
        (as_good("a", "b", 5), {"a": 70.0, "b": 80.0}, "does not hold"),
        (as_good("a", "b", 5), {"a": 75.0, "b": 80.0}, "undecided"),
        (as_good("a", "b", 5), {"a": 5.0, "b": 5.0}, "undecided"),
        (keeps("a", "b", 80), {"a": 70.0, "b": 80.0}, "holds"),
        (keeps("a", "b", 80), {"a": 60.0, "b": 80.0}, "does not hold"),
        (keeps("a", "b", 80), {"a": 5.0, "b": 5.0}, "undecided"),
    ],
)
def test_questions_of_means(asks, rows, said):
    assert outcome(asks, **rows) == said


def test_nine_runs_and_rows_that_nobody_ran_decide_nothing():
    assert answer(better("a", "b")[0], "grammar", world(n=9, a=80.0, b=10.0)).outcome() == "undecided"
    nothing = answer(better("a", "b")[0], "grammar", world(a=80.0))
    assert nothing.outcome() == "undecided" and nothing.seen == "not run: grammar/b"


def test_the_circle_is_judged_by_the_share_that_learns():
    learn, fail = [100.0] * N, [14.0] * N
    assert outcome(better("a", "b"), "circle", a=learn, b=fail) == "holds"
    assert outcome(better("a", "b"), "circle", a=learn, b=learn) == "undecided"
    # Means differ, but as many runs learn.
    assert outcome(better("a", "b"), "circle", a=[99.0] * N, b=[91.0] * N) == "undecided"
    assert outcome(keeps("a", "b", 80), "circle", a=learn, b=learn) == "holds"
    assert outcome(keeps("a", "b", 80), "circle", a=fail, b=learn) == "does not hold"


def test_where_some_runs_fail_elsewhere_shares_are_judged():
    """One run in ten that fails moves a mean by 8 points, and says nothing of a share."""
    one_fails = [80.0] * (N - 2) + [3.0] * 2
    told = answer(better("a", "b")[0], "grammar", world(a=80.0, b=one_fails))
    assert told.outcome() == "undecided" and "90% of the runs" in told.seen
    assert outcome(better("a", "b"), a=80.0, b=[3.0] * N) == "holds"
    half_fail = [80.0] * (N // 2) + [3.0] * (N // 2)
    for asks in (as_good("a", "b", 5), keeps("a", "b", 80)):
        assert outcome(asks, a=half_fail, b=80.0) == "does not hold"
        assert outcome(asks, a=80.0, b=half_fail) == outcome(asks, a=one_fails, b=80.0) == "undecided"


def test_at_the_ceiling_as_good_is_a_question_of_cost():
    def slower(times):
        return lambda name: [run(99.9, slow=times if name.endswith("/a") else 1.0)] * N

    ask = as_good("a", "b", 5)[0]
    assert answer(ask, "brackets", slower(1.0)).outcome() == "holds"
    assert answer(ask, "brackets", slower(2.0)).outcome() == "does not hold"
    assert answer(ask, "circle", slower(1.0)).outcome() == "holds"
    assert answer(ask, "circle", slower(2.0)).outcome() == "does not hold"


def test_costs_totals_and_areas():
    def of(name):
        return [run(90.0, slow=1.8, operations=50.0) if name.endswith("/a") else run(90.0)] * N

    assert answer(cheaper("a", "b")[0], "facts", of).outcome() == "holds"
    assert answer(cheaper("a", "b", of="steps")[0], "facts", of).outcome() == "does not hold"
    assert answer(fewer("a", "b")[0], "facts", of).outcome() == "holds"
    assert answer(fewer("a", "b", of="stored bytes")[0], "facts", of).outcome() == "undecided"
    assert answer(more_area("a", "b")[0], "facts", of).outcome() == "holds"
    assert run(90.0).cost(91.0, "steps") == math.inf
    assert Ran({}, ((50.0, 1, 40.0), (100.0, 2, 40.0)), 100.0).area(100.0) == pytest.approx(30.0)


def test_a_difference_of_differences():
    asks = loses_more(("a", "b"), ("c", "d"))
    assert outcome(asks, a=90.0, b=70.0, c=95.0, d=90.0) == "holds"
    assert outcome(asks, a=90.0, b=88.0, c=95.0, d=80.0) == "does not hold"
    assert outcome(asks, a=90.0, b=70.0, c=95.0, d=[3.0, *[90.0] * (N - 1)]) == "undecided"


def test_what_is_scored_after_rounding_and_bits_a_number():
    def of(name):
        scores = {"score": 90.0, "accuracy at 8 bits": 60.0, "bits": 1000.0 if name.endswith("/a") else 500.0}
        return [Ran(scores, trained=500.0, stored_bytes=1000.0)] * N

    told = answer(better("a at 8 bits", "b")[0], "facts", of)
    assert told.outcome() == "does not hold" and told.seen == "60 against 90"
    assert answer(better("a", "b", by=0.9, of="bits per trained number")[0], "facts", of).outcome() == "holds"
    assert of("facts/a")[0].measure("bits per stored bit") == pytest.approx(1 / 8)


def test_all_must_hold_or_one_of_them():
    both = better("trained", "half") + better("trained", "frozen-attention")
    split = world(trained=80.0, half=70.0, frozen_attention=90.0)
    assert finding(Claim("x", both), "grammar", split).outcome() == "does not hold"
    assert finding(Claim("x", both, any_of=True), "grammar", split).outcome() == "holds"
    rest = world(trained=80.0, half=70.0)
    assert finding(Claim("x", both), "grammar", rest).outcome() == "undecided"
    assert finding(Claim("x", alike("trained", "half", 5)), "grammar", rest).outcome() == "does not hold"
    assert finding(Claim("x", alike("trained", "half", 20)), "grammar", rest).outcome() == "holds"


def test_an_order_asks_of_those_that_are_apart():
    asks = ordered(("a", 3.0), ("b", 2.5), ("c", 1.0), apart=1.0)
    assert [(one.a, one.b) for one in asks] == [(("a",), ("c",)), (("b",), ("c",))]


def test_who_asks_on_more_tasks_needs_stronger_runs():
    claim = Claim("x", better("trained", "half"))
    weak = world(seed=4, trained=80.0, half=78.9)
    alone = finding(claim, "grammar", weak)
    assert 0.0005 < alone.p < 0.01
    one, *_ = cells.cells([replace(claim, tasks=("grammar",))], weak)
    assert one.outcome == "holds"
    others = [Claim(f"y{i}", better("half", "half-longer"), tasks=("grammar",)) for i in range(30)]
    many = cells.cells([replace(claim, tasks=("grammar",)), *others], weak)
    assert many[0].outcome == "undecided"


def test_a_page_whose_sentence_is_not_what_the_runs_say_fails():
    runs = world(trained=80.0, half=70.0)
    assert found(better("trained", "half"), "grammar", rows=runs).runs == N
    found(better("half", "trained"), "grammar", outcome="does not hold", rows=runs)
    with pytest.raises(NotFoundError, match=r"on grammar the runs say 'holds' .* the page 'undecided'"):
        found(better("trained", "half"), "grammar", outcome="undecided", rows=runs)
    with pytest.raises(NotFoundError, match="not run"):
        found(better("trained", "half"), "grammar", rows=world(trained=80.0))


def test_a_record_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    record = execute(recipes.get("bench/facts/rounded-8", scale="smoke"))
    read = cells.ran(record)
    assert read.measure("score") == record.score == record.tests["test"]["remembered"]
    assert read.measure("bits per trained number") == pytest.approx(read.scores["bits"] / read.trained)
    assert read.measure("accuracy at 4 bits") == record.tests["test"]["accuracy at 4 bits"]
    assert read.operations == record.points[-1]["flops"] == read.curve[-1][0] and read.curve[-1][1] == 8
    assert read.cost(0.0, "steps") == record.points[0]["step"]


# The rules' name.


def changes(before):
    """The rules that differ from earlier ones: names of claims, and of parts of the judge or the tasks."""

    def parts(rules):
        kinds = ("judge", "tasks", "claims")
        return {f"{kind}: {name}": one for kind in kinds for name, one in rules[kind].items()}

    old, new = parts(before), parts(json.loads(json.dumps(rules.current())))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def rules_at(name, root):
    """The rules that had this digest, from the history of a checkout."""

    def git(*arguments):
        done = subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    path = provenance.RULES[0]
    for commit in git("log", "--format=%H", "--diff-filter=AM", "--", path).split():
        if (stored := json.loads(git("show", f"{commit}:{path}"))).get("rules") == name:
            return stored
    raise LookupError(f"no commit has rules with the digest {name!r}")


def test_the_rules_that_runs_find_are_todays():
    stored = json.loads(provenance.rules_file().read_text(encoding="utf-8"))
    assert stored["rules"] == rules.digest() == provenance.rules_digest(), (
        "rules have changed: run `make generated`"
    )
    assert not changes(stored)


def test_what_was_changed_is_named(monkeypatch):
    before = json.loads(json.dumps(rules.current()))
    before["claims"]["poster/width"]["asks"] = ["better frozen-feed-forward | narrow 1.0 score"]
    before["judge"]["level"] = 0.05
    del before["claims"]["ours/look-up"]
    assert changes(before) == ["claims: ours/look-up", "claims: poster/width", "judge: level"]


def test_every_rule_is_as_old_as_the_runs_that_it_judges():
    """What was changed since is listed; a rule that has to change makes the block of seeds a spent one."""
    for digest in {one.rules for task, row in bench.table() for one in cells.judged(f"{task}/{row}")}:
        assert changes(rules_at(digest, ROOT)) == [], f"rules have changed since the runs under {digest}"


def test_a_judge_that_answers_otherwise_is_another_rule(monkeypatch):
    before = json.loads(json.dumps(rules.current()))
    monkeypatch.setattr(cells, "OF_THE_REFERENCE", 0.5)
    rules.current.cache_clear()
    try:
        assert {"judge: answers to 'cheaper'", "judge: of the reference"} <= set(changes(before))
    finally:
        rules.current.cache_clear()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with committed rules, in which `changed_rules` looks."""

    def git(*arguments):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True)

    git("init", "-q")
    for name in (*provenance.RULES[:2], "reservoir_lab/evidence/asked.py", provenance.RULES[3], "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}", encoding="utf-8")
    git("add", ".")
    git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "rules")
    look = provenance.changed_rules
    monkeypatch.setattr(provenance, "changed_rules", lambda: look(tmp_path))
    return tmp_path


def test_judged_seeds_are_refused_while_the_rules_have_changes(checkout):
    run, looked = (recipes.get("bench/circle/trained", seed=seed) for seed in (200, 9))
    (checkout / "README.md").write_text("other", encoding="utf-8")
    assert provenance.check_settled(run) == ""
    (checkout / "reservoir_lab/evidence/asked.py").write_text("new", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"rules have changes that are not committed \(reservoir_lab/evidence/asked.py\)"
    ):
        provenance.check_settled(run)
    assert provenance.check_settled(looked) == provenance.check_settled(replace(run, scale="smoke")) == ""
    (checkout / "reservoir_lab/evidence/asked.py").write_text("{}", encoding="utf-8")
    (checkout / "reservoir_lab/evidence/new.py").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=r"new\.py"):
        provenance.check_settled(run)


def test_earlier_rules_are_found_in_the_history(checkout):
    def commit(text):
        (checkout / provenance.RULES[0]).write_text(text, encoding="utf-8")
        author = ("-c", "user.name=A", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", checkout, *author, "commit", "-qam", "rules"], check=True)

    commit('{"rules": "one", "judge": 1}')
    commit('{"rules": "two", "judge": 2}')
    assert rules_at("one", checkout)["judge"] == 1 and rules_at("two", checkout)["judge"] == 2
    with pytest.raises(LookupError, match="'three'"):
        rules_at("three", checkout)


def test_outside_a_checkout_the_record_says_so(tmp_path, monkeypatch):
    run, look = recipes.get("bench/circle/trained", seed=200), provenance.changed_rules
    monkeypatch.setattr(provenance, "changed_rules", lambda: look(tmp_path))
    monkeypatch.setenv("RESERVOIR_CODE", '{"version": "1", "commit": "abc", "dirty": true}')
    assert provenance.check_settled(run) == provenance.UNKNOWN
    monkeypatch.setenv("RESERVOIR_CODE", '{"version": "1", "commit": "abc", "dirty": false}')
    assert provenance.check_settled(run) == ""


def test_judged_seeds_are_refused_before_there_are_rules(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "rules_file", lambda: tmp_path / "rules.json")
    with pytest.raises(ValueError, match="there are no rules yet"):
        provenance.check_settled(recipes.get("bench/circle/trained", seed=200))
