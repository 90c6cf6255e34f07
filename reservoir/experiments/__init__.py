"""A recipe for each row of a table, at three scales; running, resuming and recording."""

from reservoir.experiments.classification import Classification
from reservoir.experiments.computation import Bits, Computation, Expressions, Pictures, Proteins
from reservoir.experiments.language_modelling import LanguageModelling
from reservoir.experiments.masked_language_modelling import MaskedLanguageModelling
from reservoir.experiments.pretrained import Checkpoint, Start
from reservoir.experiments.records import Record, RecordError, find_record, find_records, frame, read_record
from reservoir.experiments.run import Run, Translation

__all__ = [
    "Bits",
    "Checkpoint",
    "Classification",
    "Computation",
    "Expressions",
    "LanguageModelling",
    "MaskedLanguageModelling",
    "Pictures",
    "Proteins",
    "Record",
    "RecordError",
    "Run",
    "Start",
    "Translation",
    "find_record",
    "find_records",
    "frame",
    "read_record",
]
