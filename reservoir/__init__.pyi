from . import datasets, evidence, launch, layers, models, page, recipes, reservoirs, runs, training, weights
from .models import from_pretrained, save_pretrained
from .training import cost, train
from .weights import (
    Freeze,
    Mask,
    Scheme,
    freeze,
    initialise,
    load,
    mark_trained,
    materialise,
    pretrained,
    report,
    save,
    supermask,
)

__version__: str

__all__ = [
    "Freeze",
    "Mask",
    "Scheme",
    "__version__",
    "cost",
    "datasets",
    "evidence",
    "freeze",
    "from_pretrained",
    "initialise",
    "launch",
    "layers",
    "load",
    "mark_trained",
    "materialise",
    "models",
    "page",
    "pretrained",
    "recipes",
    "report",
    "reservoirs",
    "runs",
    "save",
    "save_pretrained",
    "supermask",
    "train",
    "training",
    "weights",
]
