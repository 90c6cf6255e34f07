"""Building blocks, one a file. They know nothing of training, of seeds or of where their weights come from."""

from reservoir.layers.attention import Attention, Cache, CrossAttention, attend
from reservoir.layers.block import DecoderLayer, EncoderLayer
from reservoir.layers.convolution import DynamicConvolution
from reservoir.layers.dropout import Dropout
from reservoir.layers.feed_forward import FeedForward, GatedFeedForward
from reservoir.layers.fourier import DFT, Fourier, fourier
from reservoir.layers.linear import Embedding, Linear
from reservoir.layers.mixing import LinearMixing, MLPMixing
from reservoir.layers.norm import LayerNorm, RMSNorm
from reservoir.layers.positions import LearnedPositions, SinusoidalPositions, sinusoids
from reservoir.layers.recurrent import BiGRU
from reservoir.layers.residual import Residual
from reservoir.layers.rotary import RotaryAttention, turn

__all__ = [
    "DFT",
    "Attention",
    "BiGRU",
    "Cache",
    "CrossAttention",
    "DecoderLayer",
    "Dropout",
    "DynamicConvolution",
    "Embedding",
    "EncoderLayer",
    "FeedForward",
    "Fourier",
    "GatedFeedForward",
    "LayerNorm",
    "LearnedPositions",
    "Linear",
    "LinearMixing",
    "MLPMixing",
    "RMSNorm",
    "Residual",
    "RotaryAttention",
    "SinusoidalPositions",
    "attend",
    "fourier",
    "sinusoids",
    "turn",
]
