"""Training steps next to their peers': of the bench's models and of translators, and what freezing saves of them.

All take the same batches, a handful that comes again and again, so that neither side pays for new shapes.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function

import reservoir_lab.recipes  # noqa: F401 (enters the recipes)
from benchmarks.measure import FEWEST, Measured, Settings, compare, duration, in_turns, quartiles
from reservoir.datasets import Batch, TokenBatches
from reservoir.layers import sinusoids
from reservoir.models import EncoderDecoder, EncoderDecoderConfig, Tagger, TaggerConfig
from reservoir.training.state import Optimiser
from reservoir.training.task import smoothed_cross_entropy
from reservoir.training.translation import BOS, EOS
from reservoir.weights import Freeze, freeze, initialise, placement, report, reservoir_layers
from reservoir_lab.runs import registry
from reservoir_lab.runs.building import build

TASKS = ("circle", "brackets", "facts")
DROPOUT, SMOOTHING = 0.1, 0.1
ADAMW = Optimiser(lr=1e-4)
UPDATE = "clipping and optimiser"


class TheirTagger(nn.Module):
    """A tagger of PyTorch's own layers, with the sizes of ours."""

    def __init__(self, config: TaggerConfig):
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(c.vocab, c.d_model, padding_idx=0)
        self.positions = nn.Parameter(0.3 * torch.randn(c.max_length, c.d_model))
        layer = nn.TransformerEncoderLayer(
            c.d_model, c.n_heads, c.d_ff, dropout=0.0, batch_first=True, norm_first=c.norm_first
        )
        self.layers = nn.TransformerEncoder(
            layer, c.layers, nn.LayerNorm(c.d_model), enable_nested_tensor=False
        )
        self.readout = nn.Linear(c.d_model, c.outputs, bias=False)

    def forward(self, ids: Tensor, places: int | None = None) -> Tensor:
        """Return the output at the last places, or at all: (batch, length) -> (batch, places, outputs)."""
        length = ids.shape[1]
        x = self.embedding(ids) + self.positions[:length]
        if self.config.causal:
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=ids.device)
            x = self.layers(x, mask=mask, is_causal=True)
        else:
            x = self.layers(x)
        return self.readout(x if places is None else x[:, -places:])


class OnBench:
    """Ten training steps of a row's model, or of PyTorch's layers in its place, on batches that were drawn before."""

    def __init__(self, row: str, device: torch.device, *, theirs: bool = False):
        of = registry.get(f"bench/{row}", scale="laptop").evolve(device=device.type)
        model, self.task, _ = build(of)
        assert isinstance(model, Tagger)
        self.model = (TheirTagger(model.config) if theirs else model).to(device).train()
        self.batches = list(itertools.islice(self.task.epoch(0), 8))
        self.clip, self.optimiser = of.optimiser.clip, of.optimiser.build(self.model)

    def __call__(self, turn: int) -> None:
        for number in range(10):
            loss = self.task.loss(self.model, self.batches[(turn + number) % 8])
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimiser.step()


def bench(settings: Settings) -> Measured:
    """Ten steps on each of three tasks."""
    ours, theirs = (
        [OnBench(f"{task}/trained", settings.device, theirs=which) for task in TASKS]
        for which in (False, True)
    )
    return compare(
        lambda turn: [one(turn) for one in ours], lambda turn: [one(turn) for one in theirs], settings
    )


def row(ours: str, theirs: str) -> Callable[[Settings], Measured]:
    """Ten steps of one row of the bench next to ten of another."""
    return lambda settings: compare(
        OnBench(ours, settings.device), OnBench(theirs, settings.device), settings
    )


