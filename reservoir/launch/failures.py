"""The library's own errors, which say in a sentence what is wrong; any other exception is a bug, with a traceback."""

from __future__ import annotations

from reservoir.runs.records import RecordError
from reservoir.training.checkpoint import CheckpointError
from reservoir.training.loop import TrainingError
from reservoir.weights.files import WeightsError

EXPLAINED = (CheckpointError, RecordError, TrainingError, WeightsError)
