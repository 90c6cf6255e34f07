"""Layers put together into models."""

from reservoir.models.classifier import Classifier, ClassifierConfig
from reservoir.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reservoir.models.gpt2 import load_gpt2
from reservoir.models.language_model import LanguageModel, LanguageModelConfig
from reservoir.models.llama import Llama, LlamaConfig, load_llama2c
from reservoir.models.lstm import LSTMConfig
from reservoir.models.masked_language_model import MaskedLanguageModel, MaskedLanguageModelConfig
from reservoir.models.random_feature_attention import RandomFeatureAttention
from reservoir.models.shared_backbone import SharedBackbone
from reservoir.models.storage import from_pretrained, save_pretrained
from reservoir.models.text_classifier import TextClassifier, TextClassifierConfig
from reservoir.models.text_encoder import TextEncoder, TextEncoderConfig
from reservoir.models.universal import Universal, UniversalConfig

__all__ = [
    "Classifier",
    "ClassifierConfig",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "LSTMConfig",
    "LanguageModel",
    "LanguageModelConfig",
    "Llama",
    "LlamaConfig",
    "MaskedLanguageModel",
    "MaskedLanguageModelConfig",
    "RandomFeatureAttention",
    "SharedBackbone",
    "TextClassifier",
    "TextClassifierConfig",
    "TextEncoder",
    "TextEncoderConfig",
    "Universal",
    "UniversalConfig",
    "from_pretrained",
    "load_gpt2",
    "load_llama2c",
    "save_pretrained",
]
