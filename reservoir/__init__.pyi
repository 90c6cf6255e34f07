from . import datasets, layers, models, reservoirs, training, weights
from .models import from_pretrained, save_pretrained
from .training import train
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
    "datasets",
    "freeze",
    "from_pretrained",
    "initialise",
    "layers",
    "load",
    "mark_trained",
    "materialise",
    "models",
    "pretrained",
    "report",
    "reservoirs",
    "save",
    "save_pretrained",
    "supermask",
    "train",
    "training",
    "weights",
]
