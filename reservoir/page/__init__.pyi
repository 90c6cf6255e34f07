from . import benchmarks, checks, environment, evidence, explorables, live, plots

__all__ = [
    "benchmarks",
    "checks",
    "environment",
    "evidence",
    "explorables",
    "live",
    "plots",
]
