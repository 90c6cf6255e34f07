"""A frozen prefix: a training step that looks the prefix's states up, and one that computes them each time.

The embeddings of the source and the lowest k of six encoder layers are frozen, the rest trains. In the first pass over
the data the states have to be computed by either side; the cache is warm here, as in every later pass. The best that
can be had is what is left of a step without a prefix: its encoder's top, the decoder, the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from benchmarks.measure import Comparison, Settings, compare
from benchmarks.step import SIZES, batches, our_loss, stepper
from reservoir.models import EncoderDecoder
from reservoir.training import CachedPrefix
from reservoir.weights import Freeze, freeze, initialise


def run(settings: Settings) -> Iterator[Comparison]:
    """Both sizes with two, four and all six layers of the encoder in the prefix."""
    for name, size in settings.chosen(SIZES).items():
        data = batches(size, settings.device)
        config = replace(
            size.config,
            encoder_layers=6,
            decoder_layers=2,
            dropout=0.0,
            attention_dropout=0.0,
            activation_dropout=0.0,
            tie="output",
        )
        for layers in (2, 4, 6):
            plan = Freeze(
                layers=tuple(f"encoder.{i}" for i in range(layers)), patterns=("encoder.embedding",)
            )
            cached, plain = (
                freeze(initialise(EncoderDecoder(config), seed=0), plan).to(settings.device).train()
                for _ in range(2)
            )
            cached.prefix = CachedPrefix(cached, layers=layers)
            tokens = [batch.n_tokens + int((batch.src != 0).sum()) for batch in data]
            yield compare(
                stepper(cached, our_loss(cached), data, torch.float32),
                stepper(plain, our_loss(plain), data, torch.float32),
                case=f"{name}, fp32, {layers} of 6 encoder layers in the prefix",
                peer="computed anew",
                unit="tokens",
                work=lambda turn, tokens=tokens: tokens[turn % len(tokens)],
                settings=settings,
                warm_up=range(len(data)),
                required=1.0,
            )
