"""The book in JupyterLab: looking changes nothing, running changes outputs alone, editing changes both halves alike."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jupytext
import nbformat
import pytest
from playwright.sync_api import Page, expect, sync_playwright
from processes import free_port

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "theme"))
import lab  # noqa: E402
import names  # noqa: E402
import notebooks  # noqa: E402
import prose  # noqa: E402
from plain import walk  # noqa: E402
from test_controls import CELL  # noqa: E402

CHAPTER = "chapters/03-transformer.ipynb"
HALVES = notebooks.pairs(ROOT)
PNG = "iVBORw0KGgo="


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def copy_of_the_repository(to: Path) -> Path:
    """What git tracks or would track here, in a repository of its own."""
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    git(to, "init", "--quiet")
    git(to, "add", "--all")
    git(to, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "all")
    return to


# ---- without a browser -----------------------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "chapters").mkdir()
    for half in (ROOT / CHAPTER, (ROOT / CHAPTER).with_suffix(".md")):
        shutil.copy(half, tmp_path / "chapters")
    return tmp_path


@pytest.fixture
def contents(clone: Path) -> lab.Contents:
    return lab.Contents(root_dir=str(clone))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.suffix: path.read_bytes() for path in (folder / "chapters").glob("03-*")}


def opened(contents: lab.Contents) -> dict:
    """The model that a front end gets, with what JupyterLab and plotly's renderer add to it on their own."""
    model = contents.get(CHAPTER)
    model["content"] = json.loads(json.dumps(model["content"]))
    model["content"]["metadata"]["language_info"]["version"] = "3.99"
    for cell in model["content"]["cells"]:
        if values := cell["metadata"].get("user_expressions"):
            values.append(values[0])  # of a number that a text has twice
        for output in cell.get("outputs", []):
            if lab.PLOTLY in output.get("data", {}):
                output["data"]["image/png"] = PNG
    return model


def test_saving_what_was_only_looked_at_writes_no_byte(contents, clone):
    before, model = bytes_of(clone), opened(contents)
    assert PNG in json.dumps(model["content"]), "the chapter has a figure, without which this shows nothing"
    contents.save(model, CHAPTER)
    assert bytes_of(clone) == before


def test_saving_a_run_changes_outputs_alone(contents, clone):
    before, model = bytes_of(clone), opened(contents)
    cell = next(cell for cell in model["content"]["cells"] if cell["cell_type"] == "code")
    cell["outputs"] = [nbformat.v4.new_output("stream", name="stdout", text="other words")]
    contents.save(model, CHAPTER)
    after = bytes_of(clone)
    assert after[".md"] == before[".md"] and b"other words" in after[".ipynb"]
    old, new = (nbformat.reads(half[".ipynb"].decode(), as_version=4) for half in (before, after))
    assert lab.sources(old) == lab.sources(new) and old.metadata == new.metadata
    assert [cell.metadata for cell in old.cells] == [cell.metadata for cell in new.cells]


def test_saving_an_edit_changes_that_cell_in_both_halves(contents, clone):
    before, model = bytes_of(clone)[".md"].decode(), opened(contents)
    cell = next(cell for cell in model["content"]["cells"] if "weights = scores.exp()" in cell["source"])
    cell["source"] = cell["source"].replace("weights = scores.exp()", "weights = 1.0 * scores.exp()")
    contents.save(model, CHAPTER)
    after = bytes_of(clone)[".md"].decode()
    assert after == before.replace("weights = scores.exp()", "weights = 1.0 * scores.exp()") != before
    assert "1.0 * scores.exp()" in bytes_of(clone)[".ipynb"].decode()


def test_saving_a_run_keeps_the_explorable_that_the_book_shows(contents, clone):
    """JupyterLab saves the new id of a widget that was run again, but no state under it."""
    stored = nbformat.read(clone / CHAPTER, as_version=4)
    model = opened(contents)
    (view,) = [one for cell in model["content"]["cells"] for one in lab.views(cell)]
    view["data"] = {notebooks.VIEW: {"model_id": "new"}, "text/plain": "An explorable."}
    cell = next(cell for cell in model["content"]["cells"] if cell["cell_type"] == "code")
    cell["outputs"] = [nbformat.v4.new_output("stream", name="stdout", text="other words")]
    contents.save(model, CHAPTER)
    after = nbformat.read(clone / CHAPTER, as_version=4)
    assert "other words" in (clone / CHAPTER).read_text() and notebooks.stateless(after) == []
    assert [lab.views(cell) for cell in after.cells] == [lab.views(cell) for cell in stored.cells]


