"""Appendix A: every claim in one section, with an anchor; every system covered or excused; what records cost."""

import math
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from reservoir_book import evidence
from reservoir_lab import recipes
from reservoir_lab.evidence import claims, coverage, sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.runs.records import all_records
from reservoir_lab.runs.registry import SCALES

TITLES = [*evidence.SECTIONS, evidence.OURS]


@pytest.fixture(scope="module")
def ledgers():
    return {title: evidence.Ledger.of(title) for title in TITLES}


class Ids(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.found += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_every_claim_stands_once_and_can_be_linked(ledgers):
    ids = [name for one in ledgers.values() for name in Ids(one._repr_html_()).found]
    assert sorted(ids) == sorted(evidence.anchor(name) for name in claims.entries()) and len(set(ids)) == len(
        ids
    )


def test_a_section_is_of_its_sources(ledgers):
    assert (
        evidence.section("bair/faster") == "reservoirs" and evidence.section("backskipping/learned") == "ours"
    )
    for title, ledger in ledgers.items():
        assert {evidence.section(one.entry.name) for one in ledger.verdicts} == {title}
    for name in sources.names():
        assert evidence.section(f"{name}/x") != evidence.OURS, name


def test_the_counts_add_up(ledgers):
    counted = evidence.counts()
    assert counted.loc["all", "claims"] == len(claims.entries())
    assert (counted.drop(columns="claims").sum(axis=1) == counted["claims"]).all()
    for title, ledger in ledgers.items():
        assert counted.loc[title, "does not hold here"] == sum(
            one.outcome == "does not hold here" for one in ledger.verdicts
        )


def test_the_share_of_false_verdicts_is_over_all_that_were_tested(monkeypatch):
    """Of six, two were decided on runs and two left open; arithmetic and what nobody ran were not tested."""
    made = [
        ("holds here", 0.001), ("does not hold here", 0.005), ("cannot tell", 0.4), ("unfit", 0.2),
        ("holds here", math.nan), ("not tested here", math.nan),
    ]  # fmt: skip
    section = SimpleNamespace(verdicts=[claims.Verdict(None, outcome, "", p=p) for outcome, p in made])
    nothing = SimpleNamespace(verdicts=[])
    monkeypatch.setattr(evidence.Ledger, "of", lambda title: section if title == evidence.OURS else nothing)
    found = evidence.expected()
    assert found.startswith("4 claims were tested on runs, and 2 of them decided.")
    assert "about 2 % of them" in found  # p 0.005, in two directions, for four tests of which two decided
    assert "2 survive" in found


def test_an_entry_shows_words_rule_and_what_was_seen_and_breaks_no_page(ledgers):
    text = ledgers["one-layer"]._repr_html_()
    assert "<script" not in text and "&lt;" not in text.split("<summary>")[0]
    for one in ledgers["one-layer"].verdicts:
        assert one.entry.name in text and one.outcome in text
    ledger, late = next(
        (ledger, one) for ledger in ledgers.values() for one in ledger.verdicts if claims.late(one.entry)
    )
    assert "are older than this rule" in evidence._item(late)
    assert f"[{late.shown}] {late.entry.name}" in str(ledger)


def test_sentences_without_a_rule_say_what_is_done_instead():
    frame = evidence.without_rules()
    assert list(frame["instead"]) == list(claims.descriptions().values())


@pytest.mark.parametrize("where", comparisons())
def test_every_table_has_its_figures_and_marks_beside_ours(where):
    frame, table = evidence.beside(where, scale="smoke"), sources.table(where)
    assert list(dict.fromkeys(frame.index)) == [row for row, *_ in table.rows]
    assert any(f"[{table.kind}]" in name for name in frame)
    shown = " ".join(frame.astype(str).to_numpy().ravel())
    for row in table.rows:
        assert all(entry in shown for entry in row[1:]), row


def test_runs_are_counted_and_not_typed():
    laptop, full = (evidence.run_at(scale) for scale in ("laptop", "full"))
    recorded = {(record.recipe, record.scale) for record in all_records()}
    for scale, found in (("laptop", laptop), ("full", full)):
        names = comparisons()["poster/big"].names
        assert found.loc["poster/big", f"run at {scale}"] == sum((name, scale) in recorded for name in names)
    assert (laptop["with a recipe"] + laptop["without, for a reason"] == laptop["entries"]).all()


@pytest.mark.parametrize("system", coverage.systems(), ids=lambda one: f"{one.source}: {one.words}")
def test_every_system_has_recipes_or_a_reason(system):
    assert bool(coverage.covered_by(system)) != bool(system.why)
    assert system.source in sources.names()
    for pattern in system.recipes:
        assert coverage.covered_by(sources.System("", "", "", (pattern,))), f"no recipe is called {pattern}"


def test_every_recipe_of_a_system_exists_at_all_scales():
    for name in {name for one in coverage.systems() for name in coverage.covered_by(one)}:
        for scale in SCALES:
            assert recipes.get(name, scale=scale).scale == scale


def test_every_recipe_has_a_place_in_the_book():
    assert {coverage.chapter(name) for name in recipes.names()} <= {*map(str, range(1, 13)), "A6"}
    places = {"keep/trained": "10", "components/baseline": "4", "glue/mnli": "8", "ladder/64/masks": "A6"}
    places |= {"masked-wide/regular-4": "10", "pairs-wide/mnli-50": "10"}
    for name, place in places.items():
        assert coverage.chapter(name) == place
    assert list(dict.fromkeys(coverage.cost().index.get_level_values("chapter")))[-2:] == ["12", "A6"]


def test_coverage_says_how_many_recipes_are_recorded():
    frame = coverage.coverage()
    assert len(frame) == len(coverage.systems())
    line = frame[frame["recipes"] == "components/baseline"].iloc[0]
    assert (line["chapter"], line["laptop"]) == ("4", "1 of 1")
    assert frame["laptop"].map(lambda text: not text or bool(re.fullmatch(r"\d+ of \d+", text))).all()


def test_the_cost_is_the_sum_of_all_records():
    spent = coverage.cost()
    hours = sum(record.cpu_seconds for record in all_records() if record.scale != "smoke") / 3600
    assert abs(spent["core-hours"].sum() - hours) < 1e-9
    assert spent.loc[("4", "components"), "recipes"] == 11
