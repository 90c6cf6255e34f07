from . import corpora, evidence, launch, recipes, runs
from .evidence import over_seeds, sources
from .runs import (
    build,
    cost,
    count_flops,
    cpu_seconds,
    execute,
    find_record,
    find_records,
    frame,
    layer_cost,
    sweep,
    train_and_test,
)

__all__ = [
    "build",
    "corpora",
    "cost",
    "count_flops",
    "cpu_seconds",
    "evidence",
    "execute",
    "find_record",
    "find_records",
    "frame",
    "launch",
    "layer_cost",
    "over_seeds",
    "recipes",
    "runs",
    "sources",
    "sweep",
    "train_and_test",
]
