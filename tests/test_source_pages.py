"""Each source has a page that says what was done and what the bench says of every claim of it."""

import sys

import pytest
from test_repository import ROOT

from reservoir_book import rows
from reservoir_lab.evidence import asked, sources

sys.path.insert(0, str(ROOT / "reference"))
import source_pages


def test_every_source_has_a_page_and_nothing_else_has():
    assert list(source_pages.written()) == sources.names()


@pytest.mark.parametrize("name", sources.names())
def test_a_page_says_everything_and_shows_each_claim_with_its_verdict(name):
    text = source_pages.page(name)
    assert all(heading in text for heading in source_pages.ABOUT.values())
    for claim in asked.SOURCES[name]:
        assert source_pages.plain(rows.words(claim)) in text
        assert source_pages.plain(claim.needs) in text
    for cell in rows.Claims.of(name).found:
        said = source_pages.told(cell.claim, rows.Claims.of(name))
        assert source_pages.plain(said) in text
        assert any(part.startswith(rows.says(cell)) and cell.task in part for part in said.split("; "))


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
    (one,) = (claim for claim in asked.SOURCES["poster"] if claim.name == "poster/big-shares")
    assert source_pages.place(one, "poster") == "table 1, Trainable/All [doc]"


def test_a_page_that_lacks_a_part_is_refused(monkeypatch):
    monkeypatch.setattr(source_pages, "written", lambda: {"poster": {"did": "something"}})
    with pytest.raises(ValueError, match=r"\[poster\] lacks data, hardware, missing, read, runs"):
        source_pages.page("poster")
