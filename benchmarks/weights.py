"""Choosing masks next to a sort, and loading a model from its seed next to safetensors."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_model
from torch import Tensor

from benchmarks.measure import Measured, Settings, compare
from benchmarks.steps import IWSLT
from reservoir.models import EncoderDecoder, from_pretrained, save_pretrained
from reservoir.weights import Freeze, Mask, freeze, initialise, supermask
from reservoir.weights.masks import kept_count, largest

SHAPE, KEEP = (1024, 512), 0.5  # of a feed-forward map at IWSLT's size; the share of its weights that is kept


def by_sorting(scores: Tensor, keep: float) -> Tensor:
    """Ramanujan et al. 2020, as they released it: sort all, then write zeros and ones in that order."""
    out = scores.clone()
    _, order = scores.flatten().sort()
    j = int((1 - keep) * scores.numel())
    flat = out.flatten()
    flat[order[:j]] = 0
    flat[order[j:]] = 1
    return out


def selection(settings: Settings) -> Measured:
    """The larger half of a matrix's scores, which move a little from turn to turn as in training."""
    steps = torch.randn(8, *SHAPE)
    scores = [steps[0] + 0.001 * step for step in steps]
    k = kept_count(scores[0].numel(), KEEP)
    return compare(
        lambda turn: [largest(one, k) for one in scores],
        lambda turn: [by_sorting(one, KEEP) for one in scores],
        settings,
    )


def loading(settings: Settings) -> Measured:
    """A masked translator, its weights drawn and its bits unpacked and checked, next to 32 stored bits a weight."""
    masked = supermask(initialise(EncoderDecoder(IWSLT.config), seed=0), Mask(keep=KEEP), seed=0)
    freeze(masked, Freeze(patterns=("*.bias", "*norm")))
    with tempfile.TemporaryDirectory() as place:
        folder, plain = save_pretrained(masked, Path(place) / "bits"), Path(place) / "plain.safetensors"
        save_model(initialise(EncoderDecoder(IWSLT.config), seed=0), str(plain))

        def load_plainly(turn: int) -> EncoderDecoder:
            model = EncoderDecoder(IWSLT.config)
            model.load_state_dict(load_file(plain), strict=False)  # tied tables are in the file once
            return model.eval()

        return compare(lambda turn: from_pretrained(folder), load_plainly, settings, warm_up=(0,))
