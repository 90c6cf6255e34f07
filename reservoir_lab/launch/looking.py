"""Look at the bench before it is judged: every row at the rates of one sweep, on the seeds that are for looking.

`python -m reservoir_lab.launch.looking` runs what is missing in `data/bench/looking.jsonl`, a line a run, and writes
the rate that is best for each row to `data/bench/rates.json`. It can be cut off and started again at any time. Every
row is tried at five rates from 3e-4 to 3e-2, and at more where the best is the first or the last.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_write
from reservoir.training import TrainingError
from reservoir_lab.recipes import bench
from reservoir_lab.recipes.bench import USUAL
from reservoir_lab.runs.building import task_of
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.together import built_and_trained, whole

SEEDS = range(3)
NUMBERS = range(-2, 3)  # of the rates that every row is trained at
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


def run_of(name: str, lr: float, seed: int, *, device: str = "cpu", scale: Scale = "laptop") -> Run:
    """The run of a row, "<task>/<row>", at a rate and with a seed."""
    task, _, row = name.partition("/")
    run = bench.make(task, row, scale, lr=lr)
    return run.evolve(recipe=f"bench/{name}", seed=seed, device=device)


def score(lines: list[dict[str, Any]]) -> tuple[float, float]:
    """How good a rate is: its mean score; of equals, the lower cost to `LEVEL`, never reached being the most."""
    costs = [line["to_90"] if line["to_90"] is not None else math.inf for line in lines]
    return round(statistics.fmean(line["score"] for line in lines), 1), -statistics.median(costs)


def best(tried: dict[float, list[dict[str, Any]]], known: float | None = None) -> float:
    """The best rate; of equals `known`, or the highest."""
    top = max(map(score, tried.values()))
    equals = [lr for lr, lines in tried.items() if score(lines) == top]
    return known if known in equals else max(equals)


def missing() -> list[str]:
    """The rows whose sweep is not complete."""
    by_row = tried()
    return [name for name in rows() if not _done(by_row.get(name, {}))]


def rows() -> list[str]:
    """All rows, "<task>/<row>"."""
    return [f"{task}/{row}" for task, row in bench.table()]


def begins_with_others(name: str) -> bool:
    """Whether a row begins with weights that another one has trained."""
    return run_of(name, USUAL, 0).start is not None


def tried() -> dict[str, dict[float, list[dict[str, Any]]]]:
    """The lines of each row and rate."""
    by_row: dict[str, dict[float, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for (row, lr, _), line in read().items():
        by_row[row][lr].append(line)
    return by_row


def _done(tried: dict[float, list[dict[str, Any]]]) -> bool:
    whole = {lr: lines for lr, lines in tried.items() if len(lines) == len(SEEDS)}
    return {rate(n) for n in NUMBERS} <= set(whole) and not extended(whole)


def looking(runs: Sequence[Run]) -> Generator[None, None, list[dict[str, Any]]]:
    """Train and test runs of one row together, in pieces, and say what came of each in a line."""
    found = []
    parts = yield from built_and_trained(runs)
    for run, (model, task, corpus, history, before) in zip(runs, parts, strict=True):
        row, lr = run.recipe.removeprefix("bench/"), run.optimiser.lr
        line = {"row": row, "lr": lr, "seed": run.seed, "run": run.identity()}
        if isinstance(history, TrainingError):
            line |= {"score": 0.0, "to_90": None, "diverged": True}
        else:
            tests = task_of(run).test(model, task, corpus)["test"]
            measures = {name: round(value, 2) for name, value in tests.items() if isinstance(value, float)}
            reached = next((p for p in history.points if p.metrics[task.metric] >= LEVEL), None)
            line |= {
                "score": measures.pop(task.metric),
                "to_90": reached.flops / 1e9 if reached else None,
                "steps_to_90": reached.step if reached else None,
                "gflop": round(history.flops / 1e9, 2),
                "trainable": before.made_of.trainable,
                "measures": measures,
                "seconds": round(history.cpu_seconds, 1),
            }
        found.append(line | {"together": len(runs)})
        yield
    return found


def sweep(name: str, scale: Scale = "laptop", *, device: str) -> Generator[None, None, list[dict[str, Any]]]:
    """Look at a row at all rates of the sweep and beyond, as far as `extended` says, in pieces."""
    lines: list[dict[str, Any]] = []
    # Together with the others, one rate more on either side costs nothing, and one later costs as much as all.
    numbers = list(range(NUMBERS.start - 1, NUMBERS.stop + 1))
    while numbers:
        rates = map(rate, numbers)
        runs = [run_of(name, lr, seed, device=device, scale=scale) for lr in rates for seed in SEEDS]
        lines += yield from looking(runs)
        numbers = extended(by_rate(lines))
    return lines


def extended(tried: dict[float, list[dict[str, Any]]]) -> list[int]:
    """The number of the rate that is to be tried next, where the best is the first or the last; nothing elsewhere."""
    numbers = sorted(n for n in range(-4, 5) if rate(n) in tried)
    lr, low, high = best(tried), numbers[0], numbers[-1]
    if lr == rate(low) and rate(low - 1) >= FEWEST:
        return [low - 1]
    return [high + 1] if lr == rate(high) and rate(high + 1) <= MOST else []


def choose() -> dict[str, float]:
    """The best rate of each row whose sweep is complete; one that was chosen stays while none is better."""
    known = bench.rates()
    return {name: best(lines, known.get(name)) for name, lines in sorted(tried().items()) if _done(lines)}


def write_rates() -> None:
    """Write `choose` to where recipes read it, in this process too."""
    text = json.dumps(choose(), indent=1) + "\n"
    atomic_write(shipped() / "bench" / "rates.json", text.encode(), advice=ADVICE)
    bench.rates.cache_clear()


def note(lines: Sequence[dict[str, Any]]) -> None:
    """Append lines to the file; one that was cut off as it was written does not break the next."""
    with found_file().open("a", encoding="utf-8") as file:
        begun = "" if file.tell() == 0 or found_file().read_bytes().endswith(b"\n") else "\n"
        file.write(begun + "".join(json.dumps(line) + "\n" for line in lines))


def look_at(names: Sequence[str]) -> None:
    """Look at rows, "<task>/<row>", one after the other; note what is found and write the rates."""
    started = time.time()
    for number, name in enumerate(names, start=1):
        found = whole(sweep(name, device="cpu"))
        note(found)
        lr = best(by_rate(found))
        mean, _ = score(by_rate(found)[lr])
        print(
            f"{number} of {len(names)}, {time.time() - started:.0f} s: {name}, {mean:.1f} at {lr:g}",
            flush=True,
        )
    write_rates()


def by_rate(lines: Sequence[dict[str, Any]]) -> dict[float, list[dict[str, Any]]]:
    """Lines of one row by their rate."""
    return {lr: [line for line in lines if line["lr"] == lr] for lr in {line["lr"] for line in lines}}


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    only = parser.parse_args().only
    if not any(only in name for name in rows()):
        parser.error(f"--only must be part of a row's name, such as facts/trained, got {only!r}")
    # Rows that begin with trained weights want those of the rate that is best.
    for later in (False, True):
        look_at([name for name in missing() if begins_with_others(name) == later and only in name])
    print("Each of these rows has its best rate in data/bench/rates.json.")


if __name__ == "__main__":
    main()