@dataclass(frozen=True)
class Size:
    """A translator and its batches.

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


def _config(vocab: int, d_model: int, d_ff: int, layers: int) -> EncoderDecoderConfig:
    return EncoderDecoderConfig(
        vocab,
        vocab,
        d_model=d_model,
        n_heads=4,
        d_ff=d_ff,
        encoder_layers=layers,
        decoder_layers=layers,
        norm_first=True,
        dropout=DROPOUT,
    )


LAPTOP = Size(_config(4000, 256, 512, 3), 2048, 14, 4)
IWSLT = Size(_config(10000, 512, 1024, 6), 4096, 25, 2)


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


class TheirTransformer(nn.Module):
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

    def forward(self, batch: Batch) -> Tensor:  # -> (batch, tgt_len, vocab)
        src, tgt = batch.src, batch.tgt_in
        padded = src == 0 if (src == 0).any() else None
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


def transformers_sizes(c: EncoderDecoderConfig) -> dict:
    """The sizes of a model of ours as transformers' encoder-decoders call them, and what begins and ends a sentence."""
    return dict(
        vocab_size=c.src_vocab,
        d_model=c.d_model,
        encoder_layers=c.encoder_layers,
        decoder_layers=c.decoder_layers,
        encoder_attention_heads=c.n_heads,
        decoder_attention_heads=c.n_heads,
        encoder_ffn_dim=c.d_ff,
        decoder_ffn_dim=c.d_ff,
        activation_function=c.activation,
        scale_embedding=True,
        pad_token_id=0,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=EOS,
    )


class TheirMarian(nn.Module):
    """Transformers' Marian at our sizes, one table of embeddings for both sides and the output."""

    def __init__(self, config: EncoderDecoderConfig):
        from transformers import MarianConfig, MarianMTModel

        super().__init__()
        sizes = transformers_sizes(config) | dict(
            dropout=config.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            max_position_embeddings=256,
        )
        self.model = MarianMTModel(MarianConfig(**sizes))

    def forward(self, batch: Batch) -> Tensor:  # -> (batch, tgt_len, vocab)
        seen = (batch.src != 0).long()
        return self.model(input_ids=batch.src, attention_mask=seen, decoder_input_ids=batch.tgt_in).logits


Loss = Callable[[Batch], Tensor]


def our_loss(model: EncoderDecoder) -> Loss:
    """The label-smoothed cross-entropy of a batch, summed over its tokens."""

    def loss(batch: Batch) -> Tensor:
        hidden = model.hidden(batch.src, batch.tgt_in)
        return smoothed_cross_entropy(hidden, model.output.weight, batch.tgt_out, smoothing=SMOOTHING)[0]

    return loss


def their_loss(model: nn.Module) -> Loss:
    """The same of a peer, from its logits."""

    def loss(batch: Batch) -> Tensor:
        logits, target = model(batch).flatten(0, 1), batch.tgt_out.flatten()
        return F.cross_entropy(logits, target, label_smoothing=SMOOTHING, ignore_index=0, reduction="sum")

    return loss


class Training:
    """Training steps of a translator in bf16: forward, backward, clipping, fused AdamW."""

    def __init__(
        self, model: nn.Module, loss: Callable[..., Loss], data: Sequence[Batch], device: torch.device
    ):
        self.model = model.to(device).train()
        self.loss, self.data, self.device = loss(self.model), data, device
        self.optimiser = ADAMW.build(self.model)
        self.moving = [p for p in self.model.parameters() if p.requires_grad]

    def __call__(self, turn: int) -> None:
        batch = self.data[turn % len(self.data)]
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            value = self.loss(batch) / batch.n_tokens
        value.backward()
        with record_function(UPDATE):
            nn.utils.clip_grad_norm_(self.moving, ADAMW.clip)
            self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)


def translator(size: Size, peer: type[nn.Module], *, inside: float = 0.0) -> Callable[[Settings], Measured]:
    """A step of our translator next to a peer's; `inside` is the dropout within attention and feed-forward layers."""

    def measure(settings: Settings) -> Measured:
        config = replace(size.config, attention_dropout=inside, activation_dropout=inside)
        data = batches(size, settings.device)
        ours = Training(initialise(EncoderDecoder(config), seed=0), our_loss, data, settings.device)
        theirs = Training(peer(config), their_loss, data, settings.device)
        return compare(ours, theirs, settings, warm_up=range(len(data)))

    return measure


