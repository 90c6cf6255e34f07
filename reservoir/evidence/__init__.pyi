from . import claims, comparison, costs, counts, coverage, fronts, sources, tables

__all__ = [
    "claims",
    "comparison",
    "costs",
    "counts",
    "coverage",
    "fronts",
    "sources",
    "tables",
]
