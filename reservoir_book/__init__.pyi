from . import (
    benchmarks,
    checks,
    controls,
    diagrams,
    environment,
    evidence,
    explorables,
    kernel,
    live,
    plots,
    rows,
)
from .diagrams import diagram

__all__ = [
    "benchmarks",
    "checks",
    "controls",
    "diagram",
    "diagrams",
    "environment",
    "evidence",
    "explorables",
    "kernel",
    "live",
    "plots",
    "rows",
]
