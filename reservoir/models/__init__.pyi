from . import fnet, stack
from .classifier import Classifier, ClassifierConfig
from .encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from .fnet import FNet, FNetConfig
from .gpt2 import load_gpt2
from .language_model import LanguageModel, LanguageModelConfig
from .llama import Llama, LlamaConfig, load_llama2c
from .lstm import LSTMBody, LSTMConfig
from .pretrained import from_pretrained, read_labels, save_pretrained
from .random_mixing import RandomFeatureAttention, RandomMixing
from .shared_backbone import SharedBackbone
from .tagger import Tagger, TaggerConfig
from .text_encoder import (
    MaskedLanguageModel,
    MaskedLanguageModelConfig,
    TextClassifier,
    TextClassifierConfig,
    TextEncoder,
    TextEncoderConfig,
)
from .universal import Universal, UniversalConfig

__all__ = [
    "Classifier",
    "ClassifierConfig",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "FNet",
    "FNetConfig",
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
    "SharedBackbone",
    "Tagger",
    "TaggerConfig",
    "TextClassifier",
    "TextClassifierConfig",
    "TextEncoder",
    "TextEncoderConfig",
    "Universal",
    "UniversalConfig",
    "fnet",
    "from_pretrained",
    "load_gpt2",
    "load_llama2c",
    "read_labels",
    "save_pretrained",
    "stack",
]
