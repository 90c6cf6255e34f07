"""Where records lie: one file a run, in the results folder or among those that ship with the book."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path
from typing import Any

from reservoir.datasets.shipped import shipped
from reservoir.runs.registry import SCALES


def results() -> Path:
    """Where new records go: `$RESERVOIR_RESULTS`, or `results` in the current folder."""
    return Path(os.environ.get("RESERVOIR_RESULTS") or "results").expanduser()


def record_path(
    folder: Path, recipe: str, scale: str, seed: int, overrides: dict[str, Any] | None = None
) -> Path:
    """`<recipe>/<scale>/seed-<n>.json` under `folder`; a run with overrides gets a name of its own."""
    name = f"seed-{seed}"
    if overrides:
        name += "-with-" + blake2b(json.dumps(overrides, sort_keys=True).encode(), digest_size=4).hexdigest()
    return folder / recipe / scale / f"{name}.json"


def is_recorded(recipe: str, scale: str) -> bool:
    """Whether any seed of a recipe is recorded, as the folders have it: no file is read."""
    folders = (results(), shipped() / "results")
    found = (path.name for folder in folders for path in (folder / recipe / scale).glob("seed-*.json"))
    return any("-with-" not in name for name in found)


def own_names(recipes: Collection[str]) -> list[str]:
    """The names in the results folder that are no recipe's, as the folders have them: no file is read."""
    folder = results()
    records = (path for path in folder.glob("**/seed-*.json") if path.parent.name in SCALES)
    found = {path.parent.parent.relative_to(folder).as_posix() for path in records}
    return sorted(found.difference(recipes))
