"""The subject of the book: where weights come from, and which of them move."""

from reservoir.frozen.freezing import Freeze, freeze
from reservoir.frozen.generator import Stream, philox
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
from reservoir.frozen.random_features import (
    FourierFeatures,
    RandomFeatures,
    RandomProjection,
    ReLUFeatures,
    ThresholdFeatures,
)
from reservoir.frozen.report import Report, report

__all__ = [
    "Drawn",
    "FourierFeatures",
    "Freeze",
    "Origin",
    "Pretrained",
    "RandomFeatures",
    "RandomProjection",
    "ReLUFeatures",
    "Report",
    "Scheme",
    "Stream",
    "ThresholdFeatures",
    "Trained",
    "freeze",
    "initialise",
    "mark_trained",
    "origin_of",
    "owned",
    "philox",
    "report",
    "set_origin",
]
