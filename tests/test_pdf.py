"""The printed book: page numbers that its contents name rightly, links that stay inside, figures that are drawn."""

import sys

import pytest
from test_book import THEME, copy_of_the_fixture

sys.path.insert(0, str(THEME))
import build
import pdf


@pytest.fixture(scope="module")
def book(chromium, tmp_path_factory):
    from pypdf import PdfReader

    folder = tmp_path_factory.mktemp("pdf")
    site = build.build(copy_of_the_fixture(folder / "source"), say=lambda line: None)
    pdf.print_book(site, folder / "book.pdf", chromium=chromium, say=lambda line: None)
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
def test_figures_and_folded_text_are_printed(book):
    text = "\n".join(page.extract_text() for page in book.pages)
    for words in (
        "A line through 20 points",
        "A line through 4000 points",
        "Because the variance",
        "Many cores",
        "An explorable: drag",
    ):
        assert words in text


def test_a_folder_without_a_book_is_refused(tmp_path):
    with pytest.raises(pdf.PrintError, match="make book"):
        pdf.print_book(tmp_path, tmp_path / "book.pdf")


def test_a_missing_chromium_gets_a_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(pdf.PrintError, match="CHROMIUM"):
        pdf.find_chromium()
