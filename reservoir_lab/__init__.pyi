from . import corpora, evidence, launch, recipes, runs
from .evidence import claims, costs, over_seeds, sources, trend
from .runs import build, cpu_seconds, execute, find_record, find_records, frame, sweep, train_and_test

__all__ = [
    "build",
    "claims",
    "corpora",
    "costs",
    "cpu_seconds",
    "evidence",
    "execute",
    "find_record",
    "find_records",
    "frame",
    "launch",
    "over_seeds",
    "recipes",
    "runs",
    "sources",
    "sweep",
    "train_and_test",
    "trend",
]
