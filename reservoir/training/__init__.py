"""The loop, optimisers, decoding, BLEU, the convergence curve and its area (AUCC), and backskipping."""

from reservoir.training.aucc import Aucc, aucc
from reservoir.training.backskipping import Backskipping, Skip
from reservoir.training.bleu import Comparison, Score, bleu, paired_bootstrap
from reservoir.training.checkpoint import CheckpointError
from reservoir.training.classification import ClassificationTask, accuracy
from reservoir.training.computation import ComputationTask
from reservoir.training.decoding import Decoding, beam_search, translate
from reservoir.training.detour import Detour, skip, tap
from reservoir.training.events import (
    Event,
    Finished,
    Listener,
    Message,
    Point,
    Saved,
    Started,
    Stepped,
    Stopped,
    Validated,
)
from reservoir.training.gradient_estimators import (
    GradientEstimator,
    IdentityGradient,
    SyntheticGradient,
    ValueGradient,
    ZeroGradient,
)
from reservoir.training.history import History
from reservoir.training.language_modelling import LanguageModellingTask
from reservoir.training.loop import Budget, TrainingError, train
from reservoir.training.losses import smoothed_cross_entropy
from reservoir.training.masked_language_modelling import MaskedLanguageModellingTask
from reservoir.training.masking import MaskedBatch, mask
from reservoir.training.optimisers import Optimiser
from reservoir.training.precision import bf16_pays
from reservoir.training.preemption import EXIT_STATUS, Preempted, StopSignal
from reservoir.training.prefix import CachedPrefix
from reservoir.training.task import Task
from reservoir.training.translation import TranslationTask

__all__ = [
    "EXIT_STATUS",
    "Aucc",
    "Backskipping",
    "Budget",
    "CachedPrefix",
    "CheckpointError",
    "ClassificationTask",
    "Comparison",
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
    "Preempted",
    "Saved",
    "Score",
    "Skip",
    "Started",
    "Stepped",
    "StopSignal",
    "Stopped",
    "SyntheticGradient",
    "Task",
    "TrainingError",
    "TranslationTask",
    "Validated",
    "ValueGradient",
    "ZeroGradient",
    "accuracy",
    "aucc",
    "beam_search",
    "bf16_pays",
    "bleu",
    "mask",
    "paired_bootstrap",
    "skip",
    "smoothed_cross_entropy",
    "tap",
    "train",
    "translate",
]
