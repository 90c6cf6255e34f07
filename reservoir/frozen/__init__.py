"""The subject of the book: where weights come from, and which of them move."""

from reservoir.frozen.backskipping import Backskipping, Skip
from reservoir.frozen.detour import Detour, skip, tap
from reservoir.frozen.echo_state import DeepEchoState, EchoState, SpectralRadius, spectral_radius
from reservoir.frozen.estimates import Estimate, Identity, Synthetic, Value, Zero
from reservoir.frozen.freezing import Freeze, freeze
from reservoir.frozen.generator import Stream, philox
from reservoir.frozen.liquid import Liquid, Synapses
from reservoir.frozen.origins import (
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
from reservoir.frozen.placement import placement, reservoir_layers
from reservoir.frozen.random_feature_attention import RandomFeatureAttention
from reservoir.frozen.random_features import (
    FourierFeatures,
    RandomFeatures,
    RandomProjection,
    ReLUFeatures,
    ThresholdFeatures,
)
from reservoir.frozen.readout import Readout, free_run, memory_curve, ridge
from reservoir.frozen.redrawing import redrawn
from reservoir.frozen.report import Report, report
from reservoir.frozen.selection import Selection, kept, largest
from reservoir.frozen.streaming import TiledWeight, held_bytes, stream
from reservoir.frozen.supermask import FixedMask, Mask, Supermask, supermask

__all__ = [
    "Backskipping",
    "DeepEchoState",
    "Detour",
    "Drawn",
    "EchoState",
    "Estimate",
    "FixedMask",
    "FourierFeatures",
    "Freeze",
    "Identity",
    "Liquid",
    "Mask",
    "Origin",
    "Owned",
    "Pretrained",
    "RandomFeatureAttention",
    "RandomFeatures",
    "RandomProjection",
    "ReLUFeatures",
    "Readout",
    "Report",
    "Scheme",
    "Selection",
    "Skip",
    "SpectralRadius",
    "Stream",
    "Supermask",
    "Synapses",
    "Synthetic",
    "ThresholdFeatures",
    "TiledWeight",
    "Trained",
    "Value",
    "Zero",
    "free_run",
    "freeze",
    "held_bytes",
    "initialise",
    "kept",
    "largest",
    "mark_trained",
    "memory_curve",
    "origin_of",
    "owned",
    "philox",
    "placement",
    "redrawn",
    "report",
    "reservoir_layers",
    "ridge",
    "set_origin",
    "skip",
    "spectral_radius",
    "stream",
    "supermask",
    "tap",
]
