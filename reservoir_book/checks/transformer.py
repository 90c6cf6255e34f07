"""Checks of chapter 3's exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reservoir.weights import report
from reservoir_book.checks.verdict import Mistake, compare, exercise, refuse, tensor
from reservoir_lab.recipes.transformer import sizes


@exercise("ex-causal-mask", "hidden")
def causal_mask(written: Callable[[int], Tensor]) -> str:
    """Exercise of chapter 3: `hidden(length)`, true where query i must not see key j, (length, length)."""

    def ahead(length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).triu(1)

    def read(found: Any, expected: Tensor) -> Tensor:
        found = tensor(found, expected)
        refuse(
            {
                f"the mask should hold true and false, but its dtype is {found.dtype}": found.dtype
                != torch.bool
            }
        )
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

    def read(found: Any, expected: int) -> int:
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            raise Mistake(f"return the index of one of the hypotheses, not {found!r}")
        return found

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
    }, praise="short translations are favoured no longer, and α says by how much", read=read,
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
