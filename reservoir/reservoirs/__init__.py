"""Classical reservoirs: random features, echo states, liquid machines, and the readouts that are trained on them."""

from reservoir.reservoirs.echo_state import DeepEchoState, EchoState, SpectralRadius, spectral_radius
from reservoir.reservoirs.liquid import Liquid, Synapses
from reservoir.reservoirs.random_features import (
    FourierFeatures,
    RandomFeatures,
    RandomProjection,
    ReLUFeatures,
    ThresholdFeatures,
)
from reservoir.reservoirs.readout import Readout, free_run, memory_curve, ridge

__all__ = [
    "DeepEchoState",
    "EchoState",
    "FourierFeatures",
    "Liquid",
    "RandomFeatures",
    "RandomProjection",
    "ReLUFeatures",
    "Readout",
    "SpectralRadius",
    "Synapses",
    "ThresholdFeatures",
    "free_run",
    "memory_curve",
    "ridge",
    "spectral_radius",
]
