from . import convergence, sweep
from .building import bare_model, build, load_trained, outline
from .computation import Bits, Computation, Expressions, Pictures, Proteins, Sequences
from .convergence import frame
from .execution import execute, train_and_test
from .flops import cost, count_flops, layer_cost
from .own import find_run, on_files
from .provenance import cpu_seconds
from .records import Record, RecordError, find_record, find_records, read_record, ship_records
from .run import Run, run_from_json
from .start import InitFromRelease, InitFromRun
from .tasks import Classification, LanguageModelling, MaskedLanguageModelling, Translation
from .trained_model import TrainedModel, open_model

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
    "Sequences",
    "TrainedModel",
    "Translation",
    "bare_model",
    "build",
    "convergence",
    "cost",
    "count_flops",
    "cpu_seconds",
    "execute",
    "find_record",
    "find_records",
    "find_run",
    "frame",
    "layer_cost",
    "load_trained",
    "on_files",
    "open_model",
    "outline",
    "read_record",
    "run_from_json",
    "ship_records",
    "sweep",
    "train_and_test",
]
