"""Run benchmarks, print one table, keep the figures as JSON under ./results/benchmarks."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import time
import warnings
from dataclasses import asdict, fields, replace
from importlib import metadata
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import (
    any_module,
    bench,
    book,
    communication,
    decoding,
    draw,
    estimate,
    fourier,
    freezing,
    front_table,
    fused,
    libraries,
    masked,
    memory,
    playground,
    selection,
    step,
)
from benchmarks.measure import Benchmark, Comparison, Line, Settings
from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_write
from reservoir_book.benchmarks import times
from reservoir_lab.runs.machine import code, machine

GROUPS: dict[str, dict[str, Benchmark]] = {
    "the bench": {"bench": bench.run},
    "training step": {
        "step": step.run,
        "libraries": libraries.run,
        "memory": memory.run,
    },
    "decoding": {"decoding": decoding.run},
    "any module": {"any-module": any_module.run},
    "freezing": {"freezing": freezing.run, "communication": communication.run},
    "mixing": {"fourier": fourier.run},
    "mask selection": {"selection": selection.run, "masked": masked.run},
    "weight drawing": {"draw": draw.run, "fused": fused.run},
    "dry runs": {"estimate": estimate.run},
    "the book": {"book": book.run, "playground": playground.run, "front-table": front_table.run},
}
ON_PROCESSORS = {
    "any-module",
    "book",
    "communication",
    "front-table",
    "memory",
    "playground",
}
"""Benchmarks that run on the processor, whatever the device."""
PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32}
BENCHMARKS = {name: run for group in GROUPS.values() for name, run in group.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare the library's speed with that of its peers."
    )
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"some of {', '.join(BENCHMARKS)}; all by default"
    )
    parser.add_argument(
        "--quick", action="store_true", help="laptop size, eager, a second each: does it run?"
    )
    parser.add_argument("--size", choices=("laptop", "IWSLT"), help="one size; both by default")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="one precision, of benchmarks that have both (a training step and its parts); both by default",
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="how long to measure each case (20; 1 with --quick)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on where a run of the same code was cut off"
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="name what is slower than the last record; exit status 1 if any is",
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where (cpu)")
    chosen = parser.parse_args()
    for name in chosen.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}: choose from {', '.join(BENCHMARKS)}")
    if chosen.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no GPU here")
    return chosen


def table(measured: dict[str, list[Line]], caption: str) -> Table:
    """All that was measured, a line each, by groups."""
    shown = Table(
        title="How many times better ours is: median and quartiles of pairs of turns, median by processor time",
        caption=caption,
    )
    for column in ("case", "peer"):
        shown.add_column(column, overflow="fold")
    for column in ("ours", "theirs", "ratio", "quartiles", "by cpu", "pairs", "asked"):
        shown.add_column(column, justify="right", no_wrap=True)
    for group, members in GROUPS.items():
        lines = [(name, line) for name in members for line in measured.get(name, ())]
        if lines:
            shown.add_row(f"[bold]{group}[/]", *[""] * 8)
        for name, line in lines:
            asked = ""
            if line.required is not None:
                asked = f"{line.required:g} " + (
                    "[green]✓[/]" if line.ratio >= line.required else "[red]✗[/]"
                )
            shown.add_row(
                f"{name}: {line.case}",
                line.peer,
                line.ours,
                line.theirs,
                f"[bold]{times(line.ratio)}[/]",
                ""
                if line.low is None
                else f"{times(line.low)} … {times(line.high)}{'' if line.settled else ' not settled'}",
                "" if line.cpu_ratio is None else times(line.cpu_ratio),
                str(line.pairs or ""),
                asked,
            )
        shown.add_section()
    return shown


def versions() -> dict[str, str]:
    """Of the peers that are installed."""
    found = {}
    peers = ("transformers", "ctranslate2", "peft", "x-transformers", "reservoirpy", "nbconvert", "mystmd")
    for name in ("torch", *peers):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def read_lines(path: Path) -> list[Line]:
    """The lines of a record; none if it is not there, or is damaged, which is said."""
    try:
        return [Line(**line) for line in json.loads(path.read_text(encoding="utf-8"))["lines"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"{path} cannot be read, and is left out: {error}")
        return []


def measured_before(path: Path, asked: dict) -> dict[tuple[str, str], Comparison]:
    """What a run of the same code and settings on this machine has measured before it was cut off."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if any(record[key] != value for key, value in asked.items()):
            return {}
        found = [Comparison(**one) for one in record["comparisons"] if one.keys() == FIELDS]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return {(one.case, one.peer): one for one in found}


FIELDS = {one.name for one in fields(Comparison)}


