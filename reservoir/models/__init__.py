"""Layers put together into models."""

from reservoir.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig

__all__ = ["EncoderDecoder", "EncoderDecoderConfig"]
