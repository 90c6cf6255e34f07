"""A page for each source: what was done, on what, how often; what it leaves out; its claims and what our runs say.

The words are those of `reference/sources.toml`, the answers those of the bench on the day of the build.
"""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

from reservoir_book import rows
from reservoir_lab.evidence import asked, sources
from reservoir_lab.evidence.cells import Claim

FRONT = "---\ntitle: {title}\nnumbering:\n  headings: false\n---\n\n"
ABOUT = {
    "did": "What they did",
    "data": "Data",
    "hardware": "Hardware",
    "runs": "Runs",
    "missing": "What it leaves out",
    "read": "How we read it",
}
"""What a source's page says of it, and the heading of each part."""
SPECIAL = re.compile(r"\$(\S[^$]*)\$|(\\[a-z]+\{\w+\}(?:_\w)?)|([\\*_\[\]<>$@~{}`])")
"""A formula, a formula that a quotation has without its signs, or a character that Markdown reads."""
CHAPTERS = Path(__file__).parent.parent / "chapters"
MANY = {"holds": "hold", "does not hold": "do not hold"}
CLAIMS = "../../chapters/A1-claims.ipynb"


@functools.cache
def written() -> dict[str, dict[str, str]]:
    """Source -> what its page says of it."""
    return tomllib.loads((Path(__file__).parent / "sources.toml").read_text(encoding="utf-8"))


def told(claim: Claim, found: rows.Claims) -> str:
    """What the runs say to a claim, and on which tasks; what it would take where the bench is not asked."""
    if claim.needs:
        return (
            f"not asked; it would take {claim.needs}" if not claim.needs.startswith("no run") else claim.needs
        )
    on = {word: [cell.task for cell in found.saying(word) if cell.claim == claim] for word in rows.SAYS}
    return "; ".join(f"{word}: {', '.join(tasks)}" for word, tasks in on.items() if tasks)


def told_in(name: str) -> list[str]:
    """The chapters that link to a source's page, as links back; appendices are left out."""
    found = []
    for path in sorted(CHAPTERS.glob("[0-9]*.md")):
        text = path.read_text(encoding="utf-8")
        if f"reference/sources/{name}.md" in text:
            title = next(line for line in text.splitlines() if line.startswith("# "))[2:]
            found.append(f"[{int(path.name[:2])} {title}](../../chapters/{path.stem}.ipynb)")
    return found


def place(claim: Claim, name: str) -> str:
    """Where in the source a claim stands."""
    where = rows.place(claim)
    for begin in (f"{name}, ", f"{sources.source(name).title}, "):
        where = where.removeprefix(begin)
    return where


def plain(text: str) -> str:
    """Text for a cell of a Markdown table, with nothing special in it but formulas, with or without their signs."""
    return SPECIAL.sub(
        lambda found: f"\\{found[3]}" if found[3] else f"${found[1] or found[2]}$", " ".join(text.split())
    )


def counted(name: str) -> str:
    """How many claims there are, and what the bench says of those that it is asked."""
    found = rows.Claims.of(name).counts()
    n, few = len(asked.SOURCES[name]), found.pop("claims")
    on = ", ".join(
        f"{count} {word if count == 1 else MANY.get(word, word)}" for word, count in found.items() if count
    )
    return f"{n} claims, of which the bench is asked {few}" + (f"; by task: {on}." if on else ".")


def page(name: str) -> str:
    """The page of a source as MyST Markdown.

    Raises:
        ValueError: its file does not say what the page has to.
    """
    one = sources.source(name)
    about = written().get(name, {})
    if missing := ABOUT.keys() - about.keys():
        raise ValueError(f"reference/sources.toml: [{name}] lacks {', '.join(sorted(missing))}")
    cited = f" {{cite:p}}`{one.citation}`" if one.citation else ""
    out = [
        FRONT.format(title=f'"{one.title}"'),
        f"Authors\n: {one.authors}{f', {one.year}' if one.year else ''}{cited}\n",
    ]
    for key, heading in ABOUT.items():
        out.append(f"{heading}\n: {plain(about[key])}\n")
    if chapters := told_in(name):
        out.append(f"Where the book tells it\n: {'; '.join(chapters)}\n")
    section = next(title for title, names in rows.SECTIONS.items() if name in names)
    out.append(
        f"## What our runs say\n\n{counted(name)} Figures and the reasons for margins are in"
        f" [appendix A1]({CLAIMS}#a-{section}); where it prints tables, they are next to ours in"
        " [appendix A2](../../chapters/A2-tables.ipynb).\n"
    )
    out.append(f":::{{list-table}} Its claims.\n:name: tab-source-{name}\n:header-rows: 1\n")
    found = rows.Claims.of(name)
    lines = [("Claim", "Where", "On the bench")]
    lines += [
        (plain(rows.words(one)), plain(place(one, name)), plain(told(one, found)))
        for one in asked.SOURCES[name]
    ]
    out += ["* - " + "\n  - ".join(line) for line in lines]
    out.append(":::\n")
    return "\n".join(out)


def overview() -> str:
    """The page that lists the sources."""
    lines = [
        FRONT.format(title="Sources"),
        "What the book is compared with, in the order in which it takes them.\n",
    ]
    for name in sources.names():
        one = sources.source(name)
        lines.append(f"- [{one.title}]({name}.md){'' if one.title.endswith('?') else '.'} {counted(name)}")
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write the overview and a page for each source."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sources.md").write_text(overview(), encoding="utf-8")
    for name in sources.names():
        (folder / f"{name}.md").write_text(page(name), encoding="utf-8")
