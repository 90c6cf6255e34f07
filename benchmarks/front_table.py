"""The front page's table in chromium: how long a reader waits for a cell, one at a time, on an idle core.

Each cell is pressed as a reader presses it and trains to its end with a seed of its own, in a worker next to the page.
Seconds are of chromium's processor time, which on an idle core is what passes; the median is also by the clock. The
peer is what a reader is promised: at most 15 s, and 10 s in the median.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.measure import Amount, Settings

sys.path.append(str(Path(__file__).resolve().parent.parent / "theme"))
import chromium

LONGEST, MEDIAN = 15.0, 10.0  # seconds
FEW = 4  # cells of a quick look
LOOK = 500  # ms between two looks
PAGE = """<!doctype html><meta charset="utf-8"><title>The front table</title>
<style>{style}</style><div id="place"></div>
<script type="module">
const state = {state};
const heard = {{}};
const model = {{
  get: (name) => state[name],
  set: (name, value) => {{ state[name] = value; for (const each of heard[`change:${{name}}`] ?? []) each(); }},
  on: (name, each) => (heard[name] ??= []).push(each),
  off: () => {{}},
  save_changes: () => {{}},
}};
const {{ default: {{ render }} }} = await import('./bundle.js');
render({{ model, el: document.getElementById('place') }});
</script>
"""
ENDED = r"ends at [\d.]+ % right, after \d+ steps and ([\d.]+) seconds"


def write(folder: Path) -> Path:
    """The table alone, as a page in a folder; returns its file."""
    from reservoir_book.explorables import FrontTable  # needs widgets, which a GPU machine may lack

    shown = FrontTable.of_bench()
    names = ("cell", "tasks", "parts", "lexicon", "label", "text")
    state = json.dumps({name: getattr(shown, name) for name in names}).replace("<", "\\u003c")
    (folder / "bundle.js").write_text(shown._esm, encoding="utf-8")
    page = folder / "index.html"
    page.write_text(PAGE.format(style=shown._css, state=state), encoding="utf-8")
    return page


def used() -> float:
    """Seconds of processor time that the browser has taken."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "chrom" in process.name():
                total += sum(process.cpu_times()[:2])
    return total


def run(settings: Settings) -> Iterator[Amount]:
    """Each cell's seconds, then their median."""
    from playwright.sync_api import sync_playwright

    spent, passed, peer = [], [], "what a reader waits"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
        browser = playwright.chromium.launch(executable_path=chromium.on_path(), args=arguments)
        page = browser.new_page()
        page.goto(write(Path(folder)).as_uri())
        cells = page.locator(".ft-cell").all()
        for cell in cells[: FEW if settings.seconds < 10 else None]:
            about = (cell.get_attribute("aria-label") or "").split(":")[0]
            before = used()
            cell.click()
            found = None
            while found is None:  # chromium stops painting now and then; a picture of the page makes it paint
                page.wait_for_timeout(LOOK)
                page.screenshot(clip={"x": 0, "y": 0, "width": 8, "height": 8})
                title, said = (page.locator(one).inner_text() for one in (".ft-title", ".ex-words"))
                if title.lower() == ", ".join(reversed(about.split(", "))):
                    found = re.search(ENDED, said)
                if " stopped: " in said:
                    raise RuntimeError(said)
            spent.append(used() - before)
            passed.append(float(found[1]))
            yield Amount(f"a cell trained: {about}", peer, "s", spent[-1], LONGEST, required=1)
        browser.close()
    many = f"the median of {len(spent)} cells"
    yield Amount(f"{many}, processor time", peer, "s", statistics.median(spent), MEDIAN, required=1)
    yield Amount(f"{many}, by the clock", peer, "s", statistics.median(passed), MEDIAN, required=1)
