"""The front page's table: what it shows is what is recorded, and a press trains a cell next to the page."""

import gzip
import json
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from test_book import ROOT
from test_browser import barriers, opened, served, sideways
from test_explorables import begun, book_of

from reservoir_book.explorables import FrontTable, bench

QUICK = "brackets/no-feed-forward"
RECORDED = {
    "scores": [50.0, 60.0],
    "band": {"x": [25, 500], "mean": [40.0, 55.0], "low": [35.0, 50.0], "high": [45.0, 60.0]},
}
"""What the page is told of that cell, so that what it shows of records does not depend on which there are."""


def test_a_cell_says_what_its_judged_runs_ended_at_and_no_others(monkeypatch):
    def record(seed: int, score: float):
        points = [{"step": 25 * i, "metrics": {"accuracy": score / 4 * i}} for i in (1, 2)]
        return SimpleNamespace(seed=seed, score=score, metric="accuracy", points=points)

    records = [record(0, 10.0), record(200, 80.0), record(219, 40.0)]
    monkeypatch.setattr(bench, "find_records", lambda name: records)
    found = bench.cell("brackets", "trained")
    assert found["scores"] == [80.0, 40.0]
    band = {"x": [25, 50], "mean": [15.0, 30.0], "low": [10.0, 20.0], "high": [20.0, 40.0]}
    assert found["band"] == band
    monkeypatch.setattr(bench, "find_records", lambda name: records[:1])
    found = bench.cell("brackets", "trained")
    assert found["scores"] == [] and found["band"] is None


def test_the_table_is_light_and_comes_from_the_page():
    shown = FrontTable.of_bench()
    assert shown.cell == "facts/trained"
    state = json.dumps({name: getattr(shown, name) for name in ("tasks", "parts", "lexicon")})
    code = shown._esm + shown._css
    sizes = [len(gzip.compress(text.encode())) for text in (code, state)]
    print(f"compressed: code {sizes[0] / 1000:.0f} kB, data {sizes[1] / 1000:.0f} kB")
    assert sizes[0] <= 60_000 and sizes[1] <= 40_000
    assert not re.findall(r"\b(?:fetch|XMLHttpRequest|WebSocket|importScripts)\b", code)
    scores = [
        round(sum(one) / len(one))
        for part in shown.parts
        for one in [part["cells"]["facts"]["scores"]]
        if one
    ]
    assert all(f">{score}<" in shown.picture() for score in scores)


# ---- in chromium -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with the table as the front page stores it."""
    notebook = nbformat.read(ROOT / "index.ipynb", as_version=4)
    shown = [cell for cell in notebook.cells if "FrontTable.of_bench()" in cell.source]
    notebook.cells = [nbformat.v4.new_markdown_cell("# The table\n\nPress a cell."), *shown]
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    for model in state.values():
        for part in model["state"].get("parts", []):
            if part["row"] == QUICK.split("/")[1]:
                part["cells"]["brackets"] |= RECORDED
    site: Path = book_of(notebook, tmp_path_factory.mktemp("table") / "source")
    with served(site) as address:
        yield f"{address}/waves/"


def cell(place, name: str):
    task, row = name.split("/")
    at = [part.row for part in bench.PARTS].index(row)
    return (
        place.locator(".ft-table tbody tr")
        .nth(at)
        .locator("td")
        .nth(list(bench.SAID).index(task))
        .locator("button")
    )


def ended(page) -> tuple[str, str]:
    """The seed of the chosen cell's run, and what it ended at, in percent."""
    said = r"Seed (\d+) ends at ([\d.]+) % right"
    page.wait_for_function(
        f"() => /{said}/.test(document.querySelector('.ex-words').textContent)", timeout=110_000
    )
    found = re.search(said, page.locator(".ex-words").inner_text())
    assert found
    return found[1], found[2]


@pytest.mark.browser
def test_a_press_trains_a_cell_while_the_page_stays_alive_and_the_next_has_another_seed(browser, address):
    with opened(browser, address) as page:
        place = begun(page)
        page.evaluate(
            "() => { window.frames_ = 0; const on = () => { window.frames_ += 1; requestAnimationFrame(on); }; on(); }"
        )
        chosen = cell(place, QUICK)
        chosen.click()
        page.wait_for_function("() => /step \\d+ of/.test(document.querySelector('.ex-words').textContent)")
        before = page.evaluate("() => window.frames_")
        page.wait_for_timeout(1000)
        assert page.evaluate("() => window.frames_") - before > 5
        first = ended(page)
        assert float(first[1]) > 95 and page.locator(".ft-example dd").count() >= 2
        assert "The 2 recorded seeds ended at 50 to 60 %" in page.locator(".ex-words").inner_text()
        assert chosen.inner_text().split() == ["55", "yours", first[1]]
        assert f"trained here: {first[1]} %" in chosen.get_attribute("aria-label")
        assert page.locator(".ft-panel path.ex-line").count() >= 2
        assert page.locator(".ft-panel path.ex-band").count() == 1
        chosen.click()
        page.wait_for_function(
            f"() => !document.querySelector('.ex-words').textContent.includes('{first[0]}')"
        )
        assert ended(page)[0] != first[0]
        assert page.troubles == []


@pytest.mark.browser
def test_the_table_is_one_stop_of_the_tab_key_and_arrows_show_each_cell(browser, address):
    with opened(browser, address, viewport={"width": 390, "height": 844}, color_scheme="dark") as page:
        place = begun(page)
        assert sideways(page) == 0 and barriers(page) == []
        assert place.locator(".ft-cell[tabindex='0']").count() == 1
        cell(place, "circle/trained").focus()
        for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
            page.keyboard.press(key)
        assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith(
            "everything trained, brackets"
        )
        page.keyboard.press("ArrowUp")  # not out of the table
        page.wait_for_function(
            "() => document.querySelector('.ft-title').textContent === 'Brackets, everything trained'"
        )
        page.wait_for_function("() => location.search.includes('front-table.cell=brackets')")
        assert place.locator(".ft-cell[tabindex='0']").count() == 1
        assert not re.search(r"Seed \d+", page.locator(".ex-words").inner_text())  # nothing trains yet
        page.keyboard.press("Enter")
        page.wait_for_function("() => /Seed \\d+/.test(document.querySelector('.ex-words').textContent)")
        page.keyboard.press("Tab")
        assert not page.evaluate("() => document.activeElement.matches('.ft-cell')")
        assert page.troubles == []
