"""Checks of chapter 7's exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.page.checks.verdict import Mistake, call, exercise


@exercise("ex-shares", "shares")
def masking_shares(written: Callable[[int, float], tuple[int, int, int]]) -> str:
    """Exercise of chapter 7: `shares(tokens, share)`, how many become masks, random tokens, and stay."""
    for tokens, share in ((1000, 0.15), (2000, 0.4), (100, 1.0)):
        asked = round(tokens * share)
        masks, replaced = round(0.8 * asked), round(0.9 * asked) - round(0.8 * asked)
        found = call(written, tokens, share)
        if not isinstance(found, Sequence) or len(found) != 3:
            raise Mistake(f"three numbers are wanted, masks, random and kept, but there is {found!r}")
        if tuple(found) == (masks, replaced, asked - masks - replaced):
            continue
        if found[0] == round(0.8 * tokens):
            raise Mistake("you took 80 % of all tokens: of those that are asked about, 80 % become masks")
        if found[0] == asked:
            raise Mistake(f"all {asked} become masks in yours; some turn random and some stay as they are")
        if sum(found) == tokens:
            raise Mistake(
                "your third number counts tokens that nobody asks about; the three make the asked ones"
            )
        if sum(found) != asked:
            raise Mistake(f"of {tokens} tokens {asked} are asked about, but your three make {sum(found)}")
        raise Mistake(f"for {tokens} tokens and a share of {share} {(masks, replaced)} are masks and random")
    return "eight, one and one in ten of those that are asked about"


@exercise("ex-hidden-loss", "loss")
def hidden_loss(written: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of chapter 7: `loss(logits, ids, asked)`, the mean cross-entropy of the tokens asked about."""
    generator = torch.Generator().manual_seed(0)
    for length in (6, 11):
        logits = torch.randn(length, 9, generator=generator)
        ids = torch.randint(9, (length,), generator=generator)
        asked = torch.arange(length) % 3 == 1
        found = call(written, logits, ids, asked)
        value = float(found)
        right = F.cross_entropy(logits[asked], ids[asked]).item()
        if abs(value - right) < 1e-4:
            continue
        if abs(value - F.cross_entropy(logits, ids).item()) < 1e-4:
            raise Mistake(
                "your loss counts every token: those that were not hidden stand before the model's eyes"
            )
        if abs(value - F.cross_entropy(logits[~asked], ids[~asked]).item()) < 1e-4:
            raise Mistake("your loss counts the tokens that were not asked about, and leaves the others out")
        if abs(value - right * int(asked.sum())) < 1e-4:
            raise Mistake(
                f"your loss is a sum: divide it by the {int(asked.sum())} tokens that are asked about"
            )
        if abs(value - right * int(asked.sum()) / length) < 1e-4:
            raise Mistake(f"you divide by all {length} tokens; only {int(asked.sum())} are asked about")
        raise Mistake(
            f"for {int(asked.sum())} of {length} tokens the loss is {right:.4f}, yours is {value:.4f}"
        )
    return "only what was hidden counts"


@exercise("ex-pairs", "joined")
def joined_pair(written: Callable[[list, list, int, int], list]) -> str:
    """Exercise of chapter 7: `joined(first, second, bos, eos)`, what the encoder reads of two sentences."""
    for first, second in (([7, 8, 9], [5, 6]), ([4], [])):
        found = list(call(written, first, second, 1, 2))
        right = [1, *first, 2, *second, 2] if second else [1, *first, 2]
        if found == right:
            continue
        if not second and found == [1, *first, 2, 2]:
            raise Mistake("without a second sentence there is one end: nothing follows the first")
        if not found or found[0] != 1:
            raise Mistake("a beginning-of-sentence comes first: the encoder was pretrained with it")
        if found == [1, *first, *second, 2]:
            raise Mistake(
                "nothing tells where the first sentence ends: put an end-of-sentence between the two"
            )
        if found[-1] != 2:
            raise Mistake("the last sentence has no end-of-sentence")
        raise Mistake(f"{first} and {second} are read as {right}, yours is {found}")
    return "a beginning, and an end after each"
