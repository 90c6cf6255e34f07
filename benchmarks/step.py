"""A whole training step: tokens a second of our encoder-decoder and of `torch.nn.Transformer`.

Both train the same pre-LN transformer with tied embeddings on the same padded batches: forward, label-smoothed
cross-entropy, backward, clipping, fused AdamW. "The same dropout" lies where `nn.Transformer` has it: after each
sublayer, on the attention weights and inside the feed-forward layers. "Less dropout" lies where our recipes have it,
as fairseq's do: after each sublayer alone. A handful of batches comes again and again, so that neither side pays for
new shapes; `benchmarks.linear` is about those.
Compiled means each of our layers by `torch.compile(dynamic=True)`, all layers of a kind sharing one compiled function,
and the peer's model as a whole. Two more lines say what our step is worth by itself: compiled against eager, and as a
share of the rate at which the machine multiplies square matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.measure import Comparison, Settings, compare
from reservoir.datasets import Batch, TokenBatches
from reservoir.layers import sinusoids
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.training.state import Optimiser
from reservoir.training.task import smoothed_cross_entropy
from reservoir.weights import initialise

DROPOUT, SMOOTHING = 0.1, 0.1
WORDS = {torch.bfloat16: "bf16", torch.float32: "fp32"}
LEAST = {torch.bfloat16: 1.45, torch.float32: 1.15}  # times nn.Transformer's step
SQUARE = 1024  # rows and columns of the matrices that the machine's rate is measured with
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
    epoch = TokenBatches(src, tgt, max_tokens=size.max_tokens, seed=0, max_length=128).epoch(0)
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


class Counted(Protocol):
    """A batch that knows how many tokens of it are predicted."""

    @property
    def n_tokens(self) -> int: ...


B = TypeVar("B", bound=Counted)


def stepper(
    model: nn.Module, loss: Callable[[B], Tensor], data: Sequence[B], dtype: torch.dtype
) -> Callable[[int], None]:
    """A function that takes training step number i; `loss` sums over a batch's tokens."""
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


class Ours:
    """Our model at the size of a name, its batches and its training step; `same` is as of `one`."""

    def __init__(
        self,
        name: str,
        dtype: torch.dtype,
        settings: Settings,
        *,
        same: bool = False,
        compiled: bool = False,
    ):
        size = SIZES[name]
        self.data = batches(size, settings.device)
        self.tokens = [batch.n_tokens + int((batch.src != 0).sum()) for batch in self.data]
        fewer = replace(size.config, attention_dropout=0.0, activation_dropout=0.0)
        model = initialise(EncoderDecoder(size.config if same else fewer), seed=0)
        model = model.to(settings.device).train()
        if compiled:
            for layer in (*model.encoder, *model.decoder):
                layer.compile(dynamic=True)
        self.model = model
        self.step = stepper(model, our_loss(model), self.data, dtype)

    def operations(self) -> list[int]:
        """Of a step on each batch: those of its products, of padding as well, as PyTorch counts them."""
        found = []
        for turn in range(len(self.data)):
            with FlopCounterMode(display=False) as counter:
                self.step(turn)
            found.append(counter.get_total_flops())
        return found

    def beside(
        self,
        theirs: Callable[[int], None],
        *,
        case: str,
        peer: str,
        settings: Settings,
        required: float | None = None,
    ) -> Comparison:
        """Our step and a peer's on the same batches, in turns."""
        return compare(
            self.step,
            theirs,
            case=case,
            peer=peer,
            unit="tokens",
            work=lambda turn: self.tokens[turn % len(self.data)],
            settings=settings,
            warm_up=range(len(self.data)),
            required=required,
        )


def one(name: str, *, dtype: torch.dtype, same: bool, compiled: bool, settings: Settings) -> Comparison:
    """Our step against the peer's, at the size of that name; `same` puts dropout where `nn.Transformer` has it."""
    ours = Ours(name, dtype, settings, same=same, compiled=compiled)
    theirs = Peer(SIZES[name].config).to(settings.device).train()
    if compiled:  # whole: PyTorch passes over its own layers where they are compiled one by one
        theirs.compile(dynamic=True)
    words = (
        WORDS[dtype],
        "compiled" if compiled else "eager",
        "the same dropout" if same else "less dropout",
    )
    return ours.beside(
        stepper(theirs, peers_loss(theirs), ours.data, dtype),
        case=", ".join((name, *words)),
        peer="nn.Transformer",
        settings=settings,
        required=None if compiled else LEAST[dtype],
    )


def beside_eager(name: str, dtype: torch.dtype, settings: Settings) -> Comparison:
    """Our compiled step against our eager one."""
    ours, eager = (Ours(name, dtype, settings, compiled=compiled) for compiled in (True, False))
    return ours.beside(
        eager.step, case=f"{name}, {WORDS[dtype]}, compiled", peer="our eager step", settings=settings
    )


def of_the_machine(name: str, dtype: torch.dtype, settings: Settings) -> Comparison:
    """Our step against as many operations in products of square matrices: its share of the machine's rate."""
    ours = Ours(name, dtype, settings)
    operations = ours.operations()
    square = torch.randn(SQUARE, SQUARE, dtype=dtype, device=settings.device)
    product = torch.empty_like(square)

    def multiply(turn: int) -> None:
        for _ in range(round(operations[turn % len(operations)] / (2 * SQUARE**3))):
            torch.mm(square, square, out=product)

    case = f"{name}, {WORDS[dtype]}, eager, a share of the machine's rate"
    peer = f"products of {SQUARE} × {SQUARE}, as many operations"
    return ours.beside(multiply, case=case, peer=peer, settings=settings)


def run(settings: Settings) -> Iterator[Comparison]:
    """Each size eager and compiled, in both precisions, with both places of dropout; and our step by itself."""
    for name in settings.chosen(SIZES):
        for compiled in (False, True) if settings.compiled else (False,):
            for dtype in settings.precisions:
                for same in (True, False):
                    yield one(name, dtype=dtype, same=same, compiled=compiled, settings=settings)
        for dtype in settings.precisions:
            yield of_the_machine(name, dtype, settings)
            if settings.compiled:
                yield beside_eager(name, dtype, settings)
