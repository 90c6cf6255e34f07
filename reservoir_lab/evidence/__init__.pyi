from . import asked, cells, comparison, rules, ruling, sources
from .comparison import over_seeds

__all__ = [
    "asked",
    "cells",
    "comparison",
    "over_seeds",
    "rules",
    "ruling",
    "sources",
]
