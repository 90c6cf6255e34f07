"""PNG pictures of what needs a program to be seen: plotly figures, SVG diagrams, explorables. Chromium draws them.

A picture is kept in a folder under the digest of what it shows and of what draws it, so that a build draws only what is
new.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from chromium import on_path

PLOTLY, SVG, WIDGET = "application/vnd.plotly.v1+json", "image/svg+xml", "anywidget"
WIDTH = 760  # pixels, about a column of text
KEPT = Path(__file__).resolve().parent.parent / "_build" / "stills"
SCALE = 1.5  # sharp enough for a screen with more pixels than that
PAGE = """<!DOCTYPE html><meta charset="utf-8">
<style>body { margin: 0; background: white } #still { display: inline-block; padding: 4px }</style>
<div id="still"></div>"""
# Puts one thing into the page; a widget's module gets a model that answers as anywidget's does, without a kernel.
DRAW = """async ({ kind, content, width }) => {
  const still = document.getElementById('still');
  still.replaceChildren();
  still.style.width = kind === 'image/svg+xml' ? 'auto' : `${width}px`;
  if (kind === 'image/svg+xml') {
    const image = new Image();
    image.src = `data:image/svg+xml;base64,${content}`;
    await image.decode();
    image.style.maxWidth = `${width}px`;
    still.append(image);
  } else if (kind === 'anywidget') {
    const { _esm: text, _css: style, ...state } = content;
    const sheet = document.createElement('style');
    sheet.textContent = style ?? '';
    const el = document.createElement('div');
    still.append(sheet, el);
    const set = (name, value) => { state[name] = value; };
    const model = { get: (name) => state[name], set, save_changes() {}, on() {}, off() {} };
    const module = await import(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })));
    await module.default.render({ model, el });
  } else {
    const { data, layout, frames } = content;
    await Plotly.newPlot(still, { data, layout: { ...layout, width }, frames, config: { staticPlot: true } });
  }
  await document.fonts.ready;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


class StillError(Exception):
    """Pictures cannot be drawn here; the message says what to do."""


def digest(kind: str, content: Any) -> str:
    """The name of a picture, from what is drawn and all that draws it."""
    plotly = importlib.metadata.version("plotly") if kind == PLOTLY else ""
    text = json.dumps([kind, WIDTH, SCALE, PAGE, DRAW, plotly, content], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def stills(wanted: Sequence[tuple[str, Any]], kept: Path = KEPT) -> list[str]:
    """A PNG for each (kind, content), in base64: a plotly figure, the text of an SVG, the state of an anywidget.

    Args:
        wanted: what to draw.
        kept: the folder of pictures drawn before, and of the new ones.

    Raises:
        StillError: something is to be drawn and there is no chromium.
    """
    files = [kept / f"{digest(kind, content)}.png" for kind, content in wanted]
    missing = {file: one for file, one in zip(files, wanted, strict=True) if not file.exists()}
    if missing:
        kept.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(
            1
        ) as own:  # Playwright refuses a thread that has a browser or an event loop already.
            own.submit(draw, missing).result()
    return [base64.b64encode(file.read_bytes()).decode() for file in files]


def draw(missing: dict[Path, tuple[str, Any]]) -> None:
    chromium = on_path()
    if not chromium:
        raise StillError(
            "no chromium was found to draw the figures: install one (Debian: apt-get install chromium)"
            " or name it in CHROMIUM"
        )
    from playwright.sync_api import sync_playwright  # Not above: most builds have nothing to draw.

    plotly = Path(importlib.util.find_spec("plotly").origin).parent / "package_data" / "plotly.min.js"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            page = browser.new_page(
                viewport={"width": WIDTH + 40, "height": 900},
                device_scale_factor=SCALE,
                color_scheme="light",
                reduced_motion="reduce",
            )
            page.set_content(PAGE)
            page.add_script_tag(path=plotly)
            for file, (kind, content) in missing.items():
                if kind == SVG:
                    content = base64.b64encode(content.encode()).decode()
                page.evaluate(DRAW, {"kind": kind, "content": content, "width": WIDTH})
                # Moved into place: two builds at once must not see half a file.
                beside = file.with_suffix(f".{os.getpid()}.png")
                page.locator("#still").screenshot(path=beside)
                beside.replace(file)
        finally:
            browser.close()
