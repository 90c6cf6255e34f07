"""What the book's references say, out of its sources: citations, numbers of figures, terms of the glossary.

mystmd finds them when it builds the book; JupyterLab's renderer sees one notebook at a time and finds none of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat

ENTRY = re.compile(r"^@\w+\{(?P<key>[^,\s]+),(?P<fields>.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?$", re.MULTILINE)
ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    '"': "\u0308",
    "~": "\u0303",
    "^": "\u0302",
    "v": "\u030c",
    "c": "\u0327",
}
GLOSSARY = re.compile(r"^```\{glossary\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^#\| (label|caption|enumerated): (.*)$", re.MULTILINE)


class Citation(NamedTuple):
    """A source as a sentence names it, its title, and where it can be had ('' if the entry does not say)."""

    who: str
    year: str
    title: str
    address: str


def plain(text: str) -> str:
    """BibTeX's text with its accents as letters and without its braces."""
    text = re.sub(
        r"\{?\\([^\w\s]|[vc](?=\W))\{?(\w)\}?\}?",
        lambda found: unicodedata.normalize("NFC", found[2] + ACCENTS[found[1]]),
        text,
    )
    return re.sub(r"\\([Ll])\b", lambda found: "Ł" if found[1] == "L" else "ł", text).translate(
        str.maketrans("", "", "{}")
    )


def citations(project: Path) -> dict[str, Citation]:
    """Each source of the bibliography under its key."""
    text = (project / "chapters" / "references.bib").read_text(encoding="utf-8")
    out = {}
    for entry in ENTRY.finditer(text):
        fields = dict(FIELD.findall(entry["fields"]))
        last = [plain(name).split(",")[0].strip() for name in re.split(r"\s+and\s+", fields["author"])]
        who = last[0] if len(last) == 1 else " & ".join(last) if len(last) == 2 else f"{last[0]} et al."
        address = f"https://doi.org/{fields['doi']}" if "doi" in fields else fields.get("url", "")
        out[entry["key"]] = Citation(who, fields["year"], plain(fields["title"]), address)
    return out


def terms(project: Path) -> dict[str, str]:
    """The first paragraph that the glossary says of each term."""
    text = (project / "reference" / "glossary.md").read_text(encoding="utf-8")
    out = {}
    for glossary in GLOSSARY.findall(text):
        for term, said in re.findall(r"^(\S[^\n]*)\n: (.*?)(?=\n\n|\Z)", glossary, re.MULTILINE | re.DOTALL):
            words = re.sub(r"\{[\w:]+\}`([^`<]+?)(?: <[^>]*>)?`", r"\1", " ".join(said.split()))
            out[term.strip()] = words.replace("*", "").replace("`", "")
    return out


def figures(notebook: Path) -> Iterator[tuple[str, str, str]]:
    """(label, number, caption) of each figure that a cell of a notebook draws."""
    book = nbformat.read(notebook, as_version=4)
    enumerator = book.metadata.get("numbering", {}).get("enumerator", "%s")
    count = 0
    for cell in book.cells:
        said = dict(OPTION.findall(cell.source)) if cell.cell_type == "code" else {}
        if "caption" in said and "label" in said:
            count += 1
            number = f"Figure {enumerator.replace('%s', str(count))}"
            yield said["label"], number, said["caption"].strip().strip('"')
