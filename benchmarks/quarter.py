"""A quarter of an hour of one GPU: the whole bench looked at and judged, from a checkout and without a network.

    python -m benchmarks.quarter --out OUT --minutes 9

Every row is tried at the rates of the sweep on the seeds that are for looking, unless `data/bench/looking.jsonl` has
them, and its judged seeds are run at the best. At first it says whether a GPU's weights have a CPU's bits, what it
gains to train many seeds together, and what a step costs next to torch's own layers. It stops in time: what was
finished is written, and what was not is counted. `looking.jsonl` and `rates.json` lie in OUT then, and in OUT/records
what `reservoir records OUT/records` packs. With `--scale smoke` all of it runs on a CPU in minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

from benchmarks import steps
from benchmarks.crowd import Failed, Job, spread
from benchmarks.measure import Settings
from reservoir.training import TrainingError
from reservoir.weights.files import digest
from reservoir_lab.launch import looking
from reservoir_lab.recipes import bench, text
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import execute, train_run
from reservoir_lab.runs.provenance import check_settled, code
from reservoir_lab.runs.records import find_records
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.together import build_all, executing_in_turn, table_of, training_of, whole

LARGEST = 15e6  # bytes of a file that is sent back
STEPS = 60  # of a timing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for what is found")
    parser.add_argument("--minutes", type=float, default=9.0, help="after which it stops")
    parser.add_argument("--processes", type=int, default=11, help="that train groups of seeds")
    parser.add_argument("--ways", type=int, default=3, help="groups that each has under way")
    parser.add_argument("--others", type=int, default=5, help="processes for the runs on real text")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--scale", default="laptop", choices=["smoke", "laptop"])
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--no-text", action="store_true", help="leave out the runs on real text")
    chosen = parser.parse_args()
    until = time.time() + 60 * chosen.minutes
    chosen.out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "no GPU"
    say(
        f"{name}, torch {torch.__version__}, {os.cpu_count()} cores; several processes share it: {share(device)}"
    )
    if not chosen.no_timing:
        same_bits(device)
        ratio(device, chosen.scale, until)
        beside_peers(device, chosen.scale, until)
    how = {
        "device": device,
        "processes": chosen.processes,
        "ways": chosen.ways,
        "others": chosen.others,
        "until": until,
    }
    bench_on(chosen, how)


def say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", flush=True)


def share(device: str) -> str:
    """Start the service by which several processes use one GPU at the same time, where there is one."""
    control = shutil.which("nvidia-cuda-mps-control") or "/usr/local/nvidia/bin/nvidia-cuda-mps-control"
    if device == "cpu" or not Path(control).exists():
        return "no"
    os.environ["CUDA_MPS_PIPE_DIRECTORY"] = os.environ["CUDA_MPS_LOG_DIRECTORY"] = tempfile.mkdtemp()
    begun = subprocess.run([control, "-d"], capture_output=True, text=True, timeout=20)
    check = "import torch; print(float(torch.ones(4, device='cuda').sum()))"
    tried = subprocess.run(["python3", "-c", check], capture_output=True, text=True, timeout=60)
    if begun.returncode == 0 and tried.stdout.strip() == "4.0":
        return "at the same time"
    subprocess.run([control], input="quit\n", capture_output=True, text=True, timeout=20)
    del os.environ["CUDA_MPS_PIPE_DIRECTORY"]
    return f"in turn ({(begun.stderr + tried.stderr).strip().splitlines()[-1:]})"


def same_bits(device: str) -> None:
    """Whether weights that are drawn on this device have the bits that a CPU draws."""
    for name in ("bench/circle/trained", "bench/brackets/mask", "bench/facts/reservoir-gru"):
        run = registry.get(name, scale="smoke")
        models = [build(run.evolve(device=where))[0] for where in (device, "cpu")]
        here, cpu = (digest(p.detach().cpu() for p in model.parameters()) for model in models)
        say(f"bits of {name} on {device} and cpu: {'the same' if here == cpu else 'DIFFERENT'}")


def ratio(device: str, scale: str, until: float) -> None:
    """What a seed costs alone and together with others."""
    budget = {"steps": STEPS, "validate_every": STEPS}
    for name in ("bench/circle/trained", "bench/circle/mask"):
        if time.time() > until:
            return say("no time is left")
        run = registry.get(name, scale=scale).evolve(device=device, budget=budget)  # type: ignore[arg-type]
        single = []
        for seed in range(2):
            model, task, _ = build(run.evolve(seed=seed))
            single.append(train_run(run, model, task).step_seconds)
        for n in (16, 64) if device == "cuda" else (4,):
            runs = [run.evolve(seed=seed) for seed in range(n)]
            models, tasks, _ = build_all(runs)
            for task in tasks:
                table_of(task, STEPS)  # so that drawing data is not timed
            begun = time.perf_counter()
            whole(training_of(runs, models, tasks))
            step = (time.perf_counter() - begun) / STEPS
            say(
                f"{name}: a step of one takes {1e3 * single[-1]:.2f} ms, of {n} together {1e3 * step:.2f} ms:"
                f" {n * single[-1] / step:.1f} times as fast a seed"
            )


def beside_peers(device: str, scale: str, until: float) -> None:
    """What a training step costs next to torch's own layers."""
    laptop = steps.translator(steps.LAPTOP, steps.TheirTransformer, inside=steps.DROPOUT)
    for name, measure in {"on the bench": steps.bench, "of a translator at laptop size": laptop}.items():
        if time.time() > until:
            return say("no time is left")
        found = measure(Settings(5.0 if scale == "laptop" else 0.1, torch.device(device)))
        say(
            f"a step {name}: {found.ours}, with torch's layers {found.theirs}: {found.ratio:.2f} times as fast"
        )


