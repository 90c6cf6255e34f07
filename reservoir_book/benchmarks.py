"""The records of `python -m benchmarks` as tables for a page, and which benchmarks have no record yet."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from reservoir.datasets.shipped import shipped

STEP = ("step", "libraries", "memory")
GROUPS: dict[str, tuple[str, ...]] = {
    "the bench": ("bench",),
    "training step": STEP,
    "decoding": ("decoding",),
    "any module": ("any-module",),
    "freezing": ("freezing", "communication"),
    "mixing": ("fourier",),
    "mask selection": ("selection", "masked"),
    "weight drawing": ("draw", "fused"),
    "dry runs": ("estimate",),
    "the book": ("book", "playground", "front-table"),
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
    """One record as a table: a row per case, with the ratio, its quartiles, and the ratio that is required."""
    rows = []
    for one in record["lines"]:
        low, high, asked = one["low"], one["high"], one["required"]
        quartiles = "" if low is None else f"{times(low)} … {times(high)}"
        rows.append(
            {
                **{name: str(one[name]) for name in ("case", "peer", "ours", "theirs")},
                "ratio": times(one["ratio"]),
                "quartiles": quartiles + ("" if settled(low, one["ratio"], high) else ", not settled"),
                "by cpu": "" if one["cpu_ratio"] is None else times(one["cpu_ratio"]),
                "pairs": str(one["pairs"] or ""),
                "asked": "" if asked is None else f"{asked:g} {'✓' if one['ratio'] >= asked else '✗'}",
            }
        )
    return pd.DataFrame(rows).set_index("case").rename_axis(None)


def where(record: dict[str, Any]) -> str:
    """Machine, versions and commit of a record, in one line."""
    machine = record["machine"]
    gpu = machine.get("gpu")
    about = [f"{gpu} with {machine['cpu']}" if gpu else machine["cpu"]]
    if machine.get("capability") and not gpu:
        about.append(f"{machine['capability']}, {'with' if machine['bf16'] else 'without'} bf16 units")
    about.append(f"{machine['threads']} thread(s)")
    about += [f"{name} {version}" for name, version in record["versions"].items()]
    code = record["code"]
    about.append(f"commit {(code['commit'] or 'unknown')[:8]}{', changed' if code['dirty'] else ''}")
    about.append(f"{record['seconds']:g} s a case")
    return ", ".join(about) + (f"; {record['note']}" if record.get("note") else "")


def state() -> pd.DataFrame:
    """For each benchmark, the machines that it is recorded on, and how many of its required ratios are reached."""
    records, rows = recorded(), {}
    for group, name in ((group, name) for group, names in GROUPS.items() for name in names):
        found = [one for one in records if one["benchmark"] == name]
        said = [line for one in found for line in one["lines"]]
        bars = [line for line in said if line["required"] is not None]
        open_ = sum(not settled(line["low"], line["ratio"], line["high"]) for line in said)
        reached = sum(line["ratio"] >= line["required"] for line in bars)
        machines = {one["machine"]["gpu"] or one["machine"]["cpu"] for one in found}
        rows[name] = {
            "group": group,
            "recorded on": ", ".join(sorted(machines)) or "nobody has recorded it",
            "bars reached": f"{reached} of {len(bars)}" if bars else "",
            "not settled": f"{open_} of {len(said)} lines" if open_ else "",
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def times(ratio: float) -> str:
    """A ratio with two decimals, or with two significant digits where it is small: "1.25", "0.0038"."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
