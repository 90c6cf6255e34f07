"""Checks of chapter 3's exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.page.checks.verdict import Mistake, call, compare, exercise, number
from reservoir.weights import report


@exercise("ex-causal-mask", "hidden")
def causal_mask(written: Callable[[int], Tensor]) -> str:
    """Exercise of chapter 3: `hidden(length)`, true where query i must not see key j, (length, length)."""
    for length in (5, 1, 8):
        mask = call(written, length)
        if not isinstance(mask, Tensor):
            raise Mistake(f"the mask should be a tensor, but it is a {type(mask).__name__}")
        if mask.shape != (length, length):
            raise Mistake(
                f"for length {length} the mask has the shape {tuple(mask.shape)}, not {(length, length)}"
            )
        if mask.dtype != torch.bool:
            raise Mistake(f"the mask should hold true and false, but its dtype is {mask.dtype}")
        i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
        if torch.equal(mask, j > i):
            continue
        if torch.equal(mask, j <= i):
            raise Mistake("your mask is true where a key may be seen; it should be true where it is hidden")
        if torch.equal(mask, j < i):
            raise Mistake(
                "your mask is turned over: it hides the past and shows the future; rows are queries"
            )
        if torch.equal(mask, j >= i):
            raise Mistake(
                "your mask hides each position from itself, so the first one sees nothing and gets NaN"
            )
        seen = int((~mask & (j > i)).sum())
        if seen:
            raise Mistake(
                f"your mask lets queries see {seen} keys that lie ahead of them, of {int((j > i).sum())}"
            )
        raise Mistake(f"your mask hides {int((mask & (j <= i)).sum())} keys that do not lie ahead")
    return "each position sees itself and what came before, and nothing else"


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

    return compare(
        written,
        best,
        [
            ([(-4.0, 4), (-5.0, 12), (-9.0, 20)], 1.0),
            ([(-4.0, 4), (-5.0, 12), (-9.0, 20)], 0.0),
            ([(-3.0, 6), (-3.3, 9), (-7.0, 8)], 0.2),
            ([(-2.0, 2), (-3.0, 4), (-6.5, 5)], 1.0),
            ([(-6.0, 14), (-2.0, 3), (-2.7, 5)], 0.6),
            ([(-1.0, 1), (-1.3, 2)], 1.0),
            ([(-3.0, 12), (-3.1, 4)], 1.0),
        ],
        {
            "you take the most probable hypothesis as it is; divide by the length penalty first":
                highest(lambda p, n, a: p),
            "you multiply by the length penalty; it divides": highest(lambda p, n, a: p * lp(n, a)),
            "you divide by length^α; the penalty is ((5 + length) / 6)^α": highest(lambda p, n, a: p / n**a),
            "you leave α out: the penalty is raised to it": highest(lambda p, n, a: p / lp(n, 1.0)),
            "you choose the lowest score; log-probabilities are negative, and the highest is the best":
                highest(lambda p, n, a: -p / lp(n, a)),
        },
        praise="short translations are favoured no longer, and α says by how much",
        read=read,
        otherwise=lambda found, expected, hypotheses, alpha:
            f"of {hypotheses} with α = {alpha} you take no. {found}; no. {expected} scores highest",
    )  # fmt: skip


@exercise("ex-parameters", "parameters")
def parameter_count(written: Callable[[int, int, int, int], int]) -> str:
    """Exercise of chapter 3: `parameters(vocab, d_model, d_ff, layers)` of a pre-LN encoder-decoder."""
    for vocab, d, f, layers in ((100, 16, 24, 3), (1000, 64, 128, 2), (50, 8, 40, 1)):
        config = EncoderDecoderConfig(
            vocab,
            vocab,
            d_model=d,
            n_heads=4,
            d_ff=f,
            encoder_layers=layers,
            decoder_layers=layers,
            norm_first=True,
        )
        with torch.device("meta"):  # sizes need no memory
            right = report(EncoderDecoder(config)).total
        attention, feed_forward, norm = 4 * d * d + 4 * d, 2 * d * f + d + f, 2 * d
        slips = {
            2 * vocab * d: "you count the table of embeddings three times; source, target and output share one",
            vocab * d: "you count the table of embeddings twice; source, target and output share one",
            -vocab * d: "the table of embeddings is missing",
            -layers * attention: "one attention a decoder layer is missing: it has its own and one to the encoder",
            layers * attention: "you count an attention too many on one side: only the decoder has two",
            -2 * norm: "the norm at the end of each side is missing; pre-LN needs one",
            -layers * norm: "a decoder layer has three sublayers, so three norms",
            -(5 * layers + 2) * norm: "the layer norms are missing: a weight and a bias for each feature",
            -layers * (12 * d + 2 * (d + f)): "the biases of the linear maps are missing",
            -2 * layers * feed_forward: "the feed-forward layers are missing",
            -layers * feed_forward: "the feed-forward layers of one side are missing",
        }  # fmt: skip
        found = call(written, vocab, d, f, layers)
        off = int(number(found) - right)
        if off:
            sizes = f"vocab={vocab}, d_model={d}, d_ff={f}, layers={layers}"
            hint = f": {slips[off]}" if off in slips else "; compare with the rows of report(model)"
            raise Mistake(f"for {sizes} you count {int(found):,} of {right:,} ({off:+,}){hint}")
    return "every tensor is counted, and each once"
