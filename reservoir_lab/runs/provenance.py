"""Where a run was made: machine, versions, commit; and whether the rules by which it is judged were settled."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import reservoir
from reservoir.datasets.shipped import shipped
from reservoir_lab.runs.run import Run

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware multiplies bf16 itself; elsewhere it is emulated, to the same values but slowly.

    Args:
        device: a GPU or a CPU; the answer for any other device is no.

    Returns:
        True for a GPU that supports bf16 and for a CPU with AVX-512-BF16 or AMX.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        # There is no public name for these yet; where one is missing, the answer is no.
        tests = (
            getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
        )
        return any(test is not None and test() for test in tests)
    return False


def machine(device: torch.device) -> dict[str, Any]:
    """Processor and GPU names, the instructions that torch uses, threads and versions."""
    return {
        "cpu": _processor(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "bf16": has_bf16(device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
    }


# The folders whose code a run executes: a page that is edited beside it changes nothing.
CODE = ("reservoir", "reservoir_lab", "reservoir_book", "benchmarks")


def code() -> dict[str, Any]:
    """Library version and, in a git checkout, the commit and whether its code differed from it.

    Code that was brought to another machine may lie in a checkout of something else there, or in none. `RESERVOIR_CODE`
    then says what this function had found where it came from; whoever brings the code sets it.
    """
    if brought := os.environ.get("RESERVOIR_CODE"):
        return json.loads(brought)
    root = Path(reservoir.__file__).parent.parent
    commit = dirty = None
    if (root / ".git").exists():
        commit = git(root, "rev-parse", "HEAD")
        status = git(root, "status", "--porcelain", "--untracked-files=no", "--", *CODE)
        dirty = None if status is None else bool(status)
    return {"version": reservoir.__version__, "commit": commit, "dirty": dirty}


def peak_memory() -> int:
    """The most memory that this process has held at once, in bytes; 0 where the system does not say."""
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_seconds() -> float:
    """Processor time of this process so far, in seconds."""
    times = os.times()
    return times.user + times.system


def git(root: Path, *arguments: str) -> str | None:
    """What git answers, without blanks at its ends; None where it cannot."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@dataclass(frozen=True)
class Peaks:
    """A machine at its best: operations and bytes a second, and the seconds that it takes to start an operation."""

    flops: float
    bandwidth: float
    start: float


def peaks(device: torch.device, dtype: torch.dtype) -> Peaks:
    """Measure a machine, in a second or so: a square product, a copy, and an operation on next to nothing.

    Processor time is what counts on a CPU: other programs on a shared machine do not lengthen it. A GPU is given more
    at once and many times over, or the clock would count how long it takes to be asked.
    """
    size, numbers, times = (8192, 1 << 28, 10) if device.type == "cuda" else (1024, 1 << 24, 1)
    a = torch.randn(size, size, device=device).to(dtype)
    large, small = torch.zeros(numbers, device=device), torch.zeros(1, device=device)
    other = torch.empty_like(large)
    return Peaks(
        flops=2 * size**3 / _fastest(lambda: a @ a, device, times),
        bandwidth=2 * large.nbytes / _fastest(lambda: other.copy_(large), device, times),
        start=_fastest(lambda: small.add_(1.0), device, 100),
    )


def _fastest(work: Callable[[], object], device: torch.device, times: int) -> float:
    """Seconds that `work` takes, at best, done so many times in a row."""
    clock, found = (time.process_time if device.type == "cpu" else time.perf_counter), []
    for _ in range(6):
        started = clock()
        for _ in range(times):
            work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        found.append((clock() - started) / times)
    return max(min(found), 1e-9)


# ---- the rules by which the bench is judged -------------------------------------------------------------------------

RULES = (
    "data/bench/rules.json",
    "data/bench/rates.json",
    "reservoir_lab/evidence",
    "reservoir_lab/recipes/bench.py",
)
"""Where the rules stand, in a checkout; the learning rates too, which were chosen on other seeds.

`data/bench/rules.json` says what is judged and how; `make generated` writes it from `reservoir_lab.evidence.asked`. The
seeds that it names are run once, after the rules were written: a run with one of them is refused while the rules
differ from what is committed, and its record keeps their name.
"""
UNKNOWN = (
    "made outside a git checkout: nobody can say whether the rules were changed before they were committed"
)


def rules_file() -> Path:
    """Where the rules lie."""
    return shipped() / "bench" / "rules.json"


def rules_digest() -> str:
    """The name of the rules; empty where there are none."""
    file = rules_file()
    return json.loads(file.read_text(encoding="utf-8")).get("rules", "") if file.exists() else ""


def changed_rules(root: Path | None = None) -> list[str] | None:
    """The rules' files that differ from what is committed; None outside a git checkout."""
    root = root or Path(reservoir.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    status = git(root, "status", "--porcelain", "--untracked-files=all", "--", *RULES)
    # The first line has lost its leading space.
    return None if status is None else [line.split(maxsplit=1)[-1] for line in status.splitlines()]


def check_settled(run: Run) -> str:
    """Check that a run whose seed is run once and judged is made under rules that are committed.

    Returns:
        What its record has to say of it; mostly nothing.

    Raises:
        ValueError: there are no rules, or they have changes that are not committed.
    """
    if not (run.scale == "laptop" and run.recipe.startswith("bench/") and run.seed >= 200):
        return ""
    if not rules_digest():
        raise ValueError(
            f"seed {run.seed} of {run.recipe} is judged, and there are no rules yet: write them with `make generated`"
        )
    files = changed_rules()
    if files:
        raise ValueError(
            f"seed {run.seed} of {run.recipe} is judged, and rules have changes that are not committed"
            f" ({', '.join(files[:3])}{' and more' if len(files) > 3 else ''}): commit them, or take a seed below 10"
        )
    return UNKNOWN if files is None and code()["dirty"] is not False else ""
