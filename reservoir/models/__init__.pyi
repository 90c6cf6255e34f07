from . import stack
from .classifier import Classifier, ClassifierConfig, LSTMBody, LSTMConfig, Universal, UniversalConfig
from .encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from .language_model import LanguageModel, LanguageModelConfig, Llama, LlamaConfig
from .pretrained import from_pretrained, save_pretrained
from .stack import RandomFeatureAttention, RandomMixing
from .text_encoder import (
    MaskedLanguageModel,
    MaskedLanguageModelConfig,
    Tagger,
    TaggerConfig,
    TextClassifier,
    TextClassifierConfig,
    TextEncoder,
    TextEncoderConfig,
)

__all__ = [
    "Classifier",
    "ClassifierConfig",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "LSTMBody",
    "LSTMConfig",
    "LanguageModel",
    "LanguageModelConfig",
    "Llama",
    "LlamaConfig",
    "MaskedLanguageModel",
    "MaskedLanguageModelConfig",
    "RandomFeatureAttention",
    "RandomMixing",
    "Tagger",
    "TaggerConfig",
    "TextClassifier",
    "TextClassifierConfig",
    "TextEncoder",
    "TextEncoderConfig",
    "Universal",
    "UniversalConfig",
    "from_pretrained",
    "save_pretrained",
    "stack",
]
