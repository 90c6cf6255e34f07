"""Checks of chapter 7's exercises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir_book.checks.verdict import Mistake, call, compare, exercise, refuse


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
        refuse({
            "you took 80 % of all tokens: of those that are asked about, 80 % become masks":
                found[0] == round(0.8 * tokens),
            f"all {asked} become masks in yours; some turn random and some stay as they are": found[0] == asked,
            "your third number counts tokens that nobody asks about; the three make the asked ones":
                sum(found) == tokens,
            f"of {tokens} tokens {asked} are asked about, but your three make {sum(found)}": sum(found) != asked,
            f"for {tokens} tokens and a share of {share} {(masks, replaced)} are masks and random": True,
        })  # fmt: skip
    return "eight, one and one in ten of those that are asked about"


@exercise("ex-hidden-loss", "loss")
def hidden_loss(written: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of chapter 7: `loss(logits, ids, asked)`, the mean cross-entropy of the tokens asked about."""
    generator = torch.Generator().manual_seed(0)
    cases = [(torch.randn(n, 9, generator=generator), torch.randint(9, (n,), generator=generator),
              torch.arange(n) % 3 == 1) for n in (6, 11)]  # fmt: skip

    def right(logits: Tensor, ids: Tensor, asked: Tensor) -> Tensor:
        return F.cross_entropy(logits[asked], ids[asked])

    return compare(written, right, cases, {
        "your loss counts every token: those that were not hidden stand before the model's eyes":
            lambda logits, ids, asked: F.cross_entropy(logits, ids),
        "your loss counts the tokens that were not asked about, and leaves the others out":
            lambda logits, ids, asked: F.cross_entropy(logits[~asked], ids[~asked]),
        "your loss is a sum: divide it by the number of tokens that are asked about":
            lambda logits, ids, asked: right(logits, ids, asked) * asked.sum(),
        "you divide by all tokens; only some are asked about":
            lambda logits, ids, asked: right(logits, ids, asked) * asked.sum() / len(asked),
    }, praise="only what was hidden counts", read=lambda found, expected: torch.as_tensor(float(found)),
       otherwise="a third of the tokens is asked about: the loss is {expected:.4f}, yours is {found:.4f}")  # fmt: skip


@exercise("ex-pairs", "joined")
def joined_pair(written: Callable[[list, list, int, int], list]) -> str:
    """Exercise of chapter 7: `joined(first, second, bos, eos)`, what the encoder reads of two sentences."""

    def read(found: Iterable[int], expected: list[int]) -> list[int]:
        if (ids := list(found))[:1] != expected[:1]:
            raise Mistake("a beginning-of-sentence comes first: the encoder was pretrained with it")
        if ids[-1] != expected[-1]:
            raise Mistake("the last sentence has no end-of-sentence")
        return ids

    def right(first: list, second: list, bos: int, eos: int) -> list:
        return [bos, *first, eos, *second, eos] if second else [bos, *first, eos]

    cases = [([7, 8, 9], [5, 6], 1, 2), ([4], [], 1, 2)]
    return compare(written, right, cases, {
        "without a second sentence there is one end: nothing follows the first":
            lambda first, second, bos, eos: [bos, *first, eos, *second, eos],
        "nothing tells where the first sentence ends: put an end-of-sentence between the two":
            lambda first, second, bos, eos: [bos, *first, *second, eos],
    }, praise="a beginning, and an end after each", read=read,
       otherwise="{first} and {second} are read as {expected}, yours is {found}")  # fmt: skip
