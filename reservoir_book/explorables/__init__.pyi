from . import attention_maps, gradients, stored_translator
from .attention_maps import AttentionMaps
from .base import Explorable
from .drawn import EchoStateLab, FourierMixing, Masking, RandomProjection, SeededWeights, Separability
from .front_table import FrontTable
from .gradients import Gradients
from .hidden_network import HiddenNetwork
from .layer_stack import LayerStack
from .playground import Playground
from .recorded import FrozenBody, FrozenComponents
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
