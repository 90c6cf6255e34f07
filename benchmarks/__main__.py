"""Run benchmarks, print one table, keep the figures as JSON under ./results/benchmarks."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import warnings
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import (
    any_module,
    attention,
    book,
    communication,
    decoding,
    draw,
    dropout,
    echo_states,
    estimate,
    fourier,
    freezing,
    fused,
    libraries,
    linear,
    loss,
    masked,
    pipeline,
    prefix,
    reservoirs,
    selection,
    step,
)
from benchmarks.measure import Benchmark, Line, Settings
from reservoir.page.benchmarks import times
from reservoir.runs.machine import code, machine

GROUPS: dict[str, dict[str, Benchmark]] = {
    "training step": {
        "step": step.run,
        "libraries": libraries.run,
        "reservoirs": reservoirs.run,
        "prefix": prefix.run,
        "attention": attention.run,
        "linear": linear.run,
        "loss": loss.run,
        "dropout": dropout.run,
    },
    "decoding": {"decoding": decoding.run},
    "any module": {"any-module": any_module.run},
    "freezing": {"freezing": freezing.run, "communication": communication.run},
    "mixing": {"fourier": fourier.run},
    "mask selection": {"selection": selection.run, "masked": masked.run},
    "weight drawing": {"draw": draw.run, "fused": fused.run},
    "data pipeline": {"pipeline": pipeline.run},
    "echo states": {"echo-states": echo_states.run},
    "dry runs": {"estimate": estimate.run},
    "the book": {"book": book.run},
}
PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32}
BENCHMARKS = {name: run for group in GROUPS.values() for name, run in group.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure the library beside its peers."
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
                "" if line.low is None else f"{times(line.low)} … {times(line.high)}",
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
    for name in chosen.names or BENCHMARKS:
        results = []
        measured[name] = []
        for result in BENCHMARKS[name](settings):
            results.append(asdict(result))
            measured[name].append(result.line)
            console.print(f"{name}: {result}", highlight=False)
        record = {
            "benchmark": name,
            "seconds": seconds,
            "machine": where,
            "versions": versions(),
            "code": code(),
            "lines": [asdict(line) for line in measured[name]],
            "comparisons": results,
        }
        parts = (name, device.type, settings.size, chosen.precision, "quick" if chosen.quick else None)
        path = folder / f"{'-'.join(part for part in parts if part)}.json"
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    about = {**where, **versions()}
    caption = ", ".join(f"{key} {value}" for key, value in about.items() if value is not None)
    console.print(table(measured, f"{caption}; figures in {folder}"))


if __name__ == "__main__":
    main()
