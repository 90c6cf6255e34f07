from . import asked, cells, claims, comparison, costs, coverage, rules, ruling, sources, trend
from .comparison import over_seeds

__all__ = [
    "asked",
    "cells",
    "claims",
    "comparison",
    "costs",
    "coverage",
    "over_seeds",
    "rules",
    "ruling",
    "sources",
    "trend",
]
