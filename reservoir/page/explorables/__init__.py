"""Explorables: pieces of the page that compute what they show, without a kernel.

Each is a small Python class and an ES module. The notebook stores the module's text and the settings (as a widget's
state), and the page mounts them from there, so that one source runs in JupyterLab, in Colab and on the static page.
"""

from reservoir.page.explorables.attention_maps import AttentionMaps
from reservoir.page.explorables.base import Explorable
from reservoir.page.explorables.echo_state import EchoStateLab
from reservoir.page.explorables.random_projection import RandomProjection
from reservoir.page.explorables.seeded_weights import SeededWeights
from reservoir.page.explorables.separability import Separability

__all__ = [
    "AttentionMaps",
    "EchoStateLab",
    "Explorable",
    "RandomProjection",
    "SeededWeights",
    "Separability",
]
