from .classification import Classification
from .computation import Bits, Computation, Expressions, Pictures, Proteins, Sequences
from .language_modelling import LanguageModelling
from .masked_language_modelling import MaskedLanguageModelling
from .translation import Translation

__all__ = [
    "Bits",
    "Classification",
    "Computation",
    "Expressions",
    "LanguageModelling",
    "MaskedLanguageModelling",
    "Pictures",
    "Proteins",
    "Sequences",
    "Translation",
]