def test_numbers_that_javascript_writes_as_whole_ones_stay_fractions():
    old = [{"data": {"y": [0.0, 1.5, 2.0], "n": [1, 2], "one": 3.0}}]
    new = [{"data": {"y": [0, 1.5, 2, 4], "n": [1, 3, 4], "one": 3, "flag": True}}]
    kept = lab.with_fractions(new, old)
    assert json.dumps(kept[0]["data"]) == (
        '{"y": [0.0, 1.5, 2.0, 4.0], "n": [1, 3, 4], "one": 3.0, "flag": true}'
    )


def test_a_save_in_the_middle_of_a_run_loses_nothing(contents, clone):
    """The outputs of cells that wait are empty then; afterwards numbers are whole again, as JavaScript writes them."""
    before, model = bytes_of(clone), opened(contents)
    outputs = [cell.get("outputs") for cell in model["content"]["cells"]]
    for cell in model["content"]["cells"]:
        if "outputs" in cell:
            cell["outputs"] = []
    contents.save(model, CHAPTER)
    assert bytes_of(clone) != before
    whole = json.loads(
        json.dumps(outputs),
        parse_float=lambda text: int(float(text)) if float(text) % 1 == 0 else float(text),
    )
    assert json.dumps(whole) != json.dumps(outputs)
    for cell, again in zip(model["content"]["cells"], whole, strict=True):
        if again is not None:
            cell["outputs"] = again
    contents.save(model, CHAPTER)
    assert bytes_of(clone) == before


def test_saving_a_run_leaves_out_how_far_it_was_and_keeps_the_figure_of_a_control(contents, clone):
    before, model = bytes_of(clone), opened(contents)
    figure = next(
        cell
        for cell in model["content"]["cells"]
        if any(lab.PLOTLY in one.get("data", {}) for one in cell.get("outputs", []))
    )
    passing = nbformat.v4.new_output("display_data", {"text/plain": "9 steps"}, metadata={"passing": True})
    figure["outputs"].insert(0, passing)
    contents.save(model, CHAPTER)
    assert bytes_of(clone) == before
    figure["outputs"] = [nbformat.v4.new_output("display_data", {notebooks.VIEW: {"model_id": "new"}})]
    contents.save(model, CHAPTER)
    assert bytes_of(clone) == before


@pytest.mark.parametrize("tags", [[], ["hide-input", "hide-output"]], ids=["none", "more"])
def test_saving_edited_tags_changes_them_in_both_halves(contents, clone, tags):
    before, model = bytes_of(clone)[".md"].decode(), opened(contents)
    number, cell = next(
        (number, cell)
        for number, cell in enumerate(model["content"]["cells"])
        if cell["metadata"].get("tags") == ["hide-input"]
    )
    cell["metadata"]["tags"] = tags
    contents.save(model, CHAPTER)
    after = bytes_of(clone)[".md"].decode()
    written = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
    assert after == before.replace(":tags: [hide-input]\n\n", written, 1) != before
    stored = nbformat.read(clone / CHAPTER, as_version=4)
    assert notebooks.tags(stored.cells[number]) == tags
    assert notebooks.retold((clone / CHAPTER).with_suffix(".md")) == []


def test_an_edit_of_the_markdown_half_is_what_opens_and_is_not_lost(contents, clone):
    half = (clone / CHAPTER).with_suffix(".md")
    earlier = contents.get(CHAPTER, content=False, require_hash=True)["hash"]
    half.write_text(half.read_text(encoding="utf-8").replace("Each position asks", "Every position asks"))
    model = contents.get(CHAPTER)
    assert any("Every position asks" in cell["source"] for cell in model["content"]["cells"])
    assert contents.get(CHAPTER, content=False, require_hash=True)["hash"] != earlier
    written = half.read_bytes()
    contents.save(model, CHAPTER)
    assert half.read_bytes() == written
    assert lab.sources(nbformat.read(clone / CHAPTER, as_version=4)) == lab.sources(jupytext.read(half))


