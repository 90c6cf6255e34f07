"""What a run is set to do: its data, how they are cut and batched, and how the model is scored."""

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
    "LanguageModelling",
    "MaskedLanguageModelling",
    "Pictures",
    "Proteins",
    "Translation",
]
