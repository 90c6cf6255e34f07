from . import claims, comparison, costs, counts, coverage, fronts, power, sources, tables, trend

__all__ = [
    "claims",
    "comparison",
    "costs",
    "counts",
    "coverage",
    "fronts",
    "power",
    "sources",
    "tables",
    "trend",
]