@pytest.mark.parametrize("half", HALVES, ids=lambda half: half.stem)
def test_a_markdown_half_is_written_as_it_stands(half):
    text = half.read_text(encoding="utf-8")
    assert lab.markdown(text, notebooks.updated(half)) == text


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.book
def test_names_are_those_of_the_rendered_book(rendered_book):
    """Each citation, and each figure's number, as mystmd has resolved it."""
    known, cited, counted = names.citations(ROOT), 0, 0
    figures = {
        label: number for half in HALVES for label, number, _ in names.figures(half.with_suffix(".ipynb"))
    }
    for page in (rendered_book.parent / "site" / "content").glob("*.json"):
        for node in walk(json.loads(page.read_text(encoding="utf-8"))["mdast"]):
            if node["type"] == "cite":
                said = "".join(part.get("value", "") for child in node["children"] for part in walk(child))
                one = known[node["label"]]
                narrative = node.get("kind") == "narrative"
                assert said == (f"{one.who} ({one.year})" if narrative else f"{one.who}, {one.year}")
                cited += 1
            if node["type"] == "container" and node.get("identifier") in figures:
                assert figures.pop(node["identifier"]) == f"Figure {node['enumerator']}"
                counted += 1
    assert cited > 100 and counted > 50 and not figures


def test_every_term_that_a_chapter_links_is_explained():
    terms = lab.known(ROOT)["terms"]
    assert len(terms) > 50 and all(len(said) > 10 and "`" not in said for said in terms.values())


# ---- a real JupyterLab -----------------------------------------------------------------------------------------------


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """JupyterLab as `make lab` starts it, without a browser of its own; its address."""
    port = free_port()
    command = [sys.executable, "theme/lab.py", "--allow-root", "--no-browser", f"--ServerApp.port={port}"]
    command += ["--IdentityProvider.token=a-token", "--ServerApp.port_retries=0"]
    home = folder.parent / "home"  # no settings of the machine's user
    settings = {
        "HOME": str(home),
        "PYTHONPATH": str(folder),
        "OMP_NUM_THREADS": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    settings |= {"RESERVOIR_OFFLINE": "1", "RESERVOIR_RESULTS": str(folder.parent / "results")}
    with (folder.parent / "log").open("w+") as log:
        server = subprocess.Popen(command, cwd=folder, env=os.environ | settings, stdout=log, stderr=log)
        try:
            for _ in range(1200):  # five minutes: a busy machine first writes the pages of the reference
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token=a-token", timeout=1).close()
                    break
                except OSError:
                    assert server.poll() is None, (folder.parent / "log").read_text()
                    server_wait(server)
            else:
                pytest.fail("JupyterLab did not start: " + (folder.parent / "log").read_text())
            yield f"http://127.0.0.1:{port}/?token=a-token"
        finally:
            server.terminate()
            server.wait(30)


def server_wait(server: subprocess.Popen) -> None:
    try:
        server.wait(0.25)
    except subprocess.TimeoutExpired:
        pass  # it is still starting, as it should be


def tab(page: Page, name: str):
    return page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text=name)


def close(page: Page, name: str) -> None:
    tab(page, name).locator(".lm-TabBar-tabCloseIcon").click()
    expect(tab(page, name)).to_have_count(0)  # and no question about saving


@pytest.mark.browser
def test_looking_at_pages_leaves_git_clean(tmp_path, chromium):
    folder = copy_of_the_repository(tmp_path / "book")
    with started(folder) as address, sync_playwright() as playwright:
        browser, page = opened_at(address, playwright, chromium)
        complaints = []
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        assert (folder / "reference" / "api" / "library.md").exists()
        # The landing page is in front, with its table.
        expect(tab(page, "index.ipynb")).to_have_class(re.compile("lm-mod-current"))
        expect(page.locator(".jp-Notebook .ex").first).to_be_visible()
        # A link leads to a chapter, and a chapter to a page of the reference.
        page.locator('.jp-Notebook .myst a[href*="03-transformer"]').first.click()
        expect(tab(page, "03-transformer.ipynb")).to_be_visible()
        chapter = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(chapter.locator(".book-name", has_text="Vaswani et al. (2017)").first).to_be_visible()
        expect(chapter.locator(".jp-mod-dirty, [title$='Not Found']:not([hidden])")).to_have_count(0)
        expect(chapter.locator(".book-caption").nth(3)).to_be_attached()  # all cells are there
        expect(
            chapter.locator(".myst .hover-link", has_text="(3.1)").first
        ).to_be_attached()  # as in the book
        # A term carries its explanation, which the renderer shows on hovering, and leads to the glossary.
        term = chapter.locator(".myst abbr").first
        expect(term).to_have_attribute("aria-label", lab.known(folder)["terms"][term.text_content()])
        term.dispatch_event("click")  # where it is, even as it moves
        expect(page.locator(".jp-MarkdownViewer", has_text="Where a weight comes from")).to_be_visible()
        # A link leads to a section far below, and the renderer misses nothing on the way.
        tab(page, "index.ipynb").click()
        page.locator('.jp-Notebook .myst a[href*="02-echo-states"]').first.click()
        chapter = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(chapter.locator('.myst a[href="#sec-layer"]').first).to_be_attached()
        assert not [said for said in complaints if "internal reference" in said or "Cross reference" in said]
        # The playground trains from what its notebook stores, before any cell has run.
        tab(page, "index.ipynb").click()
        page.locator('.jp-Notebook .myst a[href*="P-playground"]').first.click()
        playground = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .ex", has=page.locator(".pg-net"))
        train = playground.get_by_role("button", name="Train", exact=True)
        train.scroll_into_view_if_needed()
        train.click()
        expect(playground.locator(".ex-words")).to_contain_text(re.compile(r"Step [1-9]\d* of 1500"))
        playground.get_by_role("button", name="Pause", exact=True).click()
        for name in (
            "glossary.md",
            "P-playground.ipynb",
            "02-echo-states.ipynb",
            "03-transformer.ipynb",
            "index.ipynb",
        ):
            close(page, name)
        assert git(folder, "status", "--porcelain") == ""
        browser.close()


