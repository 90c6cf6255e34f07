from .echo_state import EchoState, Liquid, SpectralRadius, Synapses, spectral_radius
from .random_features import (
    FourierFeatures,
    RandomFeatures,
    RandomProjection,
    Readout,
    ReLUFeatures,
    ThresholdFeatures,
    free_run,
    memory_curve,
    ridge,
)

__all__ = [
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
