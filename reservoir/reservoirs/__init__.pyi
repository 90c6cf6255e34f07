from .echo_state import DeepEchoState, EchoState, SpectralRadius, spectral_radius
from .liquid import Liquid, Synapses
from .random_features import (
    FourierFeatures,
    RandomFeatures,
    RandomProjection,
    ReLUFeatures,
    ThresholdFeatures,
)
from .readout import Readout, free_run, memory_curve, ridge

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
