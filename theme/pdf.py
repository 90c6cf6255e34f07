"""Print the rendered book as one PDF: `python theme/pdf.py` writes `_build/book.pdf`.

Chromium lays it out. Each page of the site is opened, its figures are drawn, and its article is taken out as static
HTML (print.js), without what is folded there; all of them become one document with a title page and contents. That is
printed twice: the first print says on which page each section begins, and the second has those numbers in its contents.
"""

import argparse
import html
import json
import sys
import threading
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import publish
import serve
from chromium import on_path

THEME = Path(__file__).resolve().parent
MOST_PAGES, MOST_BYTES = 240, 25_000_000  # that one would hold in the hand, and send
# What is looked up, long tables of figures, and what has to be pressed.
ON_THE_WEB = {"library", "schema", "exercises", "a2-tables", "a3-benchmarks", "p-playground", "sources"}


# A link to what is not printed is none, and a table that is wider than the text is made smaller.
FIT = """() => {
  document.querySelectorAll('a[href^="#"]').forEach((link) => {
    if (!document.getElementById(decodeURIComponent(link.hash.slice(1)))) link.removeAttribute('href');
  });
  document.querySelectorAll('table').forEach((table) => {
    const room = table.closest('.chapter article').clientWidth / table.scrollWidth;
    if (room < 1) table.style.zoom = Math.max(room, 0.55);
  });
}"""
WIDTH = 627  # of the text on paper, in a page's pixels


class PrintError(Exception):
    """The PDF was not made; the message says why and what to do."""


@dataclass(frozen=True)
class Entry:
    """A line of the contents: a part (without a target), a chapter (level 1) or a section (level 2)."""

    title: str
    target: str = ""
    level: int = 0


def order(site: Path) -> list[tuple[str, str]]:
    """(slug, title) of each page to print in reading order, and ('', title) for the title of a part.

    What is looked up rather than read stays on the web: the pages named in `ON_THE_WEB`, and those below them.
    """
    (project,) = json.loads((site / "config.json").read_text(encoding="utf-8"))["projects"]
    out, above = [("", "")], 0
    for page in project["pages"]:
        if above and page["level"] > above:
            continue
        above = page["level"] if page.get("slug") in ON_THE_WEB else 0
        if not above:
            out.append((page.get("slug", ""), page["title"]))
    return out


def contents(entries: list[Entry], pages: dict[str, int]) -> str:
    """The contents as HTML, with the page numbers that are known."""
    lines = []
    for entry in entries:
        title = html.escape(entry.title)
        if entry.target:
            number = pages.get(entry.target, 0)
            title = f'<a href="#{entry.target}" data-page="{number or "000"}"><span>{title}</span></a>'
        lines.append(f'<li class="{f"level-{entry.level}" if entry.level else "part"}">{title}</li>')
    return f'<nav class="contents" aria-label="Contents"><h1>Contents</h1><ol>{"".join(lines)}</ol></nav>'


