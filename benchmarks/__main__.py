"""Measure the list of speeds, or lines of it, and write each to one record as soon as it is measured."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks import decoding, steps, waits, weights
from benchmarks.measure import Measured, Settings
from reservoir.files import atomic_write
from reservoir_book.benchmarks import settled, times
from reservoir_lab.runs.provenance import git, machine

RECORD = Path(__file__).resolve().parent.parent / "data" / "benchmarks" / "speed.json"
PROCESSOR, CLOCK = "processor time", "by the clock"
SMALL = "at width 32 a step is some hundred small operations that take about equally long, and"


@dataclass(frozen=True)
class Speed:
    """A line of the list.

    Args:
        case: what is measured.
        peer: next to what; a limit is what readers are promised.
        bar: the ratio that is asked for.
        measure: does it.
        why: of a limit, the reason in a sentence; empty where the bar is met.
        clock: what seconds are counted.
        device: where.
    """

    case: str
    peer: str
    bar: float
    measure: Callable[[Settings], Measured]
    why: str = ""
    clock: str = PROCESSOR
    device: str = "cpu"


MARIAN = steps.translator(steps.IWSLT, steps.TheirMarian)
LIST = {
    "import": Speed("import reservoir and a first use of it", "import torch", 0.9, waits.importing),
    "list": Speed("reservoir list", "import torch, which it does without", 2, waits.listing),
    "step-bench": Speed(
        "a training step on the bench, three tasks, fp32", "nn.TransformerEncoder", 0.9, steps.bench
    ),
    "step-laptop": Speed(
        "a training step of a translator at laptop size, bf16",
        "nn.Transformer",
        1.45,
        steps.translator(steps.LAPTOP, steps.TheirTransformer, inside=steps.DROPOUT),
    ),
    "step-iwslt": Speed(
        "a training step of a translator at IWSLT's size, bf16", "transformers' Marian", 1.35, MARIAN
    ),
    "step-iwslt-gpu": Speed(
        "the same step on a GPU",
        "transformers' Marian",
        1.35,
        MARIAN,
        why="on a GPU a model of this size waits for the program that starts one operation after the other, which"
        " cheaper operations do not shorten",
        clock=CLOCK,
        device="cuda",
    ),
    "freezing": Speed(
        "what seven freezing plans save of a step at laptop size, bf16",
        "the ideal saving",
        0.9,
        steps.freezing,
    ),
    "mask": Speed(
        "a step on the bench under masks (brackets)",
        "the same with trained weights",
        0.909,
        steps.row("brackets/mask", "brackets/trained"),
        why=f"{SMALL} choosing each matrix's mask and handing its gradient to the scores adds more of them",
    ),
    "transform": Speed(
        "a step on the bench with Fourier mixing (circle)",
        "the same without mixing",
        0.909,
        steps.row("circle/mix-fourier", "circle/no-attention"),
        why=f"{SMALL} the transforms, forward and back, add more of them to what feed-forward layers take",
    ),
    "selection": Speed(
        "choosing half of 1,024 × 512 scores, as in training", "a full sort", 15, weights.selection
    ),
    "loading": Speed(
        "a masked translator loaded from its seed, at IWSLT's size",
        "safetensors, 32 bits a weight",
        0.25,
        weights.loading,
    ),
    "decoding": Speed(
        "translating with beams of five, fp32",
        "CTranslate2",
        0.85,
        decoding.decoding,
        why="CTranslate2 runs the whole search in C++, and ours starts each operation of each step from Python",
    ),
    "seeds": Speed("twenty seeds of a row of the bench", "two and a half minutes", 1, waits.seeds),
    "cell": Speed("the slowest cell of the front table, in chromium", "15 seconds", 1, waits.cell),
    "run-all": Speed("Run All of the slowest chapter", "90 seconds", 1, waits.run_all),
    "setup": Speed("make setup in a fresh clone", "three minutes", 1, waits.setup, clock=CLOCK),
    "book": Speed("make book after it", "one minute", 1, waits.book, clock=CLOCK),
    "test": Speed("make test", "ten minutes", 1, waits.test, clock=CLOCK),
}
"""Name -> line, in the order of the page."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(LIST)}; all by default")
    parser.add_argument(
        "--resume", action="store_true", help="leave out what this commit has recorded on this machine"
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, metavar="S", help="how long to measure a line (20)"
    )
    parser.add_argument("--out", type=Path, default=RECORD, help="the record (data/benchmarks/speed.json)")
    chosen = parser.parse_args()
    for name in chosen.names:
        if name not in LIST:
            parser.error(f"there is no line {name!r}: choose from {', '.join(LIST)}")
    return chosen


def about(device: torch.device) -> dict[str, Any]:
    """Where and of what code a line is measured; that the record itself has changed is no change of the code."""
    here, root = machine(device), RECORD.parent.parent.parent
    changed = git(
        root, "status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RECORD.relative_to(root)}"
    )
    return {
        "machine": here["gpu"] or f"{here['cpu']}, {os.cpu_count()} cores, {here['capability']}",
        "torch": here["torch"],
        "commit": (git(root, "rev-parse", "--short=8", "HEAD") or "unknown") + " and changes" * bool(changed),
    }


def written(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of a record, by name; none where there is no record yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record(name: str, found: Measured, path: Path, place: dict[str, Any]) -> None:
    """Write a line to the record, in the order of the list; what is no longer in the list leaves it."""
    speed = LIST[name]
    said = {key: getattr(speed, key) for key in ("case", "peer", "bar", "clock", "why")}
    today = datetime.date.today().isoformat()
    lines = written(path) | {name: said | asdict(found) | place | {"date": today}}
    kept = {one: lines[one] for one in LIST if one in lines}
    atomic_write(path, json.dumps(kept, indent=1, ensure_ascii=False).encode() + b"\n")


def main() -> None:
    chosen = arguments()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="enable_nested_tensor")  # nn.Transformer's, of itself
    failed = False
    for name in chosen.names or LIST:
        speed = LIST[name]
        if speed.device == "cuda" and not torch.cuda.is_available():
            print(f"{name}: not measured: it needs a GPU")
            failed = failed or name in chosen.names
            continue
        place, begun = about(torch.device(speed.device)), time.perf_counter()
        if chosen.resume and place.items() <= written(chosen.out).get(name, {}).items():
            print(f"{name}: recorded before")
            continue
        try:
            found = speed.measure(Settings(chosen.seconds, torch.device(speed.device)))
        except (ImportError, RuntimeError, OSError) as error:  # the others do not depend on it
            print(f"{name}: not measured: {error}", flush=True)
            failed = True
            continue
        record(name, found, chosen.out, place)
        spread = "" if found.low is None else f" ({times(found.low)} to {times(found.high or 0)})"
        loose = "" if settled(found.low, found.ratio, found.high) else ", not settled"
        reached = "reaches" if found.ratio >= speed.bar else "misses"
        print(
            f"{name}: {found.ours}, {speed.peer} {found.theirs}: {times(found.ratio)}{spread}{loose},"
            f" {reached} {speed.bar:g}; took {time.perf_counter() - begun:.0f} s",
            flush=True,
        )
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
