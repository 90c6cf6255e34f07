"""Layers put together into models."""

from reservoir.models.classifier import Classifier, ClassifierConfig
from reservoir.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reservoir.models.language_model import LanguageModel, LanguageModelConfig

__all__ = [
    "Classifier",
    "ClassifierConfig",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "LanguageModel",
    "LanguageModelConfig",
]
