from . import corpora, evidence, launch, recipes, runs
from .evidence import over_seeds, sources
from .runs import build, cpu_seconds, execute, find_record, find_records, frame, sweep, train_and_test

__all__ = [
    "build",
    "corpora",
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
]
