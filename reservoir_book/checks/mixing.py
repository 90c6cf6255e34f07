"""Checks of the exercises of chapters 6 and 7 and appendix A8: mixing, masked language models, frozen bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from reservoir.datasets import DataError
from reservoir.layers import fourier
from reservoir.weights import freeze, initialise, report
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, number, refuse, same
from reservoir_lab import recipes
from reservoir_lab.corpora import calculations
from reservoir_lab.evidence import sources
from reservoir_lab.recipes.transformer import sizes_of
from reservoir_lab.runs.building import bare_model


@exercise("ex-shares", "shares")
def masking_shares(written: Callable[[int, float], tuple[int, int, int]]) -> str:
    """Exercise of appendix A8: `shares(tokens, share)`, how many become masks, random tokens, and stay."""
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
    """Exercise of appendix A8: `loss(logits, ids, asked)`, the mean cross-entropy of the tokens asked about."""
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
    """Exercise of appendix A8: `joined(first, second, bos, eos)`, what the encoder reads of two sentences."""

    def right(first: list, second: list, bos: int, eos: int) -> list:
        return [bos, *first, eos, *second, eos] if second else [bos, *first, eos]

    cases = [([7, 8, 9], [5, 6], 1, 2), ([4], [], 1, 2)]
    return compare(written, right, cases, {
        "without a second sentence there is one end: nothing follows the first":
            lambda first, second, bos, eos: [bos, *first, eos, *second, eos],
        "nothing tells where the first sentence ends: put an end-of-sentence between the two":
            lambda first, second, bos, eos: [bos, *first, *second, eos],
        "a beginning-of-sentence comes first: the encoder was pretrained with it": lambda *case: right(*case)[1:],
        "the last sentence has no end-of-sentence": lambda first, second, bos, eos: [bos, *first, eos, *second],
    }, praise="a beginning, and an end after each",
       otherwise="{first} and {second} are read as {expected}, yours is {found}")  # fmt: skip


def mirrored(
    half: Tensor, d_model: int
) -> Tensor:  # (tokens, d_model // 2 + 1) -> (tokens, (d_model - 1) // 2)
    """The features whose mirror images are missing in half a transform."""
    return half[:, 1 : (d_model + 1) // 2]


def with_half(second: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """Half a transform, and what `second` makes of the features that have a mirror image."""
    return lambda half, d_model: torch.cat([half, second(mirrored(half, d_model))], 1)


@exercise("ex-mirrored-half", "whole")
def mirrored_half(written: Callable[[Tensor, int], Tensor]) -> str:
    """Exercise of chapter 6: `whole(half, d_model)`, all features of a transform from the first half of them."""

    xs = [torch.randn(*shape, generator=torch.Generator().manual_seed(0)) for shape in ((5, 8), (4, 7))]
    cases = [(torch.fft.rfft2(x).real, x.shape[1]) for x in xs]
    return compare(written, with_half(lambda columns: columns.flip(0, 1).roll(1, 0)), cases, {
        "you reversed the features alone: the entry at (-n, -k) needs the tokens reversed too":
            with_half(lambda columns: columns.flip(1)),
        "token 0 is its own mirror image: it stays in the first row, and the others are reversed":
            with_half(lambda columns: columns.flip(0, 1)),
        "you reversed the tokens alone: feature d - k stands for -k, so the columns turn round":
            with_half(lambda columns: columns.flip(0).roll(1, 0)),
    }, praise="half a transform and its mirror image are a whole one",
       otherwise="with {d_model} features that is not the given half followed by its mirror image")  # fmt: skip


@exercise("ex-lost", "kept")
def directions_kept(written: Callable[[int, int], int]) -> str:
    """Exercise of chapter 6: `kept(length, d_model)`, the rank of Fourier mixing."""

    def alone(length: int, d_model: int) -> int:  # entries that are their own mirror image
        return (2 - length % 2) * (2 - d_model % 2)

    cases = [(6, 8), (5, 7), (6, 7), (5, 8), (512, 768)]
    return compare(written, lambda length, d_model: (length * d_model + alone(length, d_model)) // 2, cases, {
        "that is all of them: x and its mirror image have the same mixing, so some are lost": lambda n, d: n * d,
        "half is nearly right; but of {length} × {d_model} entries some are their own mirror image, and those are not"
        " lost": lambda n, d: n * d // 2,
        "those are the directions that are lost; the others are kept": lambda n, d: (n * d - alone(n, d)) // 2,
        "you count one entry that is its own mirror image; how many there are depends on which side is even":
            lambda n, d: (n * d + 1) // 2,
        "you count four entries that are their own mirror image; how many there are depends on which side is even":
            lambda n, d: (n * d + 4) // 2,
    }, praise="one of each pair of mirror images, and all that have no partner",
       otherwise="of {length} × {d_model} directions {expected} are kept, yours says {found}")  # fmt: skip


@exercise("ex-no-leak", "mixed")
def no_leak(written: Callable[[Tensor, Tensor, int], Tensor]) -> str:
    """Exercise of chapter 6: `mixed(x, mask, length)`, Fourier mixing that depends on each text alone."""
    x = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(1))
    mask = torch.arange(6) < torch.tensor([[6], [4], [2]])
    texts = x * mask[..., None]
    for length in (6, 9):
        found, whole = call(written, x, mask, length), fourier(x, length=length)
        if (shape := tuple(getattr(found, "shape", ()))) != x.shape:
            raise Mistake(
                f"what comes out has a row for each position that went in, {(3, 6, 8)}; yours is {shape}"
            )
        if same(found[mask], fourier(texts, length=length)[mask]):
            continue
        refuse({
            "what fills up the texts is still mixed in: make it zero before the transform":
                same(found, fourier(x)) or same(found, whole),
            f"your transform is of 6 tokens, as long as this batch happens to be, and not of {length}: next to a"
            " longer text another transform would come out": same(found, fourier(texts)),
            "you hide the rows that come out; what leaks is what goes in":
                same(found, whole * mask[..., None]) or same(found, fourier(x) * mask[..., None]),
            f"with length={length} a text is not mixed as if it were filled up with zeros to that": True,
        })  # fmt: skip
    return "each text is mixed as if it were alone"


GPT2 = (768, 12, 1024)  # d_model, layers, positions
RELEASED = {  # task -> the column of the sources' table, what goes in and comes out, and whether these are tokens
    "bit-memory": ("BitMem", 50, 100, False),
    "bit-xor": ("XOR", 1, 2, False),
    "listops": ("ListOps", 15, 10, True),
    "mnist": ("MNIST", 16, 10, False),
    "cifar10": ("CIFAR10", 48, 10, False),
    "homology": ("Homology", 30, 1200, True),
}


@exercise("ex-released", "trained_numbers")
def released_counts(written: Callable[..., int]) -> str:
    """Exercise of chapter 7: `trained_numbers(inputs, outputs, tokens, d_model, layers, positions)`."""
    printed = sources.table("frozen-pretrained/trainable")
    counts = {
        task: (int(printed.figure(column, "parameters").value), inputs, outputs, tokens, *GPT2)
        for task, (column, inputs, outputs, tokens) in RELEASED.items()
    }
    run = recipes.get("universal/digits/random/lr-1e-3")
    with torch.device("meta"):
        model = bare_model(run, 0)
    made_of, body = report(freeze(initialise(model, seed=0), run.freeze)), sizes_of(run).body
    ours = (4, 10, False, body.d_model, body.layers, body.max_length)
    for task, (right, *sizes) in {**counts, "digits": (made_of.trainable_all_rows, *ours)}.items():
        _, outputs, _, d, layers, positions = sizes
        found = call(written, *sizes)
        off = number(found) - right
        slips = {
            -2 * d: "the norm after the last layer is missing",
            -(2 * layers + 1) * d: "a norm has a weight and a bias",
            -layers
            * 2
            * d: "a layer has two norms, one before attention and one before the feed-forward maps",
            -positions * d: "the positions are missing",
            -outputs: "the output layer's bias is missing",
            d: "tokens are looked up in a table, which has no bias",
            -d: "the input layer of numbers has a bias",
        }
        hint = f": {slips[off]}" if off in slips else ""
        refuse({f"for {task} {right:,} numbers are trained, not {found:,}{hint}": off})
    return "six counts of the released code, and one of ours"


SWEEPS = (
    {1e-3: (70.0, 71.0), 3e-3: (81.5, 78.0), 1e-2: (80.0, 84.0)},
    {1e-3: (55.0, 60.0), 3e-3: (48.0, 62.0), 1e-2: (30.0, 25.0)},
    {3e-4: (90.0, 91.0), 1e-3: (91.0, 90.0), 3e-3: (92.0, 88.0), 1e-2: (12.0, 95.0)},
)
"""Learning rate -> accuracy on validation and on the test set."""


@exercise("ex-rate", "reported")
def swept_rate(written: Callable[[Mapping[float, tuple[float, float]]], float]) -> str:
    """Exercise of chapter 7: `reported(sweep)`, the accuracy to print for a sweep of rates."""

    def best(sweep: Mapping[float, tuple[float, float]]) -> float:
        return max(sweep, key=lambda rate: sweep[rate][0])

    return compare(written, lambda sweep: sweep[best(sweep)][1], [(sweep,) for sweep in SWEEPS], {
        "that is the best test accuracy of the sweep: it chooses the rate on the test set, which then measures"
        " nothing but itself": lambda sweep: max(test for _, test in sweep.values()),
        "that is the validation accuracy, which is flattered by having been chosen for":
            lambda sweep: sweep[best(sweep)][0],
        "that is the rate; the accuracy at that rate is asked for": best,
        "that is the mean over the rates; nobody would train with the bad ones":
            lambda sweep: sum(test for _, test in sweep.values()) / len(sweep),
    }, praise="the rate is chosen where it may be, and the test set is read once",
       otherwise="for {sweep} the accuracy to print is {expected}, not {found}")  # fmt: skip


@exercise("ex-brackets", "same_without_brackets")
def lost_brackets(written: Callable[[], tuple[str, str]]) -> str:
    """Exercise of chapter 7: two expressions that are the same once their closing brackets are gone, and are not."""
    found = call(written)
    pair = isinstance(found, tuple | list) and [type(one) for one in found] == [str, str]
    refuse({"return two expressions, each a text such as '[MAX 1 2 ]'": not pair})
    values = []
    for text in found:
        try:
            values.append(calculations.value(calculations.tokens(text)))
        except DataError as error:
            raise Mistake(f"{text!r} is no expression: {error}") from None
    one, other = (
        " ".join(token for token in calculations.tokens(text) if token != calculations.CLOSE)
        for text in found
    )
    refuse({
        f"without closing brackets they differ still: {one} and {other}": one != other,
        f"both come to {values[0]}; find two that come to different digits": values[0] == values[1],
    })  # fmt: skip
    return (
        f"one comes to {values[0]} and the other to {values[1]}, and a model that sees no bracket cannot tell"
    )
