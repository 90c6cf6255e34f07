"""Checks of chapter 4's exercises."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from reservoir.weights import Freeze, freeze, owned, report
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, refuse
from reservoir_lab import recipes
from reservoir_lab.recipes.transformer import sizes

PARTS = {"EMB": "embeddings", "ATT": "attention", "FFN": "feed_forward"}


@exercise("ex-share", "share_by_hand")
def trained_share(written: Callable[[int, int, int, int, Collection[str]], float]) -> str:
    """Exercise of chapter 4: `share_by_hand(vocab, d_model, d_ff, layers, frozen)`, post-LN encoder-decoder."""

    def right(vocab: int, d_model: int, d_ff: int, layers: int, frozen: Collection[str]) -> float:
        with torch.device("meta"):  # sizes need no memory
            model = replace(sizes(d_model, d_ff, layers, 0.0), norm_first=False).sized(vocab).build()
        plan: dict[str, Any] = {PARTS[part]: True for part in frozen}
        made_of = report(freeze(model, Freeze(**plan)))
        return made_of.trainable_all_rows / made_of.weights

    def share(*, attentions: int = 3, tables: int = 1, norms: int = 5) -> Callable[..., float]:
        def by_hand(vocab: int, d: int, f: int, layers: int, frozen: Collection[str]) -> float:
            attention, feed_forward = 4 * (d * d + d), 2 * d * f + d + f
            of = {
                "EMB": tables * vocab * d,
                "ATT": attentions * layers * attention,
                "FFN": 2 * layers * feed_forward,
            }
            whole = sum(of.values()) + norms * layers * 2 * d
            return (whole - sum(of[part] for part in frozen)) / whole

        return by_hand

    cases = [(*numbers, frozen) for numbers in ((36_000, 1024, 4096, 6), (500, 64, 64, 2))
             for count in range(4) for frozen in itertools.combinations(PARTS, count)]  # fmt: skip
    return compare(written, right, cases, {
        "you give the share that is frozen, not the one that moves": lambda *case: 1 - right(*case),
        "you count one attention a layer; a decoder layer has two": share(attentions=2),
        "you count the table of embeddings twice; both sides share one": share(tables=2),
        "you count the table of embeddings three times; one serves all": share(tables=3),
        "the layer norms are missing; they belong to none of the three, and move": share(norms=0),
        "give a share between 0 and 1, not a percentage": lambda *case: 100 * right(*case),
    }, praise="this gives every share of the poster's first table, and the one that its second table swapped",
       otherwise="with {frozen} frozen, vocab={vocab}, d_model={d_model}, d_ff={d_ff}, layers={layers}, the share is"
           " {expected:.4f}, not {found:.4f}")  # fmt: skip


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
    unknown, missing = [sorted(map(str, each)) for each in (found - set(names), right - found)]
    extra = [name for name in sorted(map(str, found - right)) if name not in unknown]
    norms = [name for name in extra if "norm" in name]

    def first(names: list[str]) -> str:
        return repr(names[0]) if names else ""

    refuse({
        f"{first(unknown)} is no name of a tensor": unknown,
        "no name is chosen; print them, and look for what they have in common": not found,
        f"norms belong to no component, but {first(norms)} is chosen": norms,
        f"{first(extra)} is no part of attention": extra,
        "the decoder's attention to the encoder is missing: its names have a cross in them":
            all(".cross." in name for name in missing),
        f"the {len(missing)} biases are missing": all(name.endswith(".bias") for name in missing),
        f"{len(missing)} names are missing, {first(missing)} among them": missing,
    })  # fmt: skip
    raise AssertionError("a wrong answer has a name too many or too few")


@exercise("ex-zeroed", "zeroed")
def zeroed_diagonals(written: Callable[[Tensor, int], Tensor]) -> str:
    """Exercise of chapter 4: `zeroed(weight, blocks)`, the diagonal of each of `blocks` stacked maps set to zero."""

    def diagonals(weight: Tensor, blocks: int) -> Tensor:
        return torch.eye(len(weight) // blocks, weight.shape[1]).repeat(blocks, 1)

    def otherwise(found: Tensor, expected: Tensor, weight: Tensor, blocks: int) -> str:
        eye = diagonals(weight, blocks).bool()
        kept, gone = int((found == weight)[eye].sum()), int((found != weight)[~eye].sum())
        return f"{kept} entries of the diagonals are still there, and {gone} others have changed"

    cases = [(1 + torch.arange(n * rows * columns, dtype=torch.float32).view(n * rows, columns), n)
             for n, rows, columns in ((1, 4, 4), (3, 4, 4), (2, 6, 3))]  # fmt: skip
    for weight, blocks in cases:
        given = weight.clone()
        call(written, given, blocks)
        refuse(
            {"your function changes the weight that it was given; work on a copy": not given.equal(weight)}
        )
    return compare(written, lambda weight, blocks: weight * (1 - diagonals(weight, blocks)), cases, {
        "that is the other reading: only the diagonal is left; here only the diagonal goes": diagonals,
        "that is the other reading: only the diagonals are left; here only they go":
            lambda weight, blocks: weight * diagonals(weight, blocks),
        "only the first of the {blocks} stacked matrices has lost its diagonal: queries, keys and values are three"
        " maps in one tensor": lambda weight, blocks: weight * (1 - torch.eye(*weight.shape)),
    }, praise="one weight in each row is gone, and nothing else: a random map hardly notices",
       otherwise=otherwise)  # fmt: skip
