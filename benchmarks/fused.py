"""Weights that are made anew, against stored ones: in a product at batch 1, in loading a model, in a training step."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_model

from benchmarks.measure import Amount, Comparison, Settings, compare
from benchmarks.step import SIZES as STEPS
from benchmarks.step import WORDS, batches, our_loss, stepper
from reservoir.models import EncoderDecoder, EncoderDecoderConfig, from_pretrained, save_pretrained
from reservoir.weights import Freeze, Mask, Seeded, freeze, initialise, mark_trained, supermask
from reservoir.weights.initialisation import Initialisation, KaimingUniform, SignedConstant
from reservoir.weights.streaming import TiledWeight, draw_lazily, held_bytes, pack

SIZES = {"laptop": 512, "IWSLT": 1024, "large": 4096}  # rows and columns of the matrix
KINDS: dict[str, Initialisation] = {"uniform": KaimingUniform(), "sign": SignedConstant()}
LOADED = {
    "laptop": dict(src_vocab=4000, tgt_vocab=4000, d_model=256, n_heads=4, d_ff=512),
    "IWSLT": dict(src_vocab=8848, tgt_vocab=6632, d_model=512, n_heads=4, d_ff=1024, tie="output"),
}  # fmt: skip


def run(settings: Settings) -> Iterator[Comparison | Amount]:
    """A product in tiles that are drawn, masked and discarded, against stored weights in bf16 and in fp32.

    The H200's record was made with a Triton kernel, which was slower than stored weights and is gone.
    """
    for name, size in SIZES.items():
        if settings.size in (None, name):
            for kind in KINDS:
                yield from _product(name, size, kind, settings)
    for name, sizes in settings.chosen(LOADED).items():
        yield from _loading(name, sizes, settings)
    for name in settings.chosen(STEPS):
        yield from _training(name, settings)


def _training(name: str, settings: Settings) -> Iterator[Comparison | Amount]:
    """A step of a model whose attention and feed-forward layers are frozen: drawn anew in each step, or kept."""
    size = STEPS[name]
    config = replace(size.config, attention_dropout=0.0, activation_dropout=0.0)
    data = batches(size, settings.device)
    plan = Freeze(attention=True, feed_forward=True)
    kept, anew = (
        freeze(initialise(EncoderDecoder(config), seed=0), plan).to(settings.device).train() for _ in range(2)
    )
    anew = draw_lazily(anew)
    case = f"{name}, frozen attention and feed-forward layers drawn anew in a training step"
    yield Amount(case, "kept in memory", "MB of weights", held_bytes(anew) / 1e6, held_bytes(kept) / 1e6)
    tokens = [batch.n_tokens + int((batch.src != 0).sum()) for batch in data]
    for dtype in settings.precisions:
        yield compare(
            stepper(anew, our_loss(anew), data, dtype),
            stepper(kept, our_loss(kept), data, dtype),
            case=f"{case}, {WORDS[dtype]}",
            peer="kept in memory",
            unit="tokens",
            work=lambda turn: tokens[turn % len(data)],
            settings=settings,
            warm_up=range(len(data)),
        )


def _product(name: str, size: int, kind: str, settings: Settings) -> Iterator[Comparison]:
    device = settings.device
    origin, shape = Seeded(0, "weight", KINDS[kind]), torch.Size((size, size))
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(0)) < 0.5
    made = TiledWeight(origin, shape, bits=pack(mask)).to(device)
    whole = (origin.draw(shape) * mask).to(device)
    x = torch.randn(1, size, device=device)
    for dtype in settings.precisions:
        weight, row = whole.to(dtype), x.to(dtype)
        yield compare(
            lambda turn: made.product(x),
            lambda turn, weight=weight, row=row: F.linear(row, weight),
            case=f"{name} 1×{size}×{size}, {kind}, made while used",
            peer=f"stored in {str(dtype).removeprefix('torch.')}",
            unit="weights",
            work=lambda turn: size * size,
            settings=settings,
        )


def _loading(name: str, sizes: dict, settings: Settings) -> Iterator[Comparison]:
    """Seconds to load: weights drawn and checked and bits unpacked, or read and checked, against plain safetensors."""
    config = EncoderDecoderConfig(norm_first=True, dropout=0.0, **sizes)
    masked = supermask(initialise(EncoderDecoder(config), seed=0), Mask(keep=0.5), seed=0)
    freeze(masked, Freeze(patterns=("*.bias", "*norm")))
    trained = initialise(EncoderDecoder(config), seed=0)
    mark_trained(trained)
    weights = sum(parameter.numel() for parameter in trained.parameters())
    with tempfile.TemporaryDirectory() as place:
        folders = [
            save_pretrained(model, Path(place) / which)
            for which, model in (("bits", masked), ("fp32", trained))
        ]
        plain = Path(place) / "plain.safetensors"
        save_model(trained, str(plain))

        def load_plainly(turn: int) -> EncoderDecoder:
            model = EncoderDecoder(config)
            model.load_state_dict(load_file(plain), strict=False)  # tied tables are in the file once
            return model.to(settings.device).eval()

        yield compare(
            lambda turn: from_pretrained(folders[1], device=settings.device),
            load_plainly,
            case=f"{name}, a model of {weights / 1e6:.1f} M weights loaded from 32 bits a weight, checked",
            peer="plain safetensors",
            unit="weights",
            work=lambda turn: weights,
            settings=settings,
            warm_up=(0,),
            required=1 / 1.5,
        )
        yield compare(
            lambda turn: from_pretrained(folders[0], device=settings.device),
            lambda turn: from_pretrained(folders[1], device=settings.device),
            case=f"{name}, a model of {weights / 1e6:.1f} M weights loaded from seeds and bits",
            peer="loaded from 32 bits a weight",
            unit="weights",
            work=lambda turn: weights,
            settings=settings,
            warm_up=(0,),
        )
