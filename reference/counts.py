"""What each recorded recipe's model is made of, counted by the library's report.

Records of the first format hold fewer counts than `reservoir.weights.report` defines; what they lack is read from
`data/results/counts.json`, which this module writes: `python reference/counts.py` does.
"""

from __future__ import annotations

import json
import sys
from typing import cast

from reservoir.datasets import shipped
from reservoir.files import atomic_write
from reservoir.weights import report
from reservoir_lab import recipes
from reservoir_lab.runs.building import outline
from reservoir_lab.runs.registry import Scale

COUNTS = shipped() / "results" / "counts.json"


def recorded() -> list[tuple[str, Scale]]:
    """Every recipe and scale that has a record among those that ship, in order."""
    found = {path.parent.relative_to(COUNTS.parent) for path in COUNTS.parent.glob("**/seed-*.json")}
    return sorted((str(folder.parent), cast(Scale, folder.name)) for folder in found)


def counts(recipe: str, scale: Scale) -> dict[str, int]:
    """The counts of a recipe's model by name, as `Report.counts` defines them, from shapes alone."""
    return report(outline(recipes.get(recipe, scale=scale))).counts()


def main() -> int:
    """Write the counts of every recorded recipe, one line each: "<recipe>/<scale>" -> counts."""
    lines = (f'"{recipe}/{scale}": {json.dumps(counts(recipe, scale))}' for recipe, scale in recorded())
    atomic_write(COUNTS, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
