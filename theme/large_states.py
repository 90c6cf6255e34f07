"""Keep large figures and large states of explorables in files of their own, so that a page is there before they are.

Scripts, not JSON: a page that was opened from disk may load scripts that lie next to it, but may fetch nothing.
"""

import hashlib
import os
import re
from pathlib import Path

LARGE = 30_000  # characters
STATE = re.compile(
    r'<script type="application/json" class="explorable-state" data-model="(?P<model>[^"]*)">(?P<json>.*?)</script>',
    re.DOTALL,
)
FIGURE = re.compile(
    r'(?P<start><div class="plotly-figure"[^>]*)><script type="application/json">(?P<json>.*?)</script>',
    re.DOTALL,
)


def move_large_states(site: Path) -> list[Path]:
    """Move what is large, figures and explorables' states, out of the pages of `site`; return the files written."""
    written: set[Path] = set()  # a figure that another page previews is one file

    def write(name: str, content: str) -> Path:
        file = site / "build" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, encoding="utf-8")
        written.add(file)
        return file

    def state(found: re.Match, page: Path) -> str:
        if len(found["json"]) < LARGE:
            return found[0]
        model = found["model"]
        content = f'bookExplorable("{model}", {found["json"]});\n'
        file = write(f"explorable-{digest(content)}.js", content)
        return (
            f'<script type="application/json" class="explorable-state" data-model="{model}" '
            f'data-src="{address(file, page)}"></script>'
        )

    def figure(found: re.Match, page: Path) -> str:
        if len(found["json"]) < LARGE:
            return found[0]
        name = f"figure-{digest(found['json'])}.js"  # figures.js asks for it by this name
        file = write(name, f'bookFigure("{name}", {found["json"]});\n')
        return f'{found["start"]} data-figure="{address(file, page)}">'

    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        changed = STATE.sub(lambda found, page=page: state(found, page), text)
        changed = FIGURE.sub(lambda found, page=page: figure(found, page), changed)
        if changed != text:
            page.write_text(changed, encoding="utf-8")
    return sorted(written)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def address(file: Path, page: Path) -> str:
    """Where a file lies as seen from a page."""
    return Path(os.path.relpath(file, page.parent)).as_posix()
