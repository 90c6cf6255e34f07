"""The records of `python -m benchmarks` as tables for a page, and which benchmarks have no record yet."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from reservoir.datasets.shipped import shipped

GROUPS: dict[str, tuple[str, ...]] = {
    "training step": (
        "step",
        "libraries",
        "reservoirs",
        "prefix",
        "attention",
        "linear",
        "loss",
        "dropout",
    ),
    "decoding": ("decoding",),
    "any module": ("any-module",),
    "freezing": ("freezing", "communication"),
    "mixing": ("fourier",),
    "mask selection": ("selection", "masked"),
    "weight drawing": ("draw", "fused"),
    "data pipeline": ("pipeline",),
    "echo states": ("echo-states",),
    "dry runs": ("estimate",),
    "the book": ("book", "playground"),
}
"""Subject -> names of its benchmarks; a test compares them with the package `benchmarks`."""


WITHIN = 0.1  # of its median a ratio's quartiles lie, once it is settled


def settled(low: float | None, ratio: float, high: float | None) -> bool:
    """Whether the quartiles of a ratio lie within 10 % of its median, or nothing varies."""
    return low is None or high is None or (low >= (1 - WITHIN) * ratio and high <= (1 + WITHIN) * ratio)


def recorded() -> list[dict[str, Any]]:
    """The records of benchmarks that ship with the book, in the order of the groups."""
    order = [name for names in GROUPS.values() for name in names]
    files = (shipped() / "benchmarks").glob("*.json")
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(files)]
    return sorted(found, key=lambda one: order.index(one["benchmark"]))


def lines(record: dict[str, Any]) -> pd.DataFrame:
    """One record as a table: a row per case, with the ratio, its quartiles, and the ratio that is required.

    Records older than the table that all benchmarks share have comparisons alone, which have the same figures.
    """
    rows = []
    for one in record.get("lines") or record["comparisons"]:
        unit = f" {one['unit']}/s" if "unit" in one else ""
        ours, theirs = (
            f"{_short(one[side])}{unit}" if unit else str(one[side]) for side in ("ours", "theirs")
        )
        quartiles = "" if one["low"] is None else f"{times(one['low'])} … {times(one['high'])}"
        asked = one["required"]
        rows.append(
            {
                "case": one["case"],
                "peer": one["peer"],
                "ours": ours,
                "theirs": theirs,
                "ratio": times(one["ratio"]),
                "quartiles": quartiles
                + ("" if settled(one["low"], one["ratio"], one["high"]) else ", not settled"),
                "by cpu": "" if one["cpu_ratio"] is None else times(one["cpu_ratio"]),
                "pairs": str(one["pairs"] or ""),
                "asked": "" if asked is None else f"{asked:g} {'✓' if one['ratio'] >= asked else '✗'}",
            }
        )
    return pd.DataFrame(rows).set_index("case").rename_axis(None)


def where(record: dict[str, Any]) -> str:
    """Machine, versions and commit of a record, in one line."""
    machine = record["machine"]
    about = [machine["gpu"] or machine["cpu"]]
    if machine.get("capability"):
        about.append(f"{machine['capability']}, {'with' if machine['bf16'] else 'without'} bf16 units")
    about.append(f"{machine['threads']} thread(s)")
    versions = record.get("versions") or {"torch": machine["torch"]}
    about += [f"{name} {version}" for name, version in versions.items()]
    code = record["code"]
    about.append(f"commit {(code['commit'] or 'unknown')[:8]}{', changed' if code['dirty'] else ''}")
    about.append(f"{record['seconds']:g} s a case")
    return ", ".join(about) + (f"; {record['note']}" if record.get("note") else "")


def state() -> pd.DataFrame:
    """For each benchmark, the machines that it is recorded on, and how many of its required ratios are reached."""
    records: dict[str, list[dict[str, Any]]] = {}
    for one in recorded():
        records.setdefault(one["benchmark"], []).append(one)
    rows = []
    for group, names in GROUPS.items():
        for name in names:
            found = records.get(name, [])
            said = [line for one in found for line in one.get("lines") or one["comparisons"]]
            bars = [line for line in said if line["required"] is not None]
            open_ = sum(not settled(line["low"], line["ratio"], line["high"]) for line in said)
            reached = sum(line["ratio"] >= line["required"] for line in bars)
            machines = {one["machine"]["gpu"] or one["machine"]["cpu"] for one in found}
            rows.append(
                {
                    "group": group,
                    "benchmark": name,
                    "recorded on": ", ".join(sorted(machines)) or "nobody has recorded it",
                    "bars reached": f"{reached} of {len(bars)}" if bars else "",
                    "not settled": f"{open_} of {len(said)} lines" if open_ else "",
                }
            )
    return pd.DataFrame(rows).set_index("benchmark").rename_axis(None)


def times(ratio: float) -> str:
    """A ratio with two decimals, or with two significant digits where it is small: "1.25", "0.0038"."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _short(number: float) -> str:
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
