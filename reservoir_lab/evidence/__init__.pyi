from . import claims, comparison, costs, coverage, fronts, power, sources, tables, trend
from .tables import over_seeds

__all__ = [
    "claims",
    "comparison",
    "costs",
    "coverage",
    "fronts",
    "over_seeds",
    "power",
    "sources",
    "tables",
    "trend",
]
