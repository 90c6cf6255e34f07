from . import probing
from .backskipping import (
    Backskipping,
    Detour,
    GradientEstimator,
    IdentityGradient,
    Skip,
    SyntheticGradient,
    ValueGradient,
    ZeroGradient,
    skip,
    tap,
)
from .classification import ClassificationTask, TextReader, accuracy
from .computation import ComputationTask
from .decoding import Decoding, beam_search, translate
from .events import (
    Aucc,
    Event,
    Finished,
    History,
    Listener,
    Message,
    Point,
    Recorded,
    Saved,
    Started,
    Stepped,
    Stopped,
    Validated,
    aucc,
)
from .flops import cost, count_flops, layer_cost
from .language_modelling import LanguageModellingTask, MaskedBatch, MaskedLanguageModellingTask, mask
from .loop import Budget, TrainingError, train
from .state import Optimiser
from .task import Task, smoothed_cross_entropy
from .translation import Score, TranslationTask, bleu

__all__ = [
    "Aucc",
    "Backskipping",
    "Budget",
    "ClassificationTask",
    "ComputationTask",
    "Decoding",
    "Detour",
    "Event",
    "Finished",
    "GradientEstimator",
    "History",
    "IdentityGradient",
    "LanguageModellingTask",
    "Listener",
    "MaskedBatch",
    "MaskedLanguageModellingTask",
    "Message",
    "Optimiser",
    "Point",
    "Recorded",
    "Saved",
    "Score",
    "Skip",
    "Started",
    "Stepped",
    "Stopped",
    "SyntheticGradient",
    "Task",
    "TextReader",
    "TrainingError",
    "TranslationTask",
    "Validated",
    "ValueGradient",
    "ZeroGradient",
    "accuracy",
    "aucc",
    "beam_search",
    "bleu",
    "cost",
    "count_flops",
    "layer_cost",
    "mask",
    "probing",
    "skip",
    "smoothed_cross_entropy",
    "tap",
    "train",
    "translate",
]
