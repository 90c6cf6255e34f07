"""Checks of the exercises of chapters 3 to 5 and appendix A7: the transformer, its components, reservoir layers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from reservoir.training.events import aucc
from reservoir.weights import Freeze, freeze, owned, report
from reservoir.weights.freezing import placement
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, refuse, tensor
from reservoir_lab import recipes
from reservoir_lab.recipes.transformer import sizes


@exercise("ex-causal-mask", "hidden")
def causal_mask(written: Callable[[int], Tensor]) -> str:
    """Exercise of chapter 3: `hidden(length)`, true where query i must not see key j, (length, length)."""

    def ahead(length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).triu(1)

    def read(found: Any, expected: Tensor) -> Tensor:
        found = tensor(found, expected)
        if found.dtype != torch.bool:
            raise Mistake(f"the mask should hold true and false, but its dtype is {found.dtype}")
        return found

    def otherwise(found: Tensor, expected: Tensor, length: int) -> str:
        if seen := int((~found & expected).sum()):
            return f"your mask lets queries see {seen} keys that lie ahead of them, of {int(expected.sum())}"
        return f"your mask hides {int((found & ~expected).sum())} keys that do not lie ahead"

    return compare(written, ahead, [(5,), (1,), (8,)], {
        "your mask is true where a key may be seen; it should be true where it is hidden": lambda n: ~ahead(n),
        "your mask is turned over: it hides the past and shows the future; rows are queries": lambda n: ahead(n).T,
        "your mask hides each position from itself, so the first one sees nothing and gets NaN": lambda n: ~ahead(n).T,
    }, praise="each position sees itself and what came before, and nothing else", read=read,
       otherwise=otherwise)  # fmt: skip


Hypothesis = tuple[float, int]
"""Log-probability in nats, and length in tokens."""


@exercise("ex-length-penalty", "best")
def length_penalty(written: Callable[[Sequence[Hypothesis], float], int]) -> str:
    """Exercise of chapter 3: `best(hypotheses, alpha)`, the index of the one with the highest log p / lp."""

    def lp(length: int, alpha: float) -> float:
        return ((5 + length) / 6) ** alpha

    def highest(score: Callable[[float, int, float], float]) -> Callable[[Sequence[Hypothesis], float], int]:
        return lambda found, alpha: max(range(len(found)), key=lambda i: score(*found[i], alpha))

    def best(hypotheses: Sequence[Hypothesis], alpha: float) -> int:
        return highest(lambda p, n, a: p / lp(n, a))(hypotheses, alpha)

    cases = [
        ([(-4.0, 4), (-5.0, 12), (-9.0, 20)], 1.0),
        ([(-4.0, 4), (-5.0, 12), (-9.0, 20)], 0.0),
        ([(-3.0, 6), (-3.3, 9), (-7.0, 8)], 0.2),
        ([(-2.0, 2), (-3.0, 4), (-6.5, 5)], 1.0),
        ([(-6.0, 14), (-2.0, 3), (-2.7, 5)], 0.6),
        ([(-1.0, 1), (-1.3, 2)], 1.0),
        ([(-3.0, 12), (-3.1, 4)], 1.0),
    ]
    return compare(written, best, cases, {
        "you take the most probable hypothesis as it is; divide by the length penalty first":
            highest(lambda p, n, a: p),
        "you multiply by the length penalty; it divides": highest(lambda p, n, a: p * lp(n, a)),
        "you divide by length^α; the penalty is ((5 + length) / 6)^α": highest(lambda p, n, a: p / n**a),
        "you leave α out: the penalty is raised to it": highest(lambda p, n, a: p / lp(n, 1.0)),
        "you choose the lowest score; log-probabilities are negative, and the highest is the best":
            highest(lambda p, n, a: -p / lp(n, a)),
    }, praise="short translations are favoured no longer, and α says by how much",
       otherwise="of {hypotheses} with α = {alpha} you take no. {found}; no. {expected} scores highest")  # fmt: skip


@exercise("ex-parameters", "parameters")
def parameter_count(written: Callable[[int, int, int, int], int]) -> str:
    """Exercise of chapter 3: `parameters(vocab, d_model, d_ff, layers)` of a pre-LN encoder-decoder."""

    def right(vocab: int, d_model: int, d_ff: int, layers: int) -> int:
        with torch.device("meta"):  # sizes need no memory
            return report(sizes(d_model, d_ff, layers, 0.0).sized(vocab).build()).total

    def attention(d: int) -> int:
        return 4 * d * d + 4 * d

    def feed_forward(d: int, f: int) -> int:
        return 2 * d * f + d + f

    slips: dict[str, Callable[[int, int, int, int], int]] = {
        "you count the table of embeddings three times; source, target and output share one":
            lambda v, d, f, n: 2 * v * d,
        "you count the table of embeddings twice; source, target and output share one": lambda v, d, f, n: v * d,
        "the table of embeddings is missing": lambda v, d, f, n: -v * d,
        "one attention a decoder layer is missing: it has its own and one to the encoder":
            lambda v, d, f, n: -n * attention(d),
        "you count an attention too many on one side: only the decoder has two": lambda v, d, f, n: n * attention(d),
        "the norm at the end of each side is missing; pre-LN needs one": lambda v, d, f, n: -4 * d,
        "a decoder layer has three sublayers, so three norms": lambda v, d, f, n: -2 * n * d,
        "the layer norms are missing: a weight and a bias for each feature": lambda v, d, f, n: -(5 * n + 2) * 2 * d,
        "the biases of the linear maps are missing": lambda v, d, f, n: -n * (12 * d + 2 * (d + f)),
        "the feed-forward layers are missing": lambda v, d, f, n: -2 * n * feed_forward(d, f),
        "the feed-forward layers of one side are missing": lambda v, d, f, n: -n * feed_forward(d, f),
    }  # fmt: skip
    cases = [(100, 16, 24, 3), (1000, 64, 128, 2), (50, 8, 40, 1)]
    mistakes = {text: lambda *case, off=off: right(*case) + off(*case) for text, off in slips.items()}
    return compare(written, right, cases, mistakes, praise="every tensor is counted, and each once",
        otherwise="for vocab={vocab}, d_model={d_model}, d_ff={d_ff}, layers={layers} you count {found:,} of"
        " {expected:,}; compare with the rows of report(model)")  # fmt: skip


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
    }, praise="this gives every share of the poster's first table, and the two that its second table swapped",
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
    given = cases[0][0].clone()
    call(written, given, 1)
    refuse(
        {"your function changes the weight that it was given; work on a copy": not given.equal(cases[0][0])}
    )
    return compare(written, lambda weight, blocks: weight * (1 - diagonals(weight, blocks)), cases, {
        "that is the other reading: only the diagonal is left; here only the diagonal goes": diagonals,
        "that is the other reading: only the diagonals are left; here only they go":
            lambda weight, blocks: weight * diagonals(weight, blocks),
        "only the first of the {blocks} stacked matrices has lost its diagonal: queries, keys and values are three"
        " maps in one tensor": lambda weight, blocks: weight * (1 - torch.eye(*weight.shape)),
    }, praise="the diagonals are gone, and nothing else: a random map hardly notices",
       otherwise=otherwise)  # fmt: skip


@exercise("ex-places", "places")
def places(written: Callable[[int, int], str]) -> str:
    """Exercise of chapter 5: `places(layers, reservoirs)`, alternate and centred, as "LRLRLRL"."""
    for layers, reservoirs in ((7, 3), (7, 2), (6, 2), (8, 4), (3, 0), (5, 3)):
        right, found = placement(layers, reservoirs), call(written, layers, reservoirs)
        asked = f"places({layers}, {reservoirs})"
        if not isinstance(found, str) or set(found) - {"L", "R"}:
            raise Mistake(f"{asked} should be a text of L and R, not {found!r}")
        frozen = found.count("R")
        refuse({
            f"{asked} has {len(found)} layers, {found!r}; it should have {layers}": len(found) != layers,
            f"{asked} has {frozen} reservoirs, {found!r}; it should have {reservoirs}": frozen != reservoirs,
            f"{asked} puts two reservoirs side by side: {found!r}": "RR" in found,
            f"{asked} is {found!r}: upside down. Where the middle falls between two layers, take the lower":
                found == right[::-1] != right,
            f"{asked} is {found!r}, not {right!r}: one L between neighbouring Rs, the block centred": found != right,
        })  # fmt: skip
    return "one trained layer between neighbouring reservoirs, and all of them in the middle"


Curve = Sequence[float]


@exercise("ex-aucc", "area")
def area_under_curve(written: Callable[[Curve, Curve, float], float]) -> str:
    """Exercise of chapter 5: `area(times, scores, horizon)`, the mean height up to T̂, from zero at time 0."""

    def trapezoids(times: Curve, scores: Curve) -> float:
        points = zip(times, times[1:], scores, scores[1:], strict=False)
        return sum((t1 - t0) * (s0 + s1) / 2 for t0, t1, s0, s1 in points)

    def right(times: Curve, scores: Curve, horizon: float) -> float:
        return aucc(times, scores, horizon=horizon, floor=0.0).value

    cases = [
        ([10.0, 20.0, 40.0], [6.0, 20.0, 30.0], 40.0),
        ([10.0, 20.0], [6.0, 20.0], 50.0),
        ([10.0, 30.0, 50.0], [6.0, 20.0, 30.0], 40.0),
    ]
    return compare(written, right, cases, {
        "you do not divide by T̂: the area is in BLEU × steps, not in BLEU": lambda t, s, h: right(t, s, h) * h,
        "the curve begins at time 0 with zero, and not at its first point": lambda t, s, h: aucc(t, s, horizon=h).value,
        "you go on beyond T̂: cut the curve there, between two points if need be":
            lambda t, s, h: trapezoids([0.0, *t, max(h, t[-1])], [0.0, *s, s[-1]]) / h,
        "the curve stays at its last score until T̂; you stop at the last point":
            lambda t, s, h: trapezoids([0.0, *t], [0.0, *s]) / h,
        "trapezoids between the points alone: the curve begins at time 0 with zero, and goes on or is cut at T̂":
            lambda t, s, h: trapezoids(t, s) / h,
        "you take the mean of the scores; points may be unevenly far apart": lambda t, s, h: sum(s) / len(s),
    }, praise="trapezoids up to T̂, divided by T̂: a mean height")  # fmt: skip


@exercise("ex-gradients", "needed")
def gradients_needed(written: Callable[[str, bool], list[bool]]) -> str:
    """Exercise of chapter 5: `needed(stack, embeddings)`: for each layer, must a gradient reach it at all?"""

    def right(stack: str, embeddings: bool) -> list[bool]:
        return [embeddings or "L" in stack[: i + 1] for i in range(len(stack))]

    cases = [(stack, moves) for stack in ("LRLR", "RRLRL", "LLRR", "RR") for moves in (True, False)]
    return compare(written, right, cases, {
        "a reservoir gets no update, but the layers below it need the gradient to pass through it":
            lambda stack, embeddings: [letter == "L" for letter in stack],
        "no gradient has to reach a frozen layer under which nothing moves":
            lambda stack, embeddings: [True] * len(stack),
        "where the embeddings learn, the gradient must go all the way down to them":
            lambda stack, embeddings: right(stack, False),
        "you look at what lies above; what counts is whether the layer itself or something below it moves":
            lambda stack, embeddings: [embeddings or "L" in stack[i:] for i in range(len(stack))],
        "a layer that learns needs the gradient for itself, even where nothing below it moves":
            lambda stack, embeddings: [embeddings or "L" in stack[:i] for i in range(len(stack))],
    }, praise="the gradient goes as far down as something moves, through reservoirs and all")  # fmt: skip


@exercise("ex-gradient-below", "below")
def gradient_below(written: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Exercise of appendix A7: `below(g, h, W1, W2)`, the gradient at the input of y = h + W2 relu(W1 h)."""
    generator = torch.Generator().manual_seed(0)
    g, h, first, second = (torch.randn(*s, generator=generator) for s in ((7, 6), (7, 6), (9, 6), (6, 9)))

    def block(g: Tensor, h: Tensor, W1: Tensor, W2: Tensor) -> Tensor:
        return ((g @ W2) * (h @ W1.T > 0)) @ W1

    return compare(written, lambda g, h, W1, W2: g + block(g, h, W1, W2), [(g, h, first, second)], {
        "you left the residual out: h reaches y directly as well, so g itself has to be added": block,
        "you passed g on as it is: that is the residual's part, and the block's is missing": lambda g, h, W1, W2: g,
        "the ReLU is missing: a unit that was shut hands nothing down": lambda g, h, W1, W2: g + (g @ W2) @ W1,
        "you opened the units by the gradient's sign; they open where W1 h is positive":
            lambda g, h, W1, W2: g + (g @ W2).relu() @ W1,
        "the block's part has the wrong sign": lambda g, h, W1, W2: g - block(g, h, W1, W2),
    }, praise="two products with frozen matrices, one step function, and the residual's copy of g",
       otherwise="that is not the gradient of y = h + W2 relu(W1 h); compare it with torch.autograd.grad")  # fmt: skip


