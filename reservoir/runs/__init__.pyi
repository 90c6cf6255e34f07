from .building import bare_model, build, load, outline
from .execution import execute, train_and_test
from .records import Record, RecordError, find_record, find_records, frame, read_record
from .run import Run
from .start import InitFromRelease, InitFromRun
from .tasks.classification import Classification
from .tasks.computation import Bits, Computation, Expressions, Pictures, Proteins
from .tasks.language_modelling import LanguageModelling
from .tasks.masked_language_modelling import MaskedLanguageModelling
from .tasks.translation import Translation

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
    "bare_model",
    "build",
    "execute",
    "find_record",
    "find_records",
    "frame",
    "load",
    "outline",
    "read_record",
    "train_and_test",
]
