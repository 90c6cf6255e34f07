from . import benchmarks, checks, environment, evidence, explorables, kernel, live, plots

__all__ = [
    "benchmarks",
    "checks",
    "environment",
    "evidence",
    "explorables",
    "kernel",
    "live",
    "plots",
]
