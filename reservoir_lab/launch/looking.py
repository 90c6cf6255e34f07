"""Look at the bench before it is judged: every row at the rates of one sweep, on the seeds that are for looking.

`python -m reservoir_lab.launch.looking` runs what is missing in `data/bench/looking.jsonl`, a line a run, and writes
the rate that is best for each row to `data/bench/rates.json`. It can be cut off and started again at any time, and
several processes can share the work. The sweep goes on where a row's best rate is the first or the last that was tried.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_write
from reservoir.training import TrainingError
from reservoir.weights import report
from reservoir_lab.recipes import bench
from reservoir_lab.runs.building import build, task_of
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.run import Run

SEEDS = range(3)
FEWEST, MOST = 1e-4, 1e-1  # rates beyond which no sweep goes
ADVICE = "looking writes into the checkout"
LEVEL = 90.0  # percent: a run has learned once a validation reaches it


def rate(number: int) -> float:
    """Rate `number` of a sweep to one digit: 0 is 3e-3, and each is the factor √10 above the one before."""
    return float(f"{10 ** (number / 2 - 2.5):.0e}")


def found_file() -> Path:
    """The lines of all runs that were looked at."""
    return shipped() / "bench" / "looking.jsonl"


def read() -> dict[tuple[str, float, int], dict[str, Any]]:
    """What was found, by (row, rate, seed).

    A line does not count if its row is gone or was something else then, or if it was cut off as it was written.
    """
    found: dict[tuple[str, float, int], dict[str, Any]] = {}
    text = found_file().read_text(encoding="utf-8") if found_file().exists() else ""
    known = {f"{task}/{row}" for task, row in bench.table()}
    for line in text.splitlines(keepends=True):
        if not line.endswith("}\n"):
            continue
        one = json.loads(line)
        key = one["row"], one["lr"], one["seed"]
        if one["row"] in known and one["run"] == run_of(*key).identity():
            found[key] = one
    return found


def run_of(name: str, lr: float, seed: int) -> Run:
    """The run of a row, "<task>/<row>", at a rate and with a seed."""
    task, _, row = name.partition("/")
    return bench.make(task, row, "laptop", lr=lr).evolve(recipe=f"bench/{name}", seed=seed, device="cpu")


def score(lines: list[dict[str, Any]]) -> tuple[float, float]:
    """How good a rate is: its mean score; of equals, the lower cost to `LEVEL`, never reached being the most."""
    costs = [line["to_90"] if line["to_90"] is not None else math.inf for line in lines]
    return round(statistics.fmean(line["score"] for line in lines), 1), -statistics.median(costs)


def best(tried: dict[float, list[dict[str, Any]]]) -> float:
    """The best rate of those that have all seeds."""
    return max(tried, key=lambda lr: score(tried[lr]))


def wanted(found: dict[tuple[str, float, int], dict[str, Any]]) -> Iterator[tuple[str, str, float, int]]:
    """The runs that are missing: (task, row, rate, seed)."""
    missing = []
    for task, row in bench.table():
        name = f"{task}/{row}"
        numbers = [0, 1, -1]
        while True:
            tried = {rate(n): [found.get((name, rate(n), seed)) for seed in SEEDS] for n in numbers}
            gaps = [
                (task, row, lr, seed) for lr, lines in tried.items() for seed in SEEDS if lines[seed] is None
            ]
            missing += gaps
            if gaps:
                break
            lr = best(tried)  # type: ignore[arg-type]
            low, high = min(numbers), max(numbers)
            if lr == rate(low) and rate(low - 1) >= FEWEST:
                numbers.append(low - 1)
            elif lr == rate(high) and rate(high + 1) <= MOST:
                numbers.append(high + 1)
            else:
                break
    return iter(missing)


def look(run: Run) -> dict[str, Any]:
    """Train and test one run, and say what came of it in a line."""
    started = time.process_time()
    model, task, corpus = build(run)
    trainable = report(model).trainable
    line = {
        "row": run.recipe.removeprefix("bench/"),
        "lr": run.optimiser.lr,
        "seed": run.seed,
        "run": run.identity(),
    }
    try:
        history = train_run(run, model, task, name=run.recipe)
    except TrainingError:
        return line | {"score": 0.0, "to_90": None, "diverged": True}
    tests, _ = task_of(run).test(model, task, corpus)
    reached = next((p for p in history.points if p.metrics[task.metric] >= LEVEL), None)
    measures = {name: round(value, 2) for name, value in tests["test"].items() if isinstance(value, float)}
    return line | {
        "score": measures.pop(task.metric),
        "to_90": reached.flops / 1e9 if reached else None,
        "steps_to_90": reached.step if reached else None,
        "gflop": round(history.flops / 1e9, 2),
        "trainable": trainable,
        "measures": measures,
        "curve": [round(point.metrics[task.metric], 1) for point in history.points],
        "seconds": round(time.process_time() - started, 1),
    }


def choose() -> dict[str, float]:
    """The best rate of each row for which the first three were tried with all seeds."""
    by_row: dict[str, dict[float, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for (row, lr, seed), line in read().items():
        if seed in SEEDS:
            by_row[row][lr].append(line)
    chosen = {}
    for row, tried in sorted(by_row.items()):
        whole = {lr: lines for lr, lines in tried.items() if len(lines) == len(SEEDS)}
        if len(whole) >= 3:
            chosen[row] = best(whole)
    return chosen


def _whole(path: Path) -> bool:
    """Whether the last line of a file was written to its end."""
    return path.read_bytes().endswith(b"\n")


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=int, default=0, help="which of the processes this is, from 0")
    parser.add_argument("--of", type=int, default=1, help="how many processes share the work")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--choose", action="store_true", help="only write the rates that are best")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    while not chosen.choose:
        missing = [one for one in wanted(read()) if chosen.only in f"{one[0]}/{one[1]}"]
        mine = [one for one in missing if zlib.crc32(repr(one).encode()) % chosen.of == chosen.part]
        if not mine:
            break
        for task, row, lr, seed in mine:
            started = time.time()
            line = look(run_of(f"{task}/{row}", lr, seed))
            with found_file().open("a", encoding="utf-8") as file:
                begun = "" if file.tell() == 0 or _whole(found_file()) else "\n"
                file.write(begun + json.dumps(line) + "\n")
            print(
                f"{task}/{row} {lr:g} seed {seed}: {line['score']:.1f}, {time.time() - started:.0f} s",
                flush=True,
            )
    rates = choose()
    atomic_write(
        shipped() / "bench" / "rates.json", (json.dumps(rates, indent=1) + "\n").encode(), advice=ADVICE
    )


if __name__ == "__main__":
    main()
