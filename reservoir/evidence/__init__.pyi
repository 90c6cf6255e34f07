from . import claims, comparison, costs, counts, coverage, fronts, sources, tables, trend

__all__ = [
    "claims",
    "comparison",
    "costs",
    "counts",
    "coverage",
    "fronts",
    "sources",
    "tables",
    "trend",
]