@pytest.mark.browser
def test_a_chapter_is_run_watched_saved_and_closed(tmp_path, chromium):
    folder = copy_of_the_repository(tmp_path / "book")
    (folder / lab.MADE).touch()  # the pages of the reference are not looked at here
    # All else may come out the same: the time that the page took is one that no run takes.
    text, n = re.subn(r"took \d+ s of", "took 0 s of", (folder / CHAPTER).read_text(encoding="utf-8"))
    assert n == 1
    (folder / CHAPTER).write_text(text, encoding="utf-8")
    git(
        folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--all", "--message", "time"
    )
    before = nbformat.read(folder / CHAPTER, as_version=4)
    with started(folder) as address, sync_playwright() as playwright:
        browser, page = opened_at(address.replace("/?", f"/lab/tree/{CHAPTER}?"), playwright, chromium)
        cell = page.locator(".jp-CodeCell", has=page.locator(".book-caption", has_text="BLEU rises late"))
        cell.scroll_into_view_if_needed()
        page.locator(".lm-MenuBar-item", has_text="Run").click()
        page.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
        # The curve is drawn anew while the cell runs, with the time left above it, and ends as a figure of plotly's.
        seen, picture = set(), cell.locator(".jp-RenderedSVG img")
        expect(cell.get_by_text(re.compile(r"step \d+ of \d+, loss .* left"))).to_be_visible(timeout=300_000)
        while len(seen) < 4:
            expect(picture).to_be_visible()
            seen.add(picture.get_attribute("src"))
            page.wait_for_timeout(500)
        expect(cell.get_by_text(re.compile(r"^\d+ steps in \d+ (s|min)"))).to_be_visible(timeout=300_000)
        expect(cell.locator(".js-plotly-plot")).to_be_visible()
        expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(
            timeout=300_000
        )
        explorable = page.locator(".jp-Notebook .ex")
        explorable.scroll_into_view_if_needed()
        said = explorable.locator(".ex-words").inner_text()
        explorable.locator("input[type=text]").fill("Der Hund schläft.")
        expect(explorable.locator(".ex-words")).not_to_have_text(said)
        page.locator(".lm-MenuBar-item", has_text="File").click()
        page.locator('.lm-Menu-item[data-command="docmanager:save"]').click()
        expect(page.locator(".lm-DockPanel-tabBar .jp-mod-dirty")).to_have_count(0)
        close(page, "03-transformer.ipynb")
        browser.close()
    assert git(folder, "status", "--porcelain") == f"M {CHAPTER}"
    after = nbformat.read(folder / CHAPTER, as_version=4)
    assert lab.sources(before) == lab.sources(after) and before.metadata == after.metadata
    outputs = [[cell.get("outputs", []) for cell in half.cells] for half in (before, after)]
    assert outputs[0] != outputs[1]
    for old, new in zip(
        *outputs, strict=True
    ):  # what is the same is written as it was, and no line of progress is kept
        assert old != new or json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
        assert not any(one.get("metadata", {}).get("passing") for one in new)


