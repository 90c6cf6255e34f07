from . import attention_maps, gradients, stored_translator
from .attention_maps import AttentionMaps
from .base import Explorable
from .bench import FrontTable, Playground
from .drawn import EchoStateLab, FourierMixing, Masking, RandomProjection, SeededWeights, Separability
from .gradients import Gradients
from .layer_stack import LayerStack
from .recorded import FrozenBody, FrozenComponents, HiddenNetwork
from .stored_translator import StoredTranslator

__all__ = [
    "AttentionMaps",
    "EchoStateLab",
    "Explorable",
    "FourierMixing",
    "FrontTable",
    "FrozenBody",
    "FrozenComponents",
    "Gradients",
    "HiddenNetwork",
    "LayerStack",
    "Masking",
    "Playground",
    "RandomProjection",
    "SeededWeights",
    "Separability",
    "StoredTranslator",
    "attention_maps",
    "gradients",
    "stored_translator",
]
