"""Checks of chapter 4's exercises."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor

from reservoir import recipes
from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.page.checks.verdict import Mistake, call, exercise, number
from reservoir.weights import Freeze, freeze, owned, report

PARTS = {"EMB": "embeddings", "ATT": "attention", "FFN": "feed_forward"}


@exercise("ex-share", "share_by_hand")
def trained_share(written: Callable[[int, int, int, int, Collection[str]], float]) -> str:
    """Exercise of chapter 4: `share_by_hand(vocab, d_model, d_ff, layers, frozen)`, post-LN encoder-decoder."""
    sizes = ((36_000, 1024, 4096, 6), (500, 64, 64, 2))
    for vocab, d, f, layers in sizes:
        config = EncoderDecoderConfig(
            vocab, vocab, d_model=d, n_heads=4, d_ff=f, encoder_layers=layers, decoder_layers=layers
        )
        attention, feed_forward = 4 * (d * d + d), 2 * d * f + d + f
        norm, table = 5 * layers * 2 * d, vocab * d
        for count in range(4):
            for frozen in itertools.combinations(PARTS, count):
                with torch.device("meta"):  # sizes need no memory
                    moves: dict[str, Any] = {PARTS[part]: True for part in frozen}
                    plan = Freeze(**moves)
                    made_of = report(freeze(EncoderDecoder(config), plan))
                right = made_of.trainable_all_rows / made_of.weights

                def share(
                    att=3 * layers * attention,
                    ffn=2 * layers * feed_forward,
                    emb=table,
                    norm=norm,
                    frozen=frozen,
                ):
                    sizes = {"EMB": emb, "ATT": att, "FFN": ffn}
                    whole = sum(sizes.values()) + norm
                    return (whole - sum(sizes[part] for part in frozen)) / whole

                slips = {
                    1 - share(): "you give the share that is frozen, not the one that moves",
                    share(att=2 * layers * attention): "you count one attention a layer; a decoder layer has two",
                    share(emb=2 * table): "you count the table of embeddings twice; both sides share one",
                    share(emb=3 * table): "you count the table of embeddings three times; one serves all",
                    share(norm=0): "the layer norms are missing; they belong to none of the three, and move",
                    100 * share(): "give a share between 0 and 1, not a percentage",
                }  # fmt: skip
                found = call(written, vocab, d, f, layers, frozen)
                if abs(number(found) - right) < 1e-9:
                    continue
                what = " and ".join(frozen) or "nothing"
                hint = next((text for slip, text in slips.items() if abs(found - slip) < 1e-9), None)
                raise Mistake(
                    f"with {what} frozen, vocab={vocab}, d_model={d}, d_ff={f}, layers={layers}, the share is"
                    f" {right:.4f}, not {found:.4f}" + (f": {hint}" if hint else "")
                )
    return "every share of the poster's first table is in your hands, and the one that it swapped"


@exercise("ex-attention-names", "attention_names")
def attention_streams(written: Callable[[Collection[str]], Collection[str]]) -> str:
    """Exercise of chapter 4: `attention_names(names)`, those of a model's tensors that belong to attention."""
    config: Any = recipes.get("transformer/miniature", scale="smoke").model
    model = config.sized(60).build()
    names = [item.stream for item in owned(model)]
    freeze(model, Freeze(attention=True))
    right = {item.stream for item in owned(model) if not item.parameter.requires_grad}
    answer = call(written, list(names))
    if isinstance(answer, str) or not isinstance(answer, Collection):
        raise Mistake(f"return the names in a list or a set, not a {type(answer).__name__}")
    found = set(answer)
    if found == right:
        return "queries, keys, values and outputs with their biases, in all three kinds of attention"
    if unknown := found - set(names):
        raise Mistake(f"{sorted(map(str, unknown))[0]!r} is no name of a tensor")
    if not found:
        raise Mistake("no name is chosen; print them, and look for what they have in common")
    if norms := {name for name in found if "norm" in name}:
        raise Mistake(f"norms belong to no component, but {sorted(norms)[0]!r} is chosen")
    if extra := found - right:
        raise Mistake(f"{sorted(extra)[0]!r} is no part of attention")
    missing = right - found
    if all(".cross." in name for name in missing):
        raise Mistake("the decoder's attention to the encoder is missing: its names have a cross in them")
    if all(name.endswith(".bias") for name in missing):
        raise Mistake(f"the {len(missing)} biases are missing")
    raise Mistake(f"{len(missing)} names are missing, {sorted(missing)[0]!r} among them")


@exercise("ex-zeroed", "zeroed")
def zeroed_diagonals(written: Callable[[Tensor, int], Tensor]) -> str:
    """Exercise of chapter 4: `zeroed(weight, blocks)`, the diagonal of each of `blocks` stacked maps set to zero."""
    for blocks, rows, columns in ((1, 4, 4), (3, 4, 4), (2, 6, 3)):
        weight = 1 + torch.arange(blocks * rows * columns, dtype=torch.float32).view(blocks * rows, columns)
        eye = torch.eye(rows, columns).repeat(blocks, 1)
        given = weight.clone()
        found = call(written, given, blocks)
        if not isinstance(found, Tensor):
            raise Mistake(f"return a tensor, not a {type(found).__name__}")
        if found.shape != weight.shape:
            raise Mistake(f"the result has the shape {tuple(found.shape)}, not {tuple(weight.shape)}")
        if not torch.equal(given, weight):
            raise Mistake("your function changes the weight that it was given; work on a copy")
        if torch.equal(found, weight * (1 - eye)):
            continue
        if torch.equal(found, eye) or torch.equal(found, weight * eye):
            raise Mistake("that is the other reading: only the diagonal is left; here only the diagonal goes")
        first = torch.eye(blocks * rows, columns)
        if torch.equal(found, weight * (1 - first)):
            raise Mistake(
                f"only the first of the {blocks} stacked matrices has lost its diagonal: queries, keys and values are"
                " three maps in one tensor"
            )
        kept = int((found == weight)[eye.bool()].sum())
        gone = int((found != weight)[~eye.bool()].sum())
        raise Mistake(f"{kept} entries of the diagonals are still there, and {gone} others have changed")
    return "one weight in each row is gone, and nothing else: a random map hardly notices"
