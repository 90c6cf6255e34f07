from . import claims, comparison, costs, coverage, fronts, power, sources, tables, trend

__all__ = [
    "claims",
    "comparison",
    "costs",
    "coverage",
    "fronts",
    "power",
    "sources",
    "tables",
    "trend",
]
