from . import asked, cells, comparison, costs, coverage, rules, ruling, sources
from .comparison import over_seeds

__all__ = [
    "asked",
    "cells",
    "comparison",
    "costs",
    "coverage",
    "over_seeds",
    "rules",
    "ruling",
    "sources",
]
