"""Layers put together into models."""

from reservoir.models.classifier import Classifier, ClassifierConfig
from reservoir.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reservoir.models.gpt2 import load_gpt2
from reservoir.models.language_model import LanguageModel, LanguageModelConfig
from reservoir.models.masked_language_model import MaskedLanguageModel, MaskedLanguageModelConfig
from reservoir.models.text_classifier import TextClassifier, TextClassifierConfig
from reservoir.models.text_encoder import TextEncoder, TextEncoderConfig
from reservoir.models.universal import Universal, UniversalConfig

__all__ = [
    "Classifier",
    "ClassifierConfig",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "LanguageModel",
    "LanguageModelConfig",
    "MaskedLanguageModel",
    "MaskedLanguageModelConfig",
    "TextClassifier",
    "TextClassifierConfig",
    "TextEncoder",
    "TextEncoderConfig",
    "Universal",
    "UniversalConfig",
    "load_gpt2",
]
