from .attention import Ancestry, Attention, BeamCache, Cache, CrossAttention, SplitAttention, attend
from .block import DecoderLayer, EncoderLayer, FeedForward, GatedFeedForward, LayerNorm, Residual, RMSNorm
from .dropout import Dropout
from .fourier import DFT, Fourier, fourier
from .linear import Embedding, Linear
from .mixing import BiGRU, DynamicConvolution, LinearMixing, MLPMixing
from .positions import LearnedPositions, SinusoidalPositions, sinusoids
from .rotary import RotaryAttention, turn

__all__ = [
    "DFT",
    "Ancestry",
    "Attention",
    "BeamCache",
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
    "SplitAttention",
    "attend",
    "fourier",
    "sinusoids",
    "turn",
]
