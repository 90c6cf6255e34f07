"""The printed book: page numbers that its contents name rightly, links that stay inside, figures that are drawn."""

import json
import re
import sys

import pytest
from playwright.sync_api import sync_playwright
from test_book import THEME

sys.path.insert(0, str(THEME))
import pdf


@pytest.fixture(scope="module")
def book(chromium, fixture_site, tmp_path_factory):
    from pypdf import PdfReader

    folder = tmp_path_factory.mktemp("pdf")
    pdf.print_book(fixture_site, folder / "book.pdf", chromium=chromium, say=lambda line: None)
    return PdfReader(folder / "book.pdf")


@pytest.mark.browser
def test_the_printed_book_begins_with_a_title_page_and_contents(book):
    assert book.pages[0].extract_text().split("\n")[0] == "A Book of Every Element"
    assert "Contents" in book.pages[1].extract_text()
    assert book.metadata.title == "A Book of Every Element" and book.outline


@pytest.mark.browser
def test_every_page_but_the_first_has_its_number(book):
    assert not book.pages[0].extract_text().strip().endswith("1")
    for number, page in enumerate(book.pages[1:], 2):
        assert str(number) in page.extract_text().split("\n"), number


@pytest.mark.browser
@pytest.mark.parametrize("title", ["The elements", "The outputs", "The last page"])
def test_the_contents_name_the_page_on_which_each_chapter_begins(book, title):
    (line,) = [line for line in book.pages[1].extract_text().split("\n") if line.startswith(title + " ")]
    assert title in book.pages[int(line.split()[-1]) - 1].extract_text()


@pytest.mark.browser
def test_links_between_pages_lead_to_places_in_the_document(book):
    inside, outside = [], []
    for page in book.pages:
        for annotation in page.annotations or []:
            annotation = annotation.get_object()
            action = annotation.get("/A", {})
            (outside if "/URI" in action else inside).append(action.get("/URI") or annotation.get("/Dest"))
    assert len(inside) > 20 and all(name in book.named_destinations for name in inside)
    assert not [address for address in outside if "127.0.0.1" in address]


@pytest.mark.browser
def test_figures_are_printed_and_what_is_folded_stays_on_the_page_which_is_said(book):
    text = "\n".join(page.extract_text() for page in book.pages)
    for words in ("A line through 20 points", "Many cores", "An explorable: drag"):
        assert words in text
    assert "Because the variance" not in text
    said = " ".join(re.findall(r"Not printed here: ([^.]*)\.", " ".join(text.split())))
    assert "solutions" in said and "folded code" in said


@pytest.fixture(scope="module")
def take(chromium):
    """What print.js makes of a page with this article, in words; the book is published at an address."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        base = "http://a-book.example/"
        page.route("**/*", lambda route: route.fulfill(body=page.article, content_type="text/html"))

        def taken(article: str, printed=("one",)) -> str:
            page.article = f"<html><body><article>{article}</article></body></html>"
            page.goto(f"{base}one/")
            script = (THEME / "print.js").read_text(encoding="utf-8")
            return page.evaluate(script, [base, printed, "https://me.github.io/a-book/"])["html"]

        yield taken
        browser.close()


@pytest.mark.browser
def test_the_rest_of_a_long_table_or_listing_is_counted(take):
    rows = "".join(f"<tr><td>row-{number}</td></tr>" for number in range(50))
    lines = "\n".join(f"line-{number}" for number in range(50))
    html = take(f"<table>{rows}</table><div class=code><pre><b>{lines}</b></pre></div>")
    assert "row-15<" in html and "row-16<" not in html and "34 more rows on the page." in html
    assert "line-23" in html and "line-24" not in html and "26 more lines on the page." in html
    assert "the rest of long tables and listings" in html and "https://me.github.io/a-book/one/" in html


@pytest.mark.browser
def test_a_short_table_is_whole_and_nothing_is_said(take):
    html = take("<table>" + "<tr><td>a</td></tr>" * 18 + "</table><p>Words.</p>")
    assert html.count("<tr>") == 18 and "Not printed" not in html


@pytest.mark.browser
def test_a_question_stays_its_answer_goes_and_a_result_that_follows_a_prediction_is_printed(take):
    html = take(
        '<details class="box dropdown" id="q"><summary>Why?</summary><p>Because.</p></details>'
        '<details class="folded result"><summary>Show</summary><p>It was 5.</p></details>'
        '<a href="../library/">the library</a>'
    )
    assert (
        "Why?" in html
        and "Because" not in html
        and "It was 5." in html
        and "answers to the questions" in html
    )
    assert 'href="https://me.github.io/a-book/library/"' in html, "what is not printed is linked on the web"


@pytest.mark.browser
def test_references_are_printed_once_and_neither_setup_nor_clock(take):
    listed = '<section class="references"><h2>References</h2><ul><li id="ref-a">A.</li></ul></section>'
    cited = f'<p><a class="citation" href="#ref-a">A</a></p>{listed}'
    assert 'id="one--ref-a"' in take(cited)
    html = take(cited, ("one", "bibliography"))
    assert "References" not in html and 'href="#bibliography--ref-a"' in html
    said = (
        "reservoir 0.1.0. Training runs on the CPU",
        "The cells of this page took 4 s of processor time.",
        "Seen",
    )
    html = take(
        "".join(f'<div class="cell"><div class="output-text"><pre>{one}</pre></div></div>' for one in said)
    )
    assert "Seen" in html and "reservoir" not in html and "took" not in html


def test_what_is_looked_up_stays_on_the_web(tmp_path):
    levels = [("intro", 1), ("library", 1), ("layers", 2), ("layers-one", 3), ("last", 1)]
    pages = [{"slug": slug, "title": slug, "level": level} for slug, level in levels]
    (tmp_path / "config.json").write_text(json.dumps({"projects": [{"pages": pages}]}))
    assert [slug for slug, _ in pdf.order(tmp_path)] == ["", "intro", "last"]


def test_a_folder_without_a_book_is_refused(tmp_path):
    with pytest.raises(pdf.PrintError, match="make book"):
        pdf.print_book(tmp_path, tmp_path / "book.pdf")


def test_a_missing_chromium_gets_a_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(pdf.PrintError, match="CHROMIUM"):
        pdf.find_chromium()


@pytest.mark.parametrize(("pages", "status"), [(240, 0), (241, 1)])
def test_a_book_that_is_too_long_fails_and_says_so(pages, status, tmp_path, monkeypatch, capsys):
    to = tmp_path / "book.pdf"
    monkeypatch.setattr(pdf, "print_book", lambda *where, **how: (to.write_bytes(b"%PDF"), pages)[1])
    monkeypatch.setattr(sys, "argv", ["pdf.py", "--to", str(to)])
    assert pdf.main() == status and ("fold some code" in capsys.readouterr().err) == bool(status)
