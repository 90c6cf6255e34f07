"""Crawl a built site without a browser: dead links and anchors, missing files, doubled ids, loads from elsewhere."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

# Attributes that a browser follows by itself; `href` of a link is followed by the reader, who may leave the site.
LOADED = {
    ("img", "src"),
    ("script", "src"),
    ("link", "href"),
    ("source", "src"),
    ("iframe", "src"),
    ("div", "data-figure"),
    ("script", "data-src"),
}


@dataclass
class Document(HTMLParser):
    """What one page names: its ids, the addresses it links to, the files it loads."""

    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if ("rel", "canonical") in attrs:
            return  # says where the page is published, and loads nothing
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif value and (tag, name) in LOADED and not value.startswith("data:"):
                self.loads.append(value)
            elif value and tag == "a" and name == "href":
                self.links.append(value)


def problems(site: Path, *, base: str = "") -> list[str]:
    """Everything wrong in the site that lies in `site`, one line each, naming the page; empty if all is well.

    `base` is the path below which a host serves it, like /book: addresses that start at the host's root start with it.
    """
    documents: dict[Path, Document] = {}
    for path in sorted(site.rglob("*.html")):
        documents[path] = Document()
        documents[path].feed(path.read_text(encoding="utf-8"))
    found = []
    for path, document in documents.items():
        page = path.relative_to(site)
        found += [f"{page}: the id {name!r} stands {document.ids.count(name)} times"
                  for name in dict.fromkeys(document.ids) if document.ids.count(name) > 1]  # fmt: skip
        for address in dict.fromkeys(document.loads + document.links):
            loaded = address in document.loads
            if urlsplit(address).scheme or address.startswith("//"):
                if loaded:
                    found.append(f"{page}: loads {address}, which lies elsewhere")
                continue
            target, anchor = resolve(site, path, address, base=base)
            if not target.is_file():
                found.append(f"{page}: {'loads' if loaded else 'links to'} {address}, which does not exist")
            elif anchor and target in documents and anchor not in documents[target].ids:
                found.append(f"{page}: links to {address}, but nothing there has that id")
    return found


def resolve(site: Path, page: Path, address: str, *, base: str = "") -> tuple[Path, str]:
    """The file that an address on `page` means, and the anchor in it ('' for none)."""
    plain, anchor = urldefrag(address)
    path = unquote(urlsplit(plain).path)
    if not path:
        return page, unquote(anchor)
    if path.startswith("/"):
        target = site / path.removeprefix(base).lstrip("/")
    else:
        target = page.parent / path
    target = target.resolve()
    return (target / "index.html" if path.endswith(("/", ".")) or target.is_dir() else target), unquote(
        anchor
    )
