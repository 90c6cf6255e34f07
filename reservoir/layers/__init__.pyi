from .attention import (
    Attention,
    Cache,
    CrossAttention,
    LearnedPositions,
    RotaryAttention,
    SinusoidalPositions,
    SplitAttention,
    attend,
    sinusoids,
    turn,
)
from .block import DecoderLayer, EncoderLayer, FeedForward, GatedFeedForward, LayerNorm, Residual, RMSNorm
from .linear import Dropout, Embedding, Linear
from .mixing import BiGRU, DynamicConvolution, Fourier, LinearMixing, MLPMixing, fourier

__all__ = [
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
    "SplitAttention",
    "attend",
    "fourier",
    "sinusoids",
    "turn",
]
