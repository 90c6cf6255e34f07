"""Where a run was made: machine, versions, commit."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import reservoir


def machine(device: torch.device) -> dict[str, Any]:
    """Processor and GPU names, threads and versions."""
    return {
        "cpu": _processor(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
    }


def code() -> dict[str, Any]:
    """Library version and, in a git checkout, the commit and whether the tree differed from it."""
    root = Path(reservoir.__file__).parent.parent
    commit = dirty = None
    if (root / ".git").exists():
        commit = _git(root, "rev-parse", "HEAD")
        status = _git(root, "status", "--porcelain", "--untracked-files=no")
        dirty = None if status is None else bool(status)
    return {"version": reservoir.__version__, "commit": commit, "dirty": dirty}


def peak_memory() -> int:
    """The most memory that this process has held at once, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_seconds() -> float:
    """Processor time of this process so far, in seconds."""
    times = os.times()
    return times.user + times.system


def _git(root: Path, *arguments: str) -> str | None:
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
