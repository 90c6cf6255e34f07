from . import asked, cells, claims, comparison, costs, rules, ruling, sources, trend
from .comparison import over_seeds

__all__ = [
    "asked",
    "cells",
    "claims",
    "comparison",
    "costs",
    "over_seeds",
    "rules",
    "ruling",
    "sources",
    "trend",
]
