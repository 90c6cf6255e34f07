"""Small models of every kind that can be stored, for tests of storage."""

import torch

from reservoir.models import (
    Classifier,
    ClassifierConfig,
    EncoderDecoder,
    EncoderDecoderConfig,
    LanguageModel,
    LanguageModelConfig,
    LlamaConfig,
    LSTMConfig,
    MaskedLanguageModelConfig,
    TextClassifierConfig,
    TextEncoder,
    TextEncoderConfig,
    UniversalConfig,
)
from reservoir.models.classifier import LSTMBody
from reservoir.weights import Freeze, Mask, freeze, initialise, mark_trained, owned, supermask

IDS = torch.arange(1, 9)[None]
SIZES = dict(d_model=16, n_heads=2, d_ff=32, norm_first=True, dropout=0.0)


def one_layer(keep: float = 0.5) -> EncoderDecoder:
    """A supermask model as chapter 8 has it: one layer a side, masks at each depth, no norm or bias that learns."""
    config = EncoderDecoderConfig(40, 40, encoder_layers=2, decoder_layers=2, share_layers=True, **SIZES)
    model = supermask(initialise(EncoderDecoder(config), seed=3), Mask(keep=keep), seed=3)
    return freeze(model, Freeze(patterns=("*.bias", "*norm")))


def moved(model):
    """As after training: whatever moves is somewhere else."""
    draw = torch.Generator().manual_seed(0)
    mark_trained(model)
    with torch.no_grad():
        for item in owned(model):
            if item.parameter.requires_grad:
                item.parameter.add_(torch.randn(item.parameter.shape, generator=draw))
    return model.eval()


def frozen(config, *parts: str, **plan):
    """A model of this configuration, parts of it frozen."""
    return freeze(initialise(config.build(), seed=0), Freeze(**plan, **dict.fromkeys(parts, True)))


BODY = LanguageModelConfig(0, layers=1, **SIZES)
MODELS = {
    "masked": one_layer,
    "frozen": lambda: freeze(
        initialise(LanguageModel(LanguageModelConfig(40, layers=2, kinds=("transformer", "ffn"), **SIZES)), seed=0),
        Freeze(attention=True, layers=("layer.1",), drawn="orthogonal"),
    ),
    "trained": lambda: initialise(LanguageModel(LanguageModelConfig(40, layers=1, **SIZES)), seed=0),
    "classifier": lambda: freeze(initialise(Classifier(ClassifierConfig(40, 3)), seed=0), Freeze(embeddings=True)),
    "echo states": lambda: initialise(
        Classifier(ClassifierConfig(40, 3, d_model=8, encoder="echo-states", d_encoder=12)), seed=0
    ),
    "masked language model": lambda: frozen(MaskedLanguageModelConfig(40, layers=1, **SIZES), "embeddings"),
    "text classifier": lambda: frozen(
        TextClassifierConfig(40, layers=1, classes=3, mixing=("fourier",), max_length=12, **SIZES), "embeddings"
    ),
    "text encoder": lambda: initialise(TextEncoder(TextEncoderConfig(40, layers=1, **SIZES)), seed=0),
    "Llama": lambda: initialise(LlamaConfig(40, 16, 4, 32, 1, 2).build(), seed=0),
    "LSTM": lambda: initialise(LSTMBody(LSTMConfig(8, 2)), seed=0),
    "universal": lambda: freeze(
        initialise(UniversalConfig(40, 3, tokens=True, body=BODY).build(), seed=0), Freeze(patterns=("layer.*",))
    ),
    "universal LSTM": lambda: initialise(UniversalConfig(40, 3, tokens=True, body=LSTMConfig(8, 1)).build(), seed=0),
}  # fmt: skip


def answer(model) -> torch.Tensor:
    """What the model computes of a few tokens."""
    with torch.no_grad():
        if isinstance(model, EncoderDecoder):
            return model(IDS, IDS)
        if isinstance(model, LSTMBody):
            return model.states(torch.linspace(-1, 1, 64).view(1, 8, 8))
        found = model(IDS)
    return found[0] if isinstance(found, tuple) else found
