from . import fused
from .files import WeightsError
from .freezing import Freeze, freeze
from .generator import Stream, philox
from .origins import (
    Origin,
    Owned,
    Pretrained,
    Scheme,
    Seeded,
    Trained,
    initialise,
    mark_trained,
    origin_of,
    owned,
    set_origin,
)
from .placement import placement, reservoir_layers
from .redrawing import redrawn
from .report import Report, report
from .selection import Selection, kept_count, largest
from .streaming import TiledWeight, draw_lazily, held_bytes
from .supermask import FixedMask, Mask, Supermask, supermask

__all__ = [
    "FixedMask",
    "Freeze",
    "Mask",
    "Origin",
    "Owned",
    "Pretrained",
    "Report",
    "Scheme",
    "Seeded",
    "Selection",
    "Stream",
    "Supermask",
    "TiledWeight",
    "Trained",
    "WeightsError",
    "draw_lazily",
    "freeze",
    "fused",
    "held_bytes",
    "initialise",
    "kept_count",
    "largest",
    "mark_trained",
    "origin_of",
    "owned",
    "philox",
    "placement",
    "redrawn",
    "report",
    "reservoir_layers",
    "set_origin",
    "supermask",
]
