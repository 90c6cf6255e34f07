from . import accounting, draws, initialisation, streaming
from .accounting import Report, report
from .draws import Stream, philox
from .files import WeightsError
from .freezing import Freeze, freeze, low_rank, placement, reservoir_layers
from .masks import FixedMask, Mask, Supermask, kept_count, largest, materialise, supermask
from .naming import Owned, owned
from .origins import (
    ORIGIN_NAMES,
    Fixed,
    Masked,
    Origin,
    Pretrained,
    Scheme,
    Seeded,
    Trained,
    initialise,
    mark_trained,
    origin_of,
    pretrained,
    recorded_origin,
    set_origin,
)
from .storage import load, load_model, model_bytes, save
from .streaming import TiledWeight, draw_lazily, held_bytes

__all__ = [
    "ORIGIN_NAMES",
    "Fixed",
    "FixedMask",
    "Freeze",
    "Mask",
    "Masked",
    "Origin",
    "Owned",
    "Pretrained",
    "Report",
    "Scheme",
    "Seeded",
    "Stream",
    "Supermask",
    "TiledWeight",
    "Trained",
    "WeightsError",
    "accounting",
    "draw_lazily",
    "draws",
    "freeze",
    "held_bytes",
    "initialisation",
    "initialise",
    "kept_count",
    "largest",
    "load",
    "load_model",
    "low_rank",
    "mark_trained",
    "materialise",
    "model_bytes",
    "origin_of",
    "owned",
    "philox",
    "placement",
    "pretrained",
    "recorded_origin",
    "report",
    "reservoir_layers",
    "save",
    "set_origin",
    "streaming",
    "supermask",
]
