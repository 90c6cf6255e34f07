"""The records of `python -m benchmarks`, as a table for a page."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from reservoir.datasets.shipped import shipped

WITHIN = 0.1  # of its median a ratio's quartiles lie, once it is settled


def settled(low: float | None, ratio: float, high: float | None) -> bool:
    """Whether the quartiles of a ratio lie within 10 % of its median, or it was measured once."""
    return low is None or high is None or (low >= (1 - WITHIN) * ratio and high <= (1 + WITHIN) * ratio)


def recorded(name: str) -> dict[str, Any]:
    """A record of measurements that ships with the book, such as "speed"."""
    return json.loads((shipped() / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))


def met(line: dict[str, Any]) -> bool:
    """Whether a recorded line of the list reaches its bar."""
    return line["ratio"] >= line["bar"]


def speeds() -> pd.DataFrame:
    """The list of speeds, a row each: what was measured next to what, the ratio with its quartiles, the bar, where."""
    rows = {}
    for line in recorded("speed").values():
        low, high = line["low"], line["high"]
        spread = "" if low is None else f"{times(low)} to {times(high)}"
        rows[line["case"]] = {
            "next to": line["peer"],
            "ours": line["ours"],
            "theirs": line["theirs"],
            "ratio": times(line["ratio"]),
            "quartiles": spread + ("" if settled(low, line["ratio"], high) else ", not settled"),
            "bar": f"{line['bar']:g} {'✓' if met(line) else '✗'}",
            "counted": line["clock"],
            "machine": line["machine"],
            "date": line["date"],
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def where(record: dict[str, Any]) -> str:
    """Machine, versions and commit of the record of one measurement, in one line."""
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


def times(ratio: float) -> str:
    """A ratio with two decimals, or with two significant digits where it is small: "1.25", "0.0038"."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