def bench_on(chosen: argparse.Namespace, how: dict[str, Any]) -> None:
    """All rows: those that begin with others' weights after those, and other sizes last, since time may run out.

    Raises:
        ValueError: as in `check_settled`, before anything is run.
    """
    check_settled(registry.get("bench/circle/trained", scale=chosen.scale, seed=bench.JUDGED[0]))
    # Said once, since what is found is noted in the checkout, which is changed then.
    os.environ.setdefault("RESERVOIR_CODE", json.dumps(code()))
    results = Path(os.environ.setdefault("RESERVOIR_RESULTS", tempfile.mkdtemp()))
    names = [name for name in looking.rows() if chosen.only in name]
    missing = set(looking.missing()) if chosen.scale == "laptop" else set(names)
    jobs = [] if chosen.no_text else on_text(chosen.scale, how["device"])
    for name in sorted(names, key=order):  # the last are the first to be cut off
        one, seeds = (name, chosen.scale), not_recorded(name, chosen.scale)
        jobs += [Job(row, (*one, seeds, name in missing))] if seeds or name in missing else []
    begun, done = time.time(), 0
    for found in spread(jobs, **how):
        done += 1
        if isinstance(found, Failed):
            say(f"{found.job.arguments} FAILED: {found.why}")
            continue
        lines, words = found
        looking.note(lines)
        say(f"{done}/{len(jobs)} {time.time() - begun:.0f} s {words}")
    say(f"{done} of {len(jobs)} done")
    looking.write_rates()
    send_back(results, chosen.out / "records")
    for path in (looking.found_file(), looking.found_file().with_name("rates.json")):
        shutil.copy(path, chosen.out / path.name)


def not_recorded(name: str, scale: Any) -> list[int]:
    """The judged seeds of a row of which no record ships; of a row of other sizes the first ten."""
    found = {record.seed for record in find_records(f"bench/{name}", scale=scale)}
    judged = bench.JUDGED[:10] if name.partition("/")[0] in bench.SIZED else bench.JUDGED
    return [seed for seed in judged if seed not in found]


