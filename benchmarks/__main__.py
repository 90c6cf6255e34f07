"""Run benchmarks, print one table, keep the figures as JSON under ./results/benchmarks."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import attention, draw, dropout, linear, loss, step
from benchmarks.measure import Benchmark, Comparison, Settings
from reservoir.experiments.machine import code, machine

BENCHMARKS: dict[str, Benchmark] = {
    "step": step.run,
    "attention": attention.run,
    "dropout": dropout.run,
    "loss": loss.run,
    "linear": linear.run,
    "draw": draw.run,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure the library beside its peers."
    )
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"some of {', '.join(BENCHMARKS)}; all by default"
    )
    parser.add_argument(
        "--quick", action="store_true", help="the laptop's size, a second each: to see that all runs"
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


def table(measured: dict[str, list[Comparison]], caption: str) -> Table:
    """All comparisons, one a line."""
    shown = Table(title="Ours beside its peers (ratio: how many times faster ours is)", caption=caption)
    for column in ("benchmark", "case", "peer"):
        shown.add_column(column, overflow="fold")
    for column in ("ours", "theirs", "a second", "ratio", "quartiles", "by cpu time", "pairs", "asked for"):
        shown.add_column(column, justify="right", no_wrap=column != "a second")
    for name, comparisons in measured.items():
        for c in comparisons:
            asked = "" if c.required is None else f"{c.required:g}"
            if c.required is not None:
                asked += " [green]✓[/]" if c.ratio >= c.required else " [red]✗[/]"
            shown.add_row(
                name,
                c.case,
                c.peer,
                f"{c.ours:,.4g}" if c.ours < 100 else f"{c.ours:,.0f}",
                f"{c.theirs:,.4g}" if c.theirs < 100 else f"{c.theirs:,.0f}",
                c.unit,
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
    device = torch.device(chosen.device)
    seconds = chosen.seconds or (1.0 if chosen.quick else 20.0)
    settings = Settings(seconds, device, "laptop" if chosen.quick else chosen.size)
    where, console = machine(device), Console()
    folder = Path(os.environ.get("RESERVOIR_RESULTS") or "results") / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    measured: dict[str, list[Comparison]] = {}
    for name in chosen.names or BENCHMARKS:
        measured[name] = []
        for comparison in BENCHMARKS[name](settings):
            measured[name].append(comparison)
            console.print(
                f"{name}: {comparison.case}: {comparison.ratio:.2f} × {comparison.peer}", highlight=False
            )
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
    console.print(table(measured, f"{caption}; figures in {folder}"))


if __name__ == "__main__":
    main()
