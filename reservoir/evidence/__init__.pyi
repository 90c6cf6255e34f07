from . import claims, comparison, costs, coverage, fronts, sources, tables, trend

__all__ = [
    "claims",
    "comparison",
    "costs",
    "coverage",
    "fronts",
    "sources",
    "tables",
    "trend",
]
