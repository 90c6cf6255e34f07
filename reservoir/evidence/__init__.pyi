from . import claims, comparison, costs, coverage, fronts, source_recipes, sources, tables

__all__ = [
    "claims",
    "comparison",
    "costs",
    "coverage",
    "fronts",
    "source_recipes",
    "sources",
    "tables",
]
