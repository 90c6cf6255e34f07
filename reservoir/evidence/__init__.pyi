from . import claims, comparison, costs, coverage, fronts, sources, tables

__all__ = [
    "claims",
    "comparison",
    "costs",
    "coverage",
    "fronts",
    "sources",
    "tables",
]
