from . import (
    benchmarks,
    checks,
    controls,
    environment,
    evidence,
    explorables,
    kernel,
    live,
    pictures,
    plots,
    rows,
)
from .pictures import diagram

__all__ = [
    "benchmarks",
    "checks",
    "controls",
    "diagram",
    "environment",
    "evidence",
    "explorables",
    "kernel",
    "live",
    "pictures",
    "plots",
    "rows",
]
