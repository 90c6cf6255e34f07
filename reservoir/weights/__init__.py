"""Where weights come from, and which of them move: the subject of the book."""

from reservoir.weights.files import WeightsError
from reservoir.weights.freezing import Freeze, freeze
from reservoir.weights.generator import Stream, philox
from reservoir.weights.origins import (
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
from reservoir.weights.placement import placement, reservoir_layers
from reservoir.weights.redrawing import redrawn
from reservoir.weights.report import Report, report
from reservoir.weights.selection import Selection, kept_count, largest
from reservoir.weights.streaming import TiledWeight, draw_lazily, held_bytes
from reservoir.weights.supermask import FixedMask, Mask, Supermask, supermask

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