@pytest.mark.browser
def test_answers_open_when_they_are_asked_for_and_bars_say_what_they_hold(tmp_path, chromium):
    folder = copy_of_the_repository(tmp_path / "book")
    (folder / lab.MADE).touch()
    chapter = "chapters/05-reservoir-layers.ipynb"
    with started(folder) as address, sync_playwright() as playwright:
        complaints = []
        browser, page = opened_at(address.replace("/?", f"/lab/tree/{chapter}?"), playwright, chromium)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        asked = page.locator(".jp-MarkdownCell", has_text="How many does this stack answer?").first
        asked.scroll_into_view_if_needed()
        answer = page.locator("details", has_text="As many as the one layer alone").first
        result = page.locator(".jp-CodeCell", has_text="Figure: brackets that are named right").first
        expect(answer.locator("summary").first).to_have_text(lab_answer())
        expect(answer.get_by_text("With a whole random layer on top, attention included")).to_be_hidden()
        expect(result.locator(".js-plotly-plot, .jp-RenderedPlotly")).to_have_count(0)
        expect(result.locator(".book-caption")).to_be_hidden()
        expect(result.locator(".jp-InputPlaceholder")).to_contain_text("Figure: brackets that are named")
        for _ in range(60):  # a text that is shown anew while the notebook loads is folded again
            if answer.get_by_text("With a whole random layer on top, attention included").is_visible():
                break
            answer.locator("summary").first.click()
            page.wait_for_timeout(1000)
        expect(answer.get_by_text("With a whole random layer on top, attention included")).to_be_visible()
        expect(result.locator(".js-plotly-plot")).to_be_visible()
        expect(result.locator(".book-caption")).to_be_visible()
        # JupyterLab's own layout of lists in outputs does not scramble an explorable's.
        sums = page.locator(".ls-sums")
        sums.scroll_into_view_if_needed()
        places = sums.evaluate("list => [...list.children].map(one => one.getBoundingClientRect().top)")
        rows = [round(place) for place in places]
        assert len(rows) == 8 and rows[::2] == rows[1::2] == sorted(rows[::2]), rows
        assert not [one for one in complaints if "Cross reference target was not found" in one]
        browser.close()
    assert git(folder, "status", "--porcelain") == ""


def lab_answer() -> str:
    return re.search(r"const ANSWER = '(.*)';", (ROOT / "theme" / "lab.js").read_text(encoding="utf-8"))[1]


def test_the_page_the_twin_and_lab_ask_in_the_same_words():
    theme = (ROOT / "theme" / "src" / "predictions.mjs").read_text(encoding="utf-8")
    assert prose.ANSWER == lab_answer() and f"'{prose.ANSWER}'" in theme


@pytest.mark.browser
def test_a_control_trains_stays_in_view_and_stops(tmp_path, chromium):
    folder = copy_of_the_repository(tmp_path / "book")
    (folder / lab.MADE).touch()
    trial = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CELL)], metadata={"kernelspec": lab.KERNEL}
    )
    nbformat.write(trial, folder / "try.ipynb")
    with started(folder) as address, sync_playwright() as playwright:
        browser, page = opened_at(address.replace("/?", "/lab/tree/try.ipynb?"), playwright, chromium)
        # Before its kernel is there, running a cell would ask which one to take.
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=120_000)
        page.locator(".jp-CodeCell .cm-content").click()
        page.keyboard.press("Shift+Enter")
        output = page.locator(".jp-OutputArea-output")
        train, stop = (output.get_by_role("button", name=name, exact=True) for name in ("Train", "Stop"))
        expect(train).to_be_enabled(timeout=120_000)
        picture = output.locator("svg[role=img]")
        still = picture.inner_html()
        assert "3 recorded seeds" in still
        train.click()
        expect(output.get_by_text(re.compile(r"step \d+ of 500, loss .* left"))).to_be_visible(
            timeout=120_000
        )
        expect(picture).to_contain_text("trained, seed 0", timeout=120_000)
        moved = picture.inner_html()
        assert moved != still
        stop.click()
        expect(output.get_by_text("trained, seed 0: stopped.")).to_be_visible(timeout=60_000)
        output.locator("select").select_option("attention")
        train.click()
        expect(picture).to_contain_text("attention, seed 0", timeout=120_000)
        expect(picture).to_contain_text("trained, seed 0")
        stop.click()
        expect(train).to_be_enabled(timeout=60_000)
        browser.close()


def opened_at(address: str, playwright, chromium: str):
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    page.goto(address)
    return browser, page
