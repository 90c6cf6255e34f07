"""Keep large states of explorables in files of their own, so that a page is there before a trained model's weights are.

A script, not JSON: a page that was opened from disk may load scripts that lie next to it, but may fetch nothing.
"""

import hashlib
import os
import re
from pathlib import Path

LARGE = 30_000  # characters
STATE = re.compile(
    r'<script type="application/json" class="explorable-state" data-model="(?P<model>[^"]*)">(?P<state>.*?)</script>',
    re.DOTALL,
)


def move_large_states(site: Path) -> list[Path]:
    """Move each explorable's state that is large out of the pages of `site`; return the files written."""
    written = []

    def moved(found: re.Match, page: Path) -> str:
        if len(found["state"]) < LARGE:
            return found[0]
        content = f'bookExplorable("{found["model"]}", {found["state"]});\n'
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        file = site / "build" / f"explorable-{digest}.js"
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, encoding="utf-8")
        written.append(file)
        address = Path(os.path.relpath(file, page.parent)).as_posix()
        model = found["model"]
        return (
            f'<script type="application/json" class="explorable-state" data-model="{model}" '
            f'data-src="{address}"></script>'
        )

    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        if 'class="explorable-state"' in text:
            changed = STATE.sub(lambda found, page=page: moved(found, page), text)
            if changed != text:
                page.write_text(changed, encoding="utf-8")
    return written
