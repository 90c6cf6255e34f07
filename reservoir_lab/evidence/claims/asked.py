"""What a rule asks, apart from its words: what is compared, in which measure, by which margin.

It is read from the data as they are written, so that it can be had of any version in the repository's history.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

OF_A_BLOCK = frozenset("a b gap is margin around low high measure each any fewest rival".split())
"""The fields of a comparison that decide; the others tell of it or give reasons."""

OF_A_CLAIM = ("scale", "order", "special", "arguments", "recipes")
"""The fields of a claim that decide, next to its comparisons."""

REASONS = ("budgets", "tuning")
"""The fields of an order that give reasons."""


def asked(claim: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    """A digest of what decides a claim.

    Names of margins and of lists count as what they stand for. What a measure reads, and what it counts as doing
    nothing, does not count.

    Args:
        claim: as its file has it.
        file: all of that file, whose margins and lists the claim may name.
    """
    margins = {name: one.get("value") for name, one in file.get("margin", {}).items()}
    lists = file.get("list", {})

    def resolved(value: Any, field: str = "") -> Any:
        if isinstance(value, Mapping):
            return {key: resolved(one, key) for key, one in value.items() if key not in REASONS}
        if isinstance(value, list):
            return [resolved(one) for one in value]
        if field in ("margin", "low", "high"):
            return margins.get(value, value)
        return value

    def block(written: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: resolved(written[key], key) for key in OF_A_BLOCK if key in written}
        if "each" in kept:
            choices = kept["each"].items()
            kept["each"] = {key: lists.get(one, one) if isinstance(one, str) else one for key, one in choices}
        return kept | {"unfit": bool(written.get("unfit"))}

    said: dict[str, Any] = {key: resolved(claim[key], key) for key in OF_A_CLAIM if key in claim}
    said["compare"] = [block(one) for one in claim.get("compare", ())]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]