def destinations(pdf: bytes) -> dict[str, int]:
    """The number of the page, counted from 1, on which each named target lies."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(pdf))
    return {name.lstrip("/"): reader.get_destination_page_number(target) + 1
            for name, target in reader.named_destinations.items()}  # fmt: skip


def find_chromium() -> str:
    """The path of a chromium: CHROMIUM, or one on the PATH."""
    if found := on_path():
        return found
    raise PrintError(
        "no chromium was found: install one (Debian: apt-get install chromium) or name it in CHROMIUM"
    )


def print_book(site: Path, to: Path, *, address: str = "", chromium: str | None = None, say=print) -> int:
    """Print the site that lies in `site` to the file `to`, and return the number of pages.

    Args:
        site: the rendered book.
        to: the file.
        address: where the book is published, for what is not printed; '' for nowhere.
        chromium: its path; by default the one that is found.
        say: told of each page.

    Raises:
        PrintError: there is no site or no chromium.
    """
    from playwright.sync_api import sync_playwright

    if not (site / "config.json").exists():
        raise PrintError(f"{site} holds no book yet: 'make book' renders it")
    config = json.loads((site / "config.json").read_text(encoding="utf-8"))
    title, description = config.get("title", ""), config["projects"][0].get("description", "")
    server = serve.server(site, port=0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    take = (THEME / "print.js").read_text(encoding="utf-8")
    style = (THEME / "print.css").read_text(encoding="utf-8")
    entries, chapters = [], []
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium or find_chromium(), args=["--no-sandbox"]
            )
            # As wide as the text on paper, so that figures are drawn for it.
            page = browser.new_page(
                viewport={"width": 760, "height": 1000}, color_scheme="light", reduced_motion="reduce"
            )
            page.route(
                "**/explorables.js", lambda route: route.abort()
            )  # their still picture is what is printed
            pages_to_print = order(site)
            printed_names = [
                slug.replace(".", "/") or "start" for slug, name in pages_to_print if slug or not name
            ]
            part = ""  # whose title waits for its first page: all may stay on the web
            for slug, name in pages_to_print:
                if not slug and name:
                    part = name
                    continue
                page.goto(base + (f"{slug.replace('.', '/')}/" if slug else ""), wait_until="load")
                taken = page.evaluate(take, [base, printed_names, address])
                heading = page.locator("article h1").inner_text()
                kicker = page.locator("article .kicker")
                number = f"{kicker.inner_text().split()[-1]}. " if kicker.count() else ""
                entries += [Entry(part)] * bool(part)
                part = ""
                entries.append(Entry(number + heading, taken["name"], 1))
                entries += [Entry(s["title"], s["id"], 2) for s in taken["sections"]] if number else []
                chapters.append(f'<section class="chapter" id="{taken["name"]}">{taken["html"]}</section>')
                say(f"{number}{heading}")

            def printed(pages: dict[str, int]) -> bytes:
                document = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="vendor/fonts.css"><link rel="stylesheet" href="vendor/katex/katex.css">
<link rel="stylesheet" href="book.css"><style>{style}</style></head><body><main>
<div class="title-page"><h1>{html.escape(title)}</h1><p>{html.escape(description)}</p></div>
{contents(entries, pages)}{"".join(chapters)}</main></body></html>"""
                page.route(
                    "**/book.pdf.html", lambda route: route.fulfill(body=document, content_type="text/html")
                )
                page.emulate_media(media="print", color_scheme="light", reduced_motion="reduce")
                page.set_viewport_size({"width": WIDTH, "height": 1000})
                page.goto(f"{base}book.pdf.html", wait_until="load")
                page.evaluate(
                    "Promise.all([document.fonts.ready, ...[...document.images].map(image => image.decode())])"
                )
                page.evaluate(FIT)
                return page.pdf(prefer_css_page_size=True, print_background=True, outline=True, tagged=True)

            first = destinations(printed({}))
            pdf = printed(first)
            second = destinations(pdf)
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    if any(entry.target and first.get(entry.target, 0) != second.get(entry.target) for entry in entries):
        raise PrintError("the contents moved the text between two prints; their numbers would be wrong")
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(pdf)
    from pypdf import PdfReader

    return len(PdfReader(BytesIO(pdf)).pages)


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the rendered book as one PDF.")
    parser.add_argument(
        "site",
        nargs="?",
        type=Path,
        default=Path("_build/html"),
        help="the rendered book (default: _build/html)",
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("_build/book.pdf"),
        help="the file to write (default: _build/book.pdf)",
    )
    arguments = parser.parse_args()
    try:
        address = publish.read(Path.cwd()).address
        pages = print_book(arguments.site, arguments.to, address=address)
    except PrintError as error:
        print(f"The book was not printed: {error}.", file=sys.stderr)
        return 1
    size = arguments.to.stat().st_size
    print(f"{pages} pages in {arguments.to} ({size / 1e6:.1f} MB)")
    if pages > MOST_PAGES or size > MOST_BYTES:
        print(
            f"That is more than {MOST_PAGES} pages or {MOST_BYTES / 1e6:.0f} MB: fold some code.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
