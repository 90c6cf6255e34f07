from . import attention_maps, gradients, stored_translator
from .attention_maps import AttentionMaps
from .base import Explorable
from .echo_state import EchoStateLab
from .fourier_mixing import FourierMixing
from .front_table import FrontTable
from .frozen_body import FrozenBody
from .frozen_components import FrozenComponents
from .gradients import Gradients
from .hidden_network import HiddenNetwork
from .layer_stack import LayerStack
from .masking import Masking
from .playground import Playground
from .random_projection import RandomProjection
from .seeded_weights import SeededWeights
from .separability import Separability
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
