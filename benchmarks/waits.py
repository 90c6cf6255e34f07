"""What readers wait for: twenty seeds, a cell of the front table, a chapter, a command, and what `make` does."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from benchmarks.measure import Measured, Settings, children, commands, processor, run, within
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import train_run

sys.path.append(str(Path(__file__).resolve().parent.parent / "theme"))
import chromium

ROOT = Path(__file__).resolve().parent.parent
ROW, SEEDS, FEW = "bench/brackets/trained", 20, 4
LOOK = 500  # ms between two looks at a page
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


def seeds(settings: Settings) -> Measured:
    """Twenty seeds of a row, from the processor time of a few."""
    spent = []
    for seed in range(FEW):
        begun = processor()
        of = registry.get(ROW, scale="laptop", seed=seed)
        model, task, _ = build(of)
        train_run(of, model, task)
        spent.append(processor() - begun)
    return within(150, spent, times=SEEDS)


def front_table(folder: Path) -> Path:
    """The front page's table alone, as a page in a folder; returns its file."""
    from reservoir_book.explorables import FrontTable  # needs widgets, which a GPU machine may lack

    shown = FrontTable.of_bench()
    names = ("cell", "tasks", "parts", "lexicon", "label", "text")
    state = json.dumps({name: getattr(shown, name) for name in names}).replace("<", "\\u003c")
    (folder / "bundle.js").write_text(shown._esm, encoding="utf-8")
    page = folder / "index.html"
    page.write_text(PAGE.format(style=shown._css, state=state), encoding="utf-8")
    return page


def browsers() -> float:
    """Seconds of processor time that the browser has taken."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "chrom" in process.name():
                total += sum(process.cpu_times()[:2])
    return total


def cell(settings: Settings) -> Measured:
    """The slowest cell, each pressed as a reader presses it and trained to its end in a worker next to the page.

    Seconds are of chromium's processor time, which on an idle core is what passes.
    """
    from playwright.sync_api import sync_playwright

    spent = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
        browser = playwright.chromium.launch(executable_path=chromium.on_path(), args=arguments)
        page = browser.new_page()
        page.goto(front_table(Path(folder)).as_uri())
        for one in page.locator(".ft-cell").all():
            about = (one.get_attribute("aria-label") or "").split(":")[0]
            before = browsers()
            one.click()
            found = None
            while found is None:  # chromium stops painting now and then; a picture of the page makes it paint
                page.wait_for_timeout(LOOK)
                page.screenshot(clip={"x": 0, "y": 0, "width": 8, "height": 8})
                title, said = (page.locator(name).inner_text() for name in (".ft-title", ".ex-words"))
                if title.lower() == ", ".join(reversed(about.split(", "))):
                    found = re.search(ENDED, said)
                if " stopped: " in said:
                    raise RuntimeError(said)
            spent.append(browsers() - before)
        browser.close()
    return within(15, [max(spent)])


def run_all(settings: Settings) -> Measured:
    """The slowest chapter, its kernel and all; what is executed is thrown away."""
    spent = []
    for notebook in sorted((ROOT / "chapters").glob("[0-9]*.ipynb")):
        begun = children()
        run(
            [
                sys.executable,
                "-m",
                "jupyter",
                "nbconvert",
                "--to",
                "notebook",
                "--execute",
                "--stdout",
                str(notebook),
            ]
        )
        spent.append(children() - begun)
        print(f"  {notebook.stem}: {spent[-1]:.0f} s", flush=True)
    return within(90, [max(spent)])


def importing(settings: Settings) -> Measured:
    """`import reservoir` and a first use of it, which loads PyTorch."""
    return commands(
        [sys.executable, "-c", "import reservoir; reservoir.freeze"],
        [sys.executable, "-c", "import torch"],
        settings,
    )


def listing(settings: Settings) -> Measured:
    """`reservoir list`, which does without PyTorch."""
    return commands(
        [sys.executable, "-m", "reservoir_lab", "list"], [sys.executable, "-c", "import torch"], settings
    )


@cache
def clone() -> Path:
    """A fresh clone of what is committed, with nothing installed; removed when this process ends."""
    folder = tempfile.TemporaryDirectory()
    _kept.append(folder)
    run(["git", "clone", "--quiet", str(ROOT), folder.name])
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory] = []


@cache
def made(target: str) -> float:
    """Seconds that `make` takes for a target in the clone, after what comes before it was made there."""
    if target != "setup":
        made("setup")
    begun = time.perf_counter()
    # Without what `make bench ARGS=...` was given: its tests would be those of that name.
    run(["env", "-u", "MAKEFLAGS", "-u", "ARGS", "make", target], cwd=clone())
    return time.perf_counter() - begun


def setup(settings: Settings) -> Measured:
    """`make setup` in a fresh clone, by the clock; packages come from pip's and npm's caches if those have them."""
    return within(180, [made("setup")])


def book(settings: Settings) -> Measured:
    """`make book` after it, by the clock."""
    return within(60, [made("book")])


def test(settings: Settings) -> Measured:
    """`make test` after it, by the clock."""
    return within(600, [made("test")])
