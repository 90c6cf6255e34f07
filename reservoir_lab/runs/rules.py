"""The rules by which the bench is judged, as far as a run has to know them: their name, and whether they are settled.

`data/bench/rules.json` says what is judged and how; `make generated` writes it from `reservoir_lab.evidence.asked`. The
seeds that it names are run once, after the rules were written: a run with one of them is refused while the rules
differ from what is committed, and its record keeps their name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import reservoir
from reservoir.datasets.shipped import shipped
from reservoir_lab.runs.machine import code, git
from reservoir_lab.runs.run import Run

FILES = (
    "data/bench/rules.json",
    "data/bench/rates.json",
    "reservoir_lab/evidence",
    "reservoir_lab/recipes/bench.py",
)
"""Where the rules stand, in a checkout; the learning rates too, which were chosen on other seeds."""
UNKNOWN = (
    "made outside a git checkout: nobody can say whether the rules were changed before they were committed"
)


def file() -> Path:
    """Where the rules lie."""
    return shipped() / "bench" / "rules.json"


def read() -> dict[str, Any]:
    """The rules, with their digest under "rules"; empty where there are none."""
    return json.loads(file().read_text(encoding="utf-8")) if file().exists() else {}


def digest() -> str:
    """The name of the rules; empty where there are none."""
    return read().get("rules", "")


def changed(root: Path | None = None) -> list[str] | None:
    """The rules' files that differ from what is committed; None outside a git checkout."""
    root = root or Path(reservoir.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    status = git(root, "status", "--porcelain", "--untracked-files=all", "--", *FILES)
    # The first line has lost its leading space.
    return None if status is None else [line.split(maxsplit=1)[-1] for line in status.splitlines()]


def is_judged(run: Run) -> bool:
    """Whether a run's seed is one of those that are run once and judged, or lies in a later block of them."""
    return run.scale == "laptop" and run.recipe.startswith("bench/") and run.seed >= 200


def check_settled(run: Run) -> str:
    """Check that a run that is judged is made under rules that are committed.

    Returns:
        What its record has to say of it; mostly nothing.

    Raises:
        ValueError: there are no rules, or they have changes that are not committed.
    """
    if not is_judged(run):
        return ""
    if not digest():
        raise ValueError(
            f"seed {run.seed} of {run.recipe} is judged, and there are no rules yet: write them with `make generated`"
        )
    files = changed()
    if files:
        raise ValueError(
            f"seed {run.seed} of {run.recipe} is judged, and rules have changes that are not committed"
            f" ({', '.join(files[:3])}{' and more' if len(files) > 3 else ''}): commit them, or take a seed below 10"
        )
    return UNKNOWN if files is None and code()["dirty"] is not False else ""
