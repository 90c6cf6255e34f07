"""Records of format 1, read as format 2: what they lack is derived, or marked as unknown.

Format 1 said `autocast` where format 2 says `precision`: whether bf16 was used then depended on the machine. It counted
three things: `total`, which is now `weights`; `trainable`, which is now `trainable_all_rows`; and `stored_bytes`.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from reservoir.datasets.shipped import shipped

COUNTS = "counts.json"
"""Next to the shipped records: what the library's own report counts of each recipe that has some."""
UNKNOWN = {
    "data": "",
    "origins": {},
    "labels": [],
    "left_out": 0,
    "epoch_steps": 0.0,
    "begun_with": [],
    "skipping": {},
}
"""What format 1 did not always record, in the form that says so."""


def upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """The content of a format-1 record in format 2, as far as it is well formed; the rest is left for the check."""
    data = UNKNOWN | data | {"format": 2}
    for part in ("run", "overrides"):
        if isinstance(said := data.get(part), dict) and "autocast" in said:
            said = dict(said)
            said["precision"] = "auto" if said.pop("autocast") else "fp32"
            data[part] = said
    name, scale = data.get("recipe"), data.get("scale")
    if isinstance(old := data.get("parameters"), dict):
        counted = None if data.get("overrides") else _counts().get(f"{name}/{scale}")
        data["parameters"] = counted or _derived(old, data.get("run"))
    return data


def _derived(old: dict[str, Any], run: Any) -> dict[str, Any]:
    """Format 1's counts by their names in format 2.

    Of a masked run that nobody has counted, every trainable number is taken for a score, which is an upper bound.
    """
    try:
        weights, trainable = int(old["total"]), int(old["trainable"])
        mask = run.get("mask") or {}
        masked = mask.get("keep", 1) < 1 and mask.get("by") != "weight"
    except (KeyError, TypeError, ValueError, AttributeError):
        return old
    scores = trainable if masked else 0
    return {
        "weights": weights,
        "scores": scores,
        "total": weights + scores,
        "trainable": trainable,
        "trainable_all_rows": trainable,
        "stored_bytes": old.get("stored_bytes"),
    }


@cache
def _counts() -> dict[str, dict[str, int]]:
    try:
        return json.loads((shipped() / "results" / COUNTS).read_text(encoding="utf-8"))
    except OSError:
        return {}
