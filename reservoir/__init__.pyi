from . import datasets, evidence, launch, layers, models, page, recipes, reservoirs, runs, training, weights

__version__: str

__all__ = [
    "__version__",
    "datasets",
    "evidence",
    "launch",
    "layers",
    "models",
    "page",
    "recipes",
    "reservoirs",
    "runs",
    "training",
    "weights",
]
