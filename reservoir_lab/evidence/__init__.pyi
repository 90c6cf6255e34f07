from . import claims, comparison, costs, coverage, power, sources, trend
from .comparison import over_seeds

__all__ = [
    "claims",
    "comparison",
    "costs",
    "coverage",
    "over_seeds",
    "power",
    "sources",
    "trend",
]