def on_text(scale: Any, device: str) -> list[Job]:
    """The runs on real text that no record ships of, each trained alone on the GPU; all seeds of a row in turn."""
    jobs = []
    for recipe in (*(f"text/{name}" for name in text.ROWS), *text.OTHERS):
        found = {record.seed for record in find_records(recipe, scale=scale)}
        jobs += [
            Job(reading, (recipe, seed, scale, device), True) for seed in text.SEEDS if seed not in found
        ]
    return jobs


def reading(recipe: str, seed: int, scale: Any, on: str, *, device: str) -> Generator[None, None, Any]:
    """Execute a run on real text."""
    yield
    begun = time.time()
    record = execute(registry.get(recipe, scale=scale, seed=seed).evolve(device=on))
    return [], f"{recipe}, seed {seed}: {record.score:.2f} in {time.time() - begun:.0f} s"


def row(
    name: str, scale: Any, seeds: list[int], missing: bool, *, device: str
) -> Generator[None, None, tuple[list[dict[str, Any]], str]]:
    """Look at a row if that is missing, and execute its judged seeds at the best rate; what came of it in a line."""
    lines: list[dict[str, Any]] = []
    words = name
    if missing:
        lines = yield from looking.sweep(name, scale, device=device)
        by_rate = looking.by_rate(lines)
        lr = looking.best(by_rate)
        bench.rates()[name] = lr  # what the recipe is told in this process
        words += f", looked at: {statistics.fmean(line['score'] for line in by_rate[lr]):.1f} at {lr:g}"
    runs: list[Run] = [registry.get(f"bench/{name}", scale=scale, seed=seed) for seed in seeds]
    # Another row that begins with the weights of these may train them just now.
    found = (yield from executing_in_turn([run.evolve(device=device) for run in runs])) if runs else []
    bad = [str(one) for one in found if isinstance(one, TrainingError)]
    scores = [one.score for one in found if not isinstance(one, TrainingError)]
    if scores:
        words += f", judged: {statistics.fmean(scores):.1f} of {len(scores)} seeds"
    return lines, "; ".join([words, *bad])


def order(name: str) -> tuple[int, float]:
    """The bench itself first, then what sentences about memory rest on, other sizes, the rest; long runs first."""
    task, _, row = name.partition("/")
    if task not in bench.SIZED:
        return 0, -cost(name)
    if "450" in task:
        return 4, -cost(name)
    if task.startswith("memory"):
        return (1 if row in ("trained", "frozen-feed-forward", "mask") else 3), -cost(name)
    return 2, -cost(name)


def cost(name: str) -> float:
    """About how long a row takes: what is begun last should be short."""
    run = looking.run_of(name, bench.USUAL, 0)
    task = bench.TASKS[name.partition("/")[0]]
    return run.budget.steps * (1 + (task.width / 64) ** 2) * task.layers


def send_back(results: Path, out: Path) -> None:
    """Write all records as lines, in files that are small enough to be sent."""
    out.mkdir(parents=True, exist_ok=True)
    number, size = 0, 0.0
    lines: list[str] = []
    paths = sorted(results.rglob("seed-*.json"))

    def write() -> None:
        packed = gzip.compress("".join(lines).encode(), 6)
        (out / f"records-{number}.jsonl.gz").write_bytes(packed)
        say(f"records-{number}.jsonl.gz: {len(lines)} records, {len(packed) / 1e6:.1f} MB")

    for path in paths:
        line = json.dumps(json.loads(path.read_text(encoding="utf-8")), separators=(",", ":")) + "\n"
        lines.append(line)
        size += len(line) / 4  # gzip makes them at least this much smaller
        if size > LARGEST:
            write()
            number, lines, size = number + 1, [], 0.0
    if lines:
        write()


if __name__ == "__main__":
    main()
