"""The subject of the book: where weights come from, and which of them move."""

from reservoir.frozen.echo_state import DeepEchoState, EchoState, SpectralRadius, spectral_radius
from reservoir.frozen.freezing import Freeze, freeze
from reservoir.frozen.generator import Stream, philox
from reservoir.frozen.liquid import Liquid, Synapses
from reservoir.frozen.origins import (
    Drawn,
    Origin,
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

__all__ = [
    "DeepEchoState",
    "Drawn",
    "EchoState",
    "FourierFeatures",
    "Freeze",
    "Liquid",
    "Origin",
    "Pretrained",
    "RandomFeatures",
    "RandomProjection",
    "ReLUFeatures",
    "Readout",
    "Report",
    "Scheme",
    "SpectralRadius",
    "Stream",
    "Synapses",
    "ThresholdFeatures",
    "Trained",
    "free_run",
    "freeze",
    "initialise",
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
    "spectral_radius",
]
