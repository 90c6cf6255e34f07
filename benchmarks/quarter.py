"""A quarter of an hour of one GPU: the bench looked at or judged, from a checkout and without a network.

    python -m benchmarks.quarter look --out OUT --minutes 5
    python -m benchmarks.quarter judge --out OUT --minutes 9

`look` tries every row's learning rates on the seeds that are for looking and writes `looking.jsonl` and `rates.json`;
`judge` runs the judged seeds of every row and writes `records-*.jsonl.gz`, which `reservoir records` packs. Both first
say whether a GPU's weights have a CPU's bits and what it gains to train many seeds together. They stop in time: what
was finished is written, and what was not is named. `--scale smoke` tries all of it on a CPU in a minute.
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
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import torch

from reservoir.training import TrainingError
from reservoir.training.together import train_together
from reservoir.weights.files import digest
from reservoir_lab.launch import looking
from reservoir_lab.launch.crowd import Failed, Job, alone, spread
from reservoir_lab.recipes import bench
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import execute, train_run
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.together import executing

SEEDS = {"main": bench.JUDGED, "sized": range(200, 210)}
LARGEST = 15e6  # bytes of a file that is sent back
STEPS = 60  # of a timing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["look", "judge"])
    parser.add_argument("--out", type=Path, required=True, help="folder for what is found")
    parser.add_argument("--minutes", type=float, default=5.0, help="after which it stops")
    parser.add_argument("--processes", type=int, default=11, help="that train groups of seeds")
    parser.add_argument("--ways", type=int, default=3, help="groups that each has under way")
    parser.add_argument("--others", type=int, default=5, help="processes for what is trained alone, on a CPU")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--scale", default="laptop", choices=["smoke", "laptop"])
    parser.add_argument("--no-timing", action="store_true")
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
        ratio(device, chosen.scale)
    how = {
        "device": device,
        "processes": chosen.processes,
        "ways": chosen.ways,
        "others": chosen.others,
        "until": until,
    }
    (look if chosen.what == "look" else judge)(chosen, how)


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


def ratio(device: str, scale: str) -> None:
    """What a seed costs alone and together with others."""
    budget = {"steps": STEPS, "validate_every": STEPS}
    for name in ("bench/circle/trained", "bench/circle/mask"):
        run = registry.get(name, scale=scale).evolve(device=device, budget=budget)  # type: ignore[arg-type]
        single = []
        for seed in range(2):
            model, task, _ = build(run.evolve(seed=seed))
            single.append(train_run(run, model, task).step_seconds)
        for n in (16, 64) if device == "cuda" else (4,):
            built = [build(run.evolve(seed=seed)) for seed in range(n)]
            models, tasks = [one[0] for one in built], [one[1] for one in built]
            for task in tasks:
                task.table(STEPS)  # so that drawing data is not timed
            begun = time.perf_counter()
            train_together(models, tasks, optimisers=[run.optimiser] * n, budget=run.budget)
            step = (time.perf_counter() - begun) / STEPS
            say(
                f"{name}: a step of one takes {1e3 * single[-1]:.2f} ms, of {n} together {1e3 * step:.2f} ms:"
                f" {n * single[-1] / step:.1f} times as fast a seed"
            )


def finish(
    jobs: Sequence[Job], how: dict[str, Any], take: Callable[[Any], str], label: Callable[[Job], str]
) -> None:
    """Do jobs and say what comes of each; at the end, how many there were no time for."""
    begun, done = time.time(), 0
    for found in spread(jobs, **how):
        done += 1
        words = f"{label(found.job)} FAILED: {found.why}" if isinstance(found, Failed) else take(found)
        say(f"{done}/{len(jobs)} {time.time() - begun:.0f} s {words}")
    if done < len(jobs):
        say(f"no time for {len(jobs) - done} of {len(jobs)}")


def look(chosen: argparse.Namespace, how: dict[str, Any]) -> None:
    """Every row at the rates of the sweep; rows that begin with others' weights last, at the best of those."""
    looking.found_file().write_text("", encoding="utf-8")

    def take(lines: list[dict[str, Any]]) -> str:
        looking.note(lines)
        lr = looking.best(looking.by_rate(lines))
        mean = statistics.fmean(line["score"] for line in lines if line["lr"] == lr)
        return f"{lines[0]['row']}: {mean:.1f} at {lr:g}"

    names = sorted((name for name in looking.rows() if chosen.only in name), key=cost, reverse=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RESERVOIR_RESULTS"] = folder
        for later in (False, True):
            jobs = [
                Job(looking.sweep, (name, chosen.scale), alone(looking.run_of(name, bench.USUAL, 0)))
                for name in names
                if looking.begins_with_others(name) == later
            ]
            finish(jobs, how, take, lambda job: job.arguments[0])
            looking.write_rates()
    for path in (looking.found_file(), looking.found_file().with_name("rates.json")):
        shutil.copy(path, chosen.out / path.name)


def cost(name: str) -> float:
    """About how long a row takes: what is begun last should be short."""
    run = looking.run_of(name, bench.USUAL, 0)
    task = bench.TASKS[name.partition("/")[0]]
    return run.budget.steps * (1 + (task.width / 64) ** 2) * run.model.layers


def judge(chosen: argparse.Namespace, how: dict[str, Any]) -> None:
    """The judged seeds of every row."""
    results = Path(tempfile.mkdtemp())
    os.environ["RESERVOIR_RESULTS"] = str(results)
    names = [name for name in looking.rows() if chosen.only in name]
    jobs = []
    for name in sorted(names, key=order):
        recipe = f"bench/{name}"
        seeds = list(SEEDS["sized" if name.partition("/")[0] in bench.SIZED else "main"])
        if alone(registry.get(recipe, scale=chosen.scale)):
            jobs += [Job(judged, (recipe, chosen.scale, [seed]), True) for seed in seeds]
        else:
            jobs.append(Job(judged, (recipe, chosen.scale, seeds)))
    finish(jobs, how, str, lambda job: f"{job.arguments[0]} {job.arguments[2]}")
    send_back(results, chosen.out)


def order(name: str) -> tuple[bool, bool, float]:
    """Other sizes last, since time may run out; before them what begins with others' weights."""
    return name.partition("/")[0] in bench.SIZED, looking.begins_with_others(name), -cost(name)


def judged(recipe: str, scale: Any, seeds: list[int], *, device: str) -> Generator[None, None, str]:
    """Execute the seeds of a recipe, together where they can be; what came of them in a line."""
    runs: list[Run] = [registry.get(recipe, scale=scale, seed=seed).evolve(device=device) for seed in seeds]
    if alone(runs[0]):
        yield
        found: list[Any] = [execute(run.evolve(device="cpu")) for run in runs]
    else:
        found = yield from executing(runs)
    bad = [str(one) for one in found if isinstance(one, TrainingError)]
    scores = [one.score for one in found if not isinstance(one, TrainingError)]
    mean = f"{statistics.fmean(scores):.1f} of {len(scores)} seeds" if scores else "none"
    return f"{recipe}: {mean}{'; ' + '; '.join(bad) if bad else ''}"


def send_back(results: Path, out: Path) -> None:
    """Write all records as lines, in files that are small enough to be sent."""
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
