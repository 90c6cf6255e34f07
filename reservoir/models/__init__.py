"""Layers put together into models."""

from reservoir.models.classifier import Classifier, ClassifierConfig
from reservoir.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig

__all__ = ["Classifier", "ClassifierConfig", "EncoderDecoder", "EncoderDecoderConfig"]
