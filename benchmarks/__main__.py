"""Run benchmarks, print one table, keep the figures as JSON under ./results/benchmarks."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import warnings
from dataclasses import asdict
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import (
    attention,
    communication,
    decoding,
    draw,
    dropout,
    fourier,
    freezing,
    fused,
    linear,
    loss,
    masked,
    prefix,
    reservoirs,
    selection,
    step,
)
from benchmarks.communication import Traffic
from benchmarks.decoding import Agreement
from benchmarks.freezing import Saving
from benchmarks.measure import Benchmark, Comparison, Settings
from reservoir.experiments.machine import code, machine

BENCHMARKS: dict[str, Benchmark] = {
    "step": step.run,
    "decoding": decoding.run,
    "freezing": freezing.run,
    "attention": attention.run,
    "dropout": dropout.run,
    "loss": loss.run,
    "linear": linear.run,
    "draw": draw.run,
    "fused": fused.run,
    "selection": selection.run,
    "masked": masked.run,
    "fourier": fourier.run,
    "prefix": prefix.run,
    "reservoirs": reservoirs.run,
    "communication": communication.run,
}


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


def rate(number: float, unit: str) -> str:
    """Such as "12.3 k tokens/s"."""
    for size, letter in ((1e9, "G "), (1e6, "M "), (1e3, "k ")):
        if number >= size:
            return f"{number / size:.3g} {letter}{unit}/s"
    return f"{number:.3g} {unit}/s"


def table(measured: dict[str, list[Comparison | Agreement]], caption: str) -> Table:
    """All comparisons, one a line."""
    shown = Table(
        title="How many times faster ours is: median and quartiles of pairs of turns, median by processor time",
        caption=caption,
    )
    for column in ("case", "peer"):
        shown.add_column(column, overflow="fold")
    for column in ("ours", "theirs", "ratio", "quartiles", "by cpu", "pairs", "asked"):
        shown.add_column(column, justify="right", no_wrap=True)
    for name, comparisons in measured.items():
        for c in comparisons:
            if not isinstance(c, Comparison):
                continue  # has said itself in its line
            asked = ""
            if c.required is not None:
                asked = f"{c.required:g} " + ("[green]✓[/]" if c.ratio >= c.required else "[red]✗[/]")
            shown.add_row(
                f"[bold]{name}[/] {c.case}",
                c.peer,
                rate(c.ours, c.unit),
                rate(c.theirs, c.unit),
                f"[bold]{c.ratio:.2f}[/]",
                f"{c.low:.2f} … {c.high:.2f}",
                "" if c.cpu_ratio is None else f"{c.cpu_ratio:.2f}",
                str(c.pairs),
                asked,
            )
        shown.add_section()
    return shown


def main() -> None:
    chosen = arguments()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="enable_nested_tensor")  # nn.Transformer's, of itself
    device = torch.device(chosen.device)
    seconds = chosen.seconds or (1.0 if chosen.quick else 20.0)
    can_compile = device.type == "cuda" or shutil.which("g++") is not None
    size = "laptop" if chosen.quick else chosen.size
    settings = Settings(seconds, device, size, compiled=can_compile and not chosen.quick)
    where, console = machine(device), Console()
    if not console.is_terminal:
        console.width = 160  # a file has room for the table
    folder = Path(os.environ.get("RESERVOIR_RESULTS") or "results") / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    measured: dict[str, list[Comparison | Saving | Traffic | Agreement]] = {}
    for name in chosen.names or BENCHMARKS:
        measured[name] = []
        for result in BENCHMARKS[name](settings):
            measured[name].append(result)
            console.print(f"{name}: {result}", highlight=False)
        record = {
            "benchmark": name,
            "seconds": seconds,
            "machine": where,
            "code": code(),
            "comparisons": [asdict(comparison) for comparison in measured[name]],
        }
        parts = (name, device.type, settings.size, "quick" if chosen.quick else None)
        path = folder / f"{'-'.join(part for part in parts if part)}.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    caption = ", ".join(f"{key} {value}" for key, value in where.items() if value is not None)
    caption = f"{caption}; figures in {folder}"
    savings, traffic = measured.pop("freezing", []), measured.pop("communication", [])
    if measured:
        console.print(table(measured, caption))
    if savings:
        console.print(freezing.table(savings, caption))
    if traffic:
        console.print(communication.table(traffic, caption))


if __name__ == "__main__":
    main()
