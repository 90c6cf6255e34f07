from . import benchmarks, checks, diagrams, environment, evidence, explorables, kernel, live, plots, progress

__all__ = [
    "benchmarks",
    "checks",
    "diagrams",
    "environment",
    "evidence",
    "explorables",
    "kernel",
    "live",
    "plots",
    "progress",
]
