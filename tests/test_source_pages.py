"""Each source has a page that says what was done and what our runs make of every claim of it."""

import sys

import pytest
from test_repository import ROOT

from reservoir_lab.evidence import claims, sources

sys.path.insert(0, str(ROOT / "reference"))
import source_pages


def test_every_source_has_a_page_and_nothing_else_has():
    assert list(source_pages.written()) == sources.names()


@pytest.mark.parametrize("name", sources.names())
def test_a_page_says_everything_and_shows_each_claim_with_its_verdict(name):
    text = source_pages.page(name)
    assert all(heading in text for heading in source_pages.ABOUT.values())
    for verdict in source_pages.verdicts(name):
        assert source_pages.plain(verdict.entry.says) in text
        assert source_pages.plain(verdict.seen) in text


@pytest.mark.parametrize("name", sources.names())
def test_a_page_leads_back_to_the_chapters_that_lead_to_it(name):
    assert source_pages.told_in(name)
    assert all(chapter in source_pages.page(name) for chapter in source_pages.told_in(name))
    linking = [
        path.stem
        for path in (ROOT / "chapters").glob("[0-9]*.md")
        if f"sources/{name}.md)" in path.read_text(encoding="utf-8")
    ]
    assert all(f"(../../chapters/{stem}.ipynb)" in source_pages.page(name) for stem in linking)


def test_a_claim_stands_at_a_place_within_its_source():
    (one,) = (entry for name, entry in claims.entries().items() if name == "poster/big-shares")
    assert source_pages.place(one, "poster") == "table 1, Trainable/All [doc]"


def test_what_arithmetic_decides_is_not_told_as_decided_by_runs():
    for name in sources.names():
        found = [one for one in source_pages.verdicts(name) if one.decided]
        by_arithmetic = sum(one.shown.endswith("(by arithmetic)") for one in found)
        if found:
            counted = f"{len(found) - by_arithmetic} decided by our runs, {by_arithmetic} by arithmetic."
            assert counted in source_pages.page(name) and counted in source_pages.overview()


def test_every_claim_of_a_source_is_on_one_page():
    shown = [one.entry.name for name in sources.names() for one in source_pages.verdicts(name)]
    quoted = {name for name in claims.entries() if claims.entries()[name].mark != "ours"}
    assert len(shown) == len(set(shown))
    assert quoted <= set(shown)


def test_a_page_that_lacks_a_part_is_refused(monkeypatch):
    monkeypatch.setattr(source_pages, "written", lambda: {"poster": {"did": "something"}})
    with pytest.raises(ValueError, match=r"\[poster\] lacks data, hardware, missing, read, runs"):
        source_pages.page("poster")
