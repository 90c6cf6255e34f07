"""A page for each source: what was done, on what, how often; what it leaves out; its claims and what our records say.

The words are those of `reference/sources.toml`, the verdicts those of the ledger on the day of the build.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

from reservoir_book import evidence
from reservoir_lab.evidence import claims, sources

FRONT = "---\ntitle: {title}\nnumbering:\n  headings: false\n---\n\n"
CLAIMS = {"frozen-pretrained": ("frozen-pretrained", "lu"), "cross-modal": ("cross-modal", "rothermel")}
"""Source -> prefixes of the names of its claims, where they are not the source's own name alone."""
SECTION = {"reservoirs": "a-reservoirs", "poster": "a-poster", "one-layer": "a-one-layer"}
ELSEWHERE = "a-frozen-attention"
ABOUT = {
    "did": "What they did",
    "data": "Data",
    "hardware": "Hardware",
    "runs": "Runs",
    "missing": "What it leaves out",
    "read": "How we read it",
}
"""What a source's page says of it, and the heading of each part."""
CHAPTERS = Path(__file__).parent.parent / "chapters"
LEDGER = "../../chapters/A1-claims.ipynb"


@functools.cache
def written() -> dict[str, dict[str, str]]:
    """Source -> what its page says of it."""
    return tomllib.loads((Path(__file__).parent / "sources.toml").read_text(encoding="utf-8"))


def verdicts(name: str) -> list[claims.Verdict]:
    """The verdicts on a source's claims, decided ones first."""
    prefixes, begins = CLAIMS.get(name, (name,)), _named(name)
    entries = claims.entries()
    its = [
        one for one in entries if one.partition("/")[0] in prefixes or entries[one].where.startswith(begins)
    ]
    found = [claims.verdict(one) for one in its]
    return sorted(found, key=lambda one: evidence.OUTCOMES.index(one.outcome))


def _named(name: str) -> tuple[str, str]:
    """How a claim's place begins where it names its source."""
    return f"{name}, ", f"{sources.source(name).title}, "


def told_in(name: str) -> list[str]:
    """The chapters that link to a source's page, as links back; appendices are left out."""
    found = []
    for path in sorted(CHAPTERS.glob("[0-9]*.md")):
        text = path.read_text(encoding="utf-8")
        if f"reference/sources/{name}.md" in text:
            title = next(line for line in text.splitlines() if line.startswith("# "))[2:]
            found.append(f"[{int(path.name[:2])} {title}](../../chapters/{path.stem}.ipynb)")
    return found


def place(entry: claims.Entry, name: str) -> str:
    """Where in the source a claim stands."""
    for begin in _named(name):
        if entry.where.startswith(begin):
            return entry.where.removeprefix(begin)
    return entry.where


def plain(text: str) -> str:
    """Text for a cell of a Markdown table, with nothing special in it."""
    for character in "\\*_[]<>$@~{}`":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def _counted(found: list[claims.Verdict]) -> str:
    """How many claims there are, and how many of them runs decide and arithmetic does."""
    if not found:
        return ""
    by_runs, by_arithmetic = (
        sum(one.decided and one.of_runs == runs for one in found) for runs in (True, False)
    )
    return f"{len(found)} claims: {by_runs} decided by our runs, {by_arithmetic} by arithmetic."


def page(name: str) -> str:
    """The page of a source as MyST Markdown.

    Raises:
        ValueError: its file does not say what the page has to.
    """
    one = sources.source(name)
    about = written().get(name, {})
    if missing := ABOUT.keys() - about.keys():
        raise ValueError(f"reference/sources.toml: [{name}] lacks {', '.join(sorted(missing))}")
    found = verdicts(name)
    cited = f" {{cite:p}}`{one.citation}`" if one.citation else ""
    out = [
        FRONT.format(title=f'"{one.title}"'),
        f"Authors\n: {one.authors}{f', {one.year}' if one.year else ''}{cited}\n",
    ]
    for key, heading in ABOUT.items():
        out.append(f"{heading}\n: {plain(about[key])}\n")
    if chapters := told_in(name):
        out.append(f"Where the book tells it\n: {'; '.join(chapters)}\n")
    anchor = SECTION.get(evidence.section(f"{name}/x"), ELSEWHERE)
    if found:
        out.append(
            f"## What our runs say\n\n{_counted(found)} Rules, records"
            f" and scales are in the [ledger]({LEDGER}#{anchor}); where it prints tables, they are next to ours in"
            " [appendix A2](../../chapters/A2-tables.ipynb).\n"
        )
        out.append(
            f":::{{list-table}} Its claims, decided ones first.\n:name: tab-source-{name}\n:header-rows: 1\n"
        )
        rows = [("Claim", "Where", "Here", "What was seen")]
        rows += [
            tuple(map(plain, (one.entry.says, place(one.entry, name), one.shown, one.seen))) for one in found
        ]
        out += ["* - " + "\n  - ".join(row) for row in rows]
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
        counted = _counted(verdicts(name)) or "A table, and no claims of its own."
        lines.append(f"- [{one.title}]({name}.md). {counted}")
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write the overview and a page for each source."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sources.md").write_text(overview(), encoding="utf-8")
    for name in sources.names():
        (folder / f"{name}.md").write_text(page(name), encoding="utf-8")
