from . import benchmarks, checks, diagrams, environment, evidence, explorables, kernel, live, plots, rows
from .diagrams import diagram

__all__ = [
    "benchmarks",
    "checks",
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
