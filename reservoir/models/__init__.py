"""Layers put together into models."""

from reservoir.models.classifier import Classifier, ClassifierConfig
from reservoir.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reservoir.models.gpt2 import load_gpt2
from reservoir.models.language_model import LanguageModel, LanguageModelConfig
from reservoir.models.universal import Universal, UniversalConfig

__all__ = [
    "Classifier",
    "ClassifierConfig",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "LanguageModel",
    "LanguageModelConfig",
    "Universal",
    "UniversalConfig",
    "load_gpt2",
]
