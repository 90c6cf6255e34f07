"""Bring the modules that executed notebooks store up to date, without running the notebooks again.

An explorable's JavaScript is kept in each notebook that shows it, next to what its cells computed. When the JavaScript
changes, only that text has to follow: `python theme/widget_modules.py chapters/*.ipynb`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from reservoir_book import explorables

STATE = "application/vnd.jupyter.widget-state+json"


def stale(notebook: dict) -> Iterator[tuple[dict, str, str]]:
    """Each (state of a model, "_esm" or "_css", what it should be) that differs from what its class has now.

    Models that are none of this package's are passed over.
    """
    states = notebook.get("metadata", {}).get("widgets", {}).get(STATE, {}).get("state", {})
    for model in states.values():
        state = model["state"]
        module, _, name = state.get("_anywidget_id", "").rpartition(".")
        if not module.startswith(explorables.__name__):
            continue
        current = getattr(
            explorables, name
        )  # by its name: its module may have moved since the page was executed
        for key in ("_esm", "_css"):
            if state.get(key) != getattr(current, key):
                yield state, key, getattr(current, key)


def refresh(path: Path) -> int:
    """Write the current modules into the notebook at `path`; return how many texts changed."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    changes = list(stale(notebook))
    for state, key, current in changes:
        state[key] = current
    if changes:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(changes)


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:]):
        if changed := refresh(each):
            print(f"{each}: {changed} texts brought up to date")