def last_lines(name: str, device: torch.device) -> list[Line]:
    """The lines of the records of a benchmark that ship with the book, of all its sizes and precisions.

    Those of this processor or GPU come last, so that they count where a line was recorded on several.
    """
    files = sorted((shipped() / "benchmarks").glob(f"{name}-{device.type}*.json"))
    return [
        line for file in sorted(files, key=lambda file: is_from(file, device)) for line in read_lines(file)
    ]


def is_from(file: Path, device: torch.device) -> bool:
    """Whether a record was measured on such a processor or GPU; a damaged one was not, as `read_lines` says."""
    here = machine(device)
    try:
        there = json.loads(file.read_text(encoding="utf-8"))["machine"]
        return (there["gpu"], there["cpu"]) == (here["gpu"], here["cpu"])
    except (OSError, ValueError, LookupError, TypeError):
        return False


def slower(fresh: list[Line], last: list[Line]) -> list[str]:
    """The lines whose ratio is worse than the last record's by more than the quartiles of both, in a sentence each.

    A timing without quartiles is left out: nothing says how much it varies.
    """
    known = {(line.case, line.peer): line for line in last}
    found = []
    for line in fresh:
        before = known.get((line.case, line.peer))
        if before is None or (line.pairs and line.high is None):
            continue
        if line.smaller_is_better:
            worse = (line.low or line.ratio) > (before.high or before.ratio)
        else:
            worse = (line.high or line.ratio) < (before.low or before.ratio)
        if worse:
            found.append(
                f"{line.case}: {times(line.ratio)} × {line.peer}, and {times(before.ratio)} when recorded"
            )
    return found


def measure(name: str, settings: Settings, path: Path, asked: dict, console: Console) -> list[Line]:
    """One benchmark, written down after each line, with the time that is left by the lines of the last record."""
    settings = replace(settings, known=measured_before(path, asked) if asked.pop("resume") else {})
    expected = len(read_lines(shipped() / "benchmarks" / path.name))
    results: list[dict] = []
    lines: list[Line] = []
    begun = time.monotonic()
    console.print(f"{name}: begun" + (f", about {expected} lines" if expected else ""), highlight=False)
    for result in BENCHMARKS[name](settings):
        results.append(asdict(result))
        lines.append(result.line)
        record = {**asked, "lines": [asdict(line) for line in lines], "comparisons": results}
        atomic_write(path, json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")
        left = ""
        if expected > len(lines):
            minutes = (expected - len(lines)) * (time.monotonic() - begun) / len(lines) / 60
            left = f" ({len(lines)} of {expected}, about {minutes:.1f} min left)"
        console.print(f"{name}: {result}{left}", highlight=False)
    return lines


def main() -> None:
    chosen = arguments()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="enable_nested_tensor")  # nn.Transformer's, of itself
    device = torch.device(chosen.device)
    seconds = chosen.seconds or (1.0 if chosen.quick else 20.0)
    can_compile = device.type == "cuda" or shutil.which("g++") is not None
    size = "laptop" if chosen.quick else chosen.size
    settings = Settings(seconds, device, size, compiled=can_compile and not chosen.quick)
    if chosen.precision:
        settings = replace(settings, precisions=(PRECISIONS[chosen.precision],))
    where, console = machine(device), Console()
    if not console.is_terminal:
        console.width = 160  # a file has room for the table
    folder = Path(os.environ.get("RESERVOIR_RESULTS") or "results") / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    measured: dict[str, list[Line]] = {}
    worse, failed, known = [], False, False
    for name in chosen.names or BENCHMARKS:
        if device.type != "cpu" and name in ON_PROCESSORS:
            console.print(f"{name}: not measured: it runs on the processor alone", highlight=False)
            failed = failed or name in chosen.names
            continue
        parts = (name, device.type, settings.size, chosen.precision, "quick" if chosen.quick else None)
        path = folder / f"{'-'.join(part for part in parts if part)}.json"
        asked = {
            "benchmark": name,
            "seconds": seconds,
            "machine": where,
            "versions": versions(),
            "code": code(),
        }
        try:
            measured[name] = measure(name, settings, path, {**asked, "resume": chosen.resume}, console)
        except (ImportError, MemoryError, RuntimeError, OSError) as error:  # the others do not depend on it
            console.print(f"{name}: not measured: {error}", highlight=False)
            failed = True
            continue
        last = last_lines(name, device)
        known = known or bool(last)
        worse += slower(measured[name], last)
    about = {**where, **versions()}
    caption = ", ".join(f"{key} {value}" for key, value in about.items() if value is not None)
    console.print(table(measured, f"{caption}; figures in {folder}"))
    if chosen.compare:
        nothing = (
            "is slower than the last record by more than the quartiles of both" if known else "is recorded"
        )
        for said in worse or [f"nothing {nothing}"]:
            console.print(said, highlight=False)
    raise SystemExit(failed or bool(chosen.compare and worse))


if __name__ == "__main__":
    main()