@exercise("ex-saved-products", "saved")
def saved_products(written: Callable[[int, int, int], float]) -> str:
    """Exercise of appendix A7: `saved(d, d_ff, width)`, multiply-adds per token that a skipped reservoir saves."""
    cases = [(64, 256, 16), (128, 512, 64), (512, 1024, 100)]
    return compare(written, lambda d, d_ff, width: 2 * d * d_ff - 3 * d * width, cases, {
        "you forgot what the estimate costs: three narrow products": lambda d, f, w: 2 * d * f,
        "that counts the products for the weights' gradients too; a frozen layer never made them":
            lambda d, f, w: 4 * d * f - 3 * d * w,
        "these are operations, two for each multiply-add; count multiply-adds": lambda d, f, w: 4 * d * f - 6 * d * w,
        "the backward pass has two products with frozen matrices, W2 and W1": lambda d, f, w: d * f - 3 * d * w,
        "the estimate has three maps: the gate, the one for g, and the one back": lambda d, f, w: 2 * d * f - 2 * d * w,
        "the sign is turned: what is saved should be positive for a narrow estimate":
            lambda d, f, w: 3 * d * w - 2 * d * f,
    }, praise="two products saved, three narrow ones spent")  # fmt: skip


@exercise("ex-annealed", "chance")
def annealed(written: Callable[[int, int, int, float], float]) -> str:
    """Exercise of appendix A7: `chance(step, warmup, anneal, most)`, with which a step is skipped."""

    def rising(step: int, warmup: int, anneal: int) -> float:
        return min(1.0, max(0.0, (step - warmup) / anneal))

    cases = [(1, 100, 200, 0.9), (100, 100, 200, 0.9), (150, 100, 200, 0.9), (300, 100, 200, 0.9),
             (301, 100, 200, 0.9), (5000, 100, 200, 0.9), (40, 20, 80, 0.5)]  # fmt: skip
    return compare(written, lambda step, warmup, anneal, most: most * rising(step, warmup, anneal), cases, {
        "you skip during the warm-up, before the estimate has seen anything": lambda s, w, a, m: m * min(1.0, s / a),
        "the chance jumps to its highest after the warm-up; it should rise over `anneal` steps":
            lambda s, w, a, m: m * (s > w),
        "`anneal` counts from the end of the warm-up, not from the first step":
            lambda s, w, a, m: m * rising(s, w, a - w),
        "the chance rises to 1; it should rise to `most`": lambda s, w, a, m: rising(s, w, a),
        "you cap the chance at `most`, but it rises as if to 1: it gets there too soon":
            lambda s, w, a, m: min(m, rising(s, w, a)),
    }, praise="nothing in the warm-up, then a straight line, then level")  # fmt: skip
