"""Where weights come from, and which of them move: the subject of the book."""

from reservoir.weights.files import WeightsError
from reservoir.weights.freezing import Freeze, freeze
from reservoir.weights.generator import Stream, philox
from reservoir.weights.origins import (
    Drawn,
    Origin,
    Owned,
    Pretrained,
    Scheme,
    Trained,
    initialise,
    mark_trained,
    origin_of,
    owned,
    set_origin,
)
from reservoir.weights.placement import placement, reservoir_layers
from reservoir.weights.redrawing import redrawn
from reservoir.weights.report import Report, report
from reservoir.weights.selection import Selection, kept, largest
from reservoir.weights.streaming import TiledWeight, held_bytes, stream
from reservoir.weights.supermask import FixedMask, Mask, Supermask, supermask

__all__ = [
    "Drawn",
    "FixedMask",
    "Freeze",
    "Mask",
    "Origin",
    "Owned",
    "Pretrained",
    "Report",
    "Scheme",
    "Selection",
    "Stream",
    "Supermask",
    "TiledWeight",
    "Trained",
    "WeightsError",
    "freeze",
    "held_bytes",
    "initialise",
    "kept",
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
    "stream",
    "supermask",
]
