"""A whole training step: tokens a second of our encoder-decoder and of `torch.nn.Transformer`.

Both train the same pre-LN transformer with tied embeddings on the same padded batches: forward, label-smoothed
cross-entropy, backward, clipping, fused AdamW. "The same dropout" lies where `nn.Transformer` has it: after each
sublayer, on the attention weights and inside the feed-forward layers. "Less dropout" lies where our recipes have it,
as fairseq's do: after each sublayer alone. A handful of batches comes again and again, so that neither side pays for
new shapes; `benchmarks.linear` is about those.
Compiled means each of our layers by `torch.compile(dynamic=True)`, all layers of a kind sharing one compiled function,
and the peer's model as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measure import Comparison, Settings, compare
from reservoir.datasets import Batch, TokenBatches
from reservoir.layers import sinusoids
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.training.losses import smoothed_cross_entropy
from reservoir.training.optimisers import Optimiser
from reservoir.weights import initialise

DROPOUT, SMOOTHING = 0.1, 0.1
ADAMW = Optimiser(lr=1e-4)


@dataclass(frozen=True)
class Size:
    """A model and its batches.

    Args:
        config: of our model; the peer is built after it.
        max_tokens: of a batch, padded, on its longer side.
        mean_length: of the sentences, in tokens, whose lengths are log-normal.
        batches: how many different ones.
    """

    config: EncoderDecoderConfig
    max_tokens: int
    mean_length: float
    batches: int


def _config(vocab: int, d_model: int, n_heads: int, d_ff: int, layers: int) -> EncoderDecoderConfig:
    return EncoderDecoderConfig(
        vocab,
        vocab,
        d_model=d_model,
        n_heads=n_heads,
        d_ff=d_ff,
        encoder_layers=layers,
        decoder_layers=layers,
        norm_first=True,
        dropout=DROPOUT,
        attention_dropout=DROPOUT,
        activation_dropout=DROPOUT,
    )


SIZES = {
    "laptop": Size(_config(4000, 256, 4, 512, 3), 2048, 14, 4),
    "IWSLT": Size(_config(10000, 512, 4, 1024, 6), 4096, 25, 2),
}


def batches(size: Size, device: torch.device) -> list[Batch]:
    """Random tokens in sentences of random length, bucketed and padded as in training."""
    draw = np.random.default_rng(0)
    lengths = draw.lognormal(math.log(size.mean_length), 0.4, 4000).clip(2, 100)
    src, tgt = (
        [
            draw.integers(4, size.config.src_vocab, max(1, round(n * ratio))).tolist()
            for n, ratio in zip(lengths, ratios, strict=True)
        ]
        for ratios in (np.ones(4000), draw.normal(1.05, 0.1, 4000))
    )
    epoch = TokenBatches(src, tgt, max_tokens=size.max_tokens, seed=0, max_len=128).epoch(0)
    return [epoch[i].to(device) for i in range(size.batches)]


class Peer(nn.Module):
    """`torch.nn.Transformer` with the embeddings, positions and tied output that it leaves to its user."""

    def __init__(self, config: EncoderDecoderConfig):
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(c.src_vocab, c.d_model, padding_idx=c.padding)
        nn.init.normal_(self.embedding.weight, std=c.d_model**-0.5)
        self.register_buffer("positions", sinusoids(256, c.d_model))
        self.dropout = nn.Dropout(c.dropout)
        self.transformer = nn.Transformer(
            c.d_model,
            c.n_heads,
            c.encoder_layers,
            c.decoder_layers,
            c.d_ff,
            c.dropout,
            batch_first=True,
            norm_first=True,
        )

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(
            self.embedding(ids) * math.sqrt(self.config.d_model) + self.positions[: ids.shape[1]]
        )

    def forward(
        self, src: Tensor, tgt: Tensor, padded: Tensor | None
    ) -> Tensor:  # -> (batch, tgt_len, vocab)
        ahead = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool, device=tgt.device).triu(1)
        hidden = self.transformer(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=ahead,
            tgt_is_causal=True,
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
        )
        return F.linear(hidden, self.embedding.weight)


def our_loss(model: EncoderDecoder) -> Callable[[Batch], Tensor]:
    def loss(batch: Batch) -> Tensor:
        hidden = model.hidden(batch.src, batch.tgt_in)
        return smoothed_cross_entropy(hidden, model.output.weight, batch.tgt_out, smoothing=SMOOTHING)[0]

    return loss


def peers_loss(model: Peer) -> Callable[[Batch], Tensor]:
    def loss(batch: Batch) -> Tensor:
        padded = batch.src == 0
        logits = model(batch.src, batch.tgt_in, padded if padded.any() else None).flatten(0, 1)
        target = batch.tgt_out.flatten()
        return F.cross_entropy(logits, target, label_smoothing=SMOOTHING, ignore_index=0, reduction="sum")

    return loss


def stepper(
    model: nn.Module, loss: Callable[[Batch], Tensor], data: list[Batch], dtype: torch.dtype
) -> Callable[[int], None]:
    """A function that takes training step number i."""
    optimiser = ADAMW.build(model)
    moving = [p for p in model.parameters() if p.requires_grad]
    device = moving[0].device.type

    def step(turn: int) -> None:
        batch = data[turn % len(data)]
        with torch.autocast(device, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            value = loss(batch) / batch.n_tokens
        value.backward()
        nn.utils.clip_grad_norm_(moving, ADAMW.clip)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def one(name: str, *, dtype: torch.dtype, same: bool, compiled: bool, settings: Settings) -> Comparison:
    """Our step beside the peer's, at the size of that name; `same` puts dropout where `nn.Transformer` has it."""
    size = SIZES[name]
    data = batches(size, settings.device)
    fewer = replace(size.config, attention_dropout=0.0, activation_dropout=0.0)
    ours = initialise(EncoderDecoder(size.config if same else fewer), seed=0).to(settings.device).train()
    theirs = Peer(size.config).to(settings.device).train()
    if compiled:
        for layer in (*ours.encoder, *ours.decoder):
            layer.compile(dynamic=True)
        theirs.compile(
            dynamic=True
        )  # whole: PyTorch passes over its own layers where they are compiled one by one
    low = dtype == torch.bfloat16
    words = (
        "bf16" if low else "fp32",
        "compiled" if compiled else "eager",
        "the same dropout" if same else "less dropout",
    )
    tokens = [batch.n_tokens + int((batch.src != 0).sum()) for batch in data]
    return compare(
        stepper(ours, our_loss(ours), data, dtype),
        stepper(theirs, peers_loss(theirs), data, dtype),
        case=", ".join((name, *words)),
        peer="nn.Transformer",
        unit="tokens",
        work=lambda turn: tokens[turn % len(data)],
        settings=settings,
        warm_up=range(len(data)),
        required=None if compiled else (1.2 if low else 1.0),
    )


def run(settings: Settings) -> Iterator[Comparison]:
    """Each size eager and compiled, in both precisions, with both places of dropout."""
    for name in settings.chosen(SIZES):
        for compiled in (False, True) if settings.compiled else (False,):
            for dtype in settings.precisions:
                for same in (True, False):
                    yield one(name, dtype=dtype, same=same, compiled=compiled, settings=settings)