def plans(config: EncoderDecoderConfig) -> list[Freeze]:
    """What is frozen: the poster's components and their pairs, and every second encoder layer."""
    reservoirs = placement(config.encoder_layers, config.encoder_layers // 2)
    return [
        Freeze(embeddings=True),
        Freeze(attention=True),
        Freeze(feed_forward=True),
        Freeze(embeddings=True, feed_forward=True),
        Freeze(embeddings=True, attention=True),
        Freeze(attention=True, feed_forward=True),
        Freeze(layers=reservoir_layers(reservoirs)),
    ]


def freezing(settings: Settings) -> Measured:
    """What seven freezing plans save of a step, as a share of the ideal, in all.

    Ideal is what freezing can save without leaving out a layer: in the profiled step of the model that trains
    everything, the products that make the gradients of the weights in question, and their share of clipping and of the
    optimiser. The share can exceed 1: where nothing below a frozen layer moves there is no backward pass at all, and
    frozen biases, norms and casts are not counted.
    """
    data, config = batches(LAPTOP, settings.device), LAPTOP.config
    whole, *parts = (
        Training(freeze(initialise(EncoderDecoder(config), seed=0), plan), our_loss, data, settings.device)
        for plan in (Freeze(), *plans(config))
    )
    for turn in range(len(data)):
        whole(turn)
    spent, update = weight_gradients(whole)
    possible = sum(ideal(part.model, spent, update) for part in parts)

    def share(turn: Sequence[float]) -> float:
        return sum(turn[0] - frozen for frozen in turn[1:]) / possible

    turns = in_turns((whole, *parts), settings, share, warm_up=range(len(data)))
    low, middle, high = quartiles([share(turn) for turn in turns])
    return Measured(duration(middle * possible), duration(possible), middle, low, high, len(turns))


def weight_gradients(whole: Training) -> tuple[dict[tuple[int, int], float], float]:
    """Seconds a step takes for the weight gradients of each shape (d_out, d_in) in all, and for the update.

    A product `gradᵀ x` is known by its result, which has the shape of a matrix of the model; others have the rows of a
    batch, which no width equals. The rows of a stretch of the loss may. The profiler counts what passes, so its seconds
    are cut by the share of a step in which this process had a processor.
    """
    matrices = {(max(p.shape), min(p.shape)) for p in whole.model.parameters() if p.ndim == 2}
    steps: list[dict[tuple[int, int], float]] = []
    updates = []
    for turn in range(FEWEST * len(whole.data)):
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
            begun, passed = time.process_time(), time.perf_counter()
            whole(turn)
            running = (time.process_time() - begun) / (time.perf_counter() - passed)
        spent: dict[tuple[int, int], float] = {}
        update = 0.0
        for event in profiler.events():
            if event.device_type != DeviceType.CPU:
                continue
            seconds = running * event.cpu_time_total / 1e6
            if event.name == UPDATE:
                update += seconds
            if event.name != "aten::mm" or len(event.input_shapes) < 2:
                continue
            (rows, _), (_, columns) = event.input_shapes[:2]
            shape = (max(rows, columns), min(rows, columns))
            if shape in matrices:
                spent[shape] = spent.get(shape, 0.0) + seconds
        steps.append(spent)
        updates.append(update)
    shapes = {shape for spent in steps for shape in spent}
    return (
        {shape: statistics.median(spent.get(shape, 0.0) for spent in steps) for shape in shapes},
        statistics.median(updates),
    )


def ideal(frozen: nn.Module, spent: dict[tuple[int, int], float], update: float) -> float:
    """Seconds that freezing a model so can save of a step, of which the weight gradients take `spent` by shape."""
    all_of: dict[tuple[int, int], int] = {}
    stopped: dict[tuple[int, int], int] = {}
    for module in frozen.modules():
        if isinstance(module, nn.Linear):  # the tied table among them, as the output
            d_out, d_in = module.weight.shape
            shape = (max(d_out, d_in), min(d_out, d_in))
            all_of[shape] = all_of.get(shape, 0) + 1
            stopped[shape] = stopped.get(shape, 0) + (not module.weight.requires_grad)
    gradients = sum(spent.get(shape, 0.0) * stopped[shape] / all_of[shape] for shape in all_of)
    made_of = report(frozen)
    return gradients + update * (1 - made_of.trainable / made_of.total)
