from . import corpora, evidence, launch, recipes, runs

__all__ = ["corpora", "evidence", "launch", "recipes", "runs"]
