"""What a run is, the registry of recipes, executing a run, starting from another one, and records."""

from reservoir.runs.records import Record, RecordError, find_record, find_records, frame, read_record
from reservoir.runs.run import Run
from reservoir.runs.start import InitFromRelease, InitFromRun
from reservoir.runs.tasks.classification import Classification
from reservoir.runs.tasks.computation import Bits, Computation, Expressions, Pictures, Proteins
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.runs.tasks.masked_language_modelling import MaskedLanguageModelling
from reservoir.runs.tasks.translation import Translation

__all__ = [
    "Bits",
    "Classification",
    "Computation",
    "Expressions",
    "InitFromRelease",
    "InitFromRun",
    "LanguageModelling",
    "MaskedLanguageModelling",
    "Pictures",
    "Proteins",
    "Record",
    "RecordError",
    "Run",
    "Translation",
    "find_record",
    "find_records",
    "frame",
    "read_record",
]
