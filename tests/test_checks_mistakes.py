"""Checks of the exercises: the page's solution passes, each likely mistake is refused by its name."""

import copy
import math
import statistics
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from digests import NUMBER
from digests import check as has_its_digest
from test_checks import EXERCISES, solutions

from reservoir.layers import fourier
from reservoir.training import aucc
from reservoir.weights import kept_count, largest, placement
from reservoir_book import checks
from reservoir_book.checks import drawn, layers, mixing, verdict
from reservoir_book.checks import masks as masking

# ---- Chapter 0 ----


def kept(n, origin, *, masked=lambda n: -(-n // 8), trained=lambda n: 4 * n, seeded=0, pretrained=0):
    return {"trained": trained(n), "masked": masked(n), "seeded": seeded, "pretrained": pretrained}[origin]


def keeping(**slip):
    return lambda n, origin: kept(n, origin, **slip)


BYTES = {
    "a float32 has four": keeping(trained=lambda n: n),
    "one bit a weight": keeping(masked=lambda n: n),
    "round up": keeping(masked=lambda n: n // 8),
    "no parts of a byte": keeping(masked=lambda n: n / 8),
    "come back from the seed": keeping(masked=lambda n: 4 * n + n // 8),
    "nothing of them": keeping(seeded=8),
    "only named": keeping(pretrained=4),
}
SPREADS = {
    "divided by n - 1": lambda v: (statistics.mean(v), statistics.pstdev(v)),
    "take its root": lambda v: (statistics.mean(v), statistics.variance(v)),
    "error of the mean": lambda v: (statistics.mean(v), statistics.stdev(v) / len(v) ** 0.5),
    "lowest to the highest": lambda v: (statistics.mean(v), max(v) - min(v)),
    "other way round": lambda v: (statistics.stdev(v), statistics.mean(v)),
    "the mean of": lambda v: (statistics.median(v), statistics.stdev(v)),
    "two numbers": lambda v: statistics.mean(v),
}


# ---- Chapter 1 ----


def cover(n, d, *, first=0, points=-1, factor=2):
    return factor * sum(math.comb(n + points, k) for k in range(first, d))


COUNTS = {
    "factor 2": lambda n, d: cover(n, d, factor=1),
    "from k = 1": lambda n, d: cover(n, d, first=1),
    "n - 1": lambda n, d: cover(n, d, points=0),
    "one term too many": lambda n, d: cover(n, d + 1),
    "one term early": lambda n, d: cover(n, d - 1),
    "that is the chance": lambda n, d: cover(n, d) / 2**n,
    "all labellings": lambda n, d: 2**n,
    "for n=4, d=3 it is 14, and you give 1": lambda n, d: 1,
}


def bound(n, e, *, four=4, log=math.log, cubic=1 / 3):
    return four * log(n) / (e**2 / 2 - cubic * e**3)


BOUNDS = {
    "round down": lambda n, e: math.floor(bound(n, e)),
    "whole number": bound,
    "base 10": lambda n, e: math.ceil(bound(n, e, log=math.log10)),
    "base 2": lambda n, e: math.ceil(bound(n, e, log=math.log2)),
    "factor 4": lambda n, e: math.ceil(bound(n, e, four=1)),
    "ε³/3 is missing": lambda n, e: math.ceil(bound(n, e, cubic=0)),
    "sign of ε³/3": lambda n, e: math.ceil(bound(n, e, cubic=-1 / 3)),
    "number of pairs": lambda n, e: math.ceil(bound(n * (n - 1) / 2, e)),
    "for n=300, epsilon=0.2 it is 1,317, and you give 7": lambda n, e: 7,
}


def wave(x, w, b):
    return math.sqrt(2 / len(w)) * torch.cos(x @ w.T + b)


SINKS = {
    "√(2/D) is missing": lambda x, w, b: torch.cos(x @ w.T + b),
    "2 under the root": lambda x, w, b: torch.cos(x @ w.T + b) / math.sqrt(len(w)),
    "size of an input": lambda x, w, b: math.sqrt(2 / x.shape[1]) * torch.cos(x @ w.T + b),
    "the root of that": lambda x, w, b: 2 / len(w) * torch.cos(x @ w.T + b),
    "b is missing": lambda x, w, b: wave(x, w, 0),
    "b is taken away": lambda x, w, b: wave(x, w, -b),
    "the sine": lambda x, w, b: math.sqrt(2 / len(w)) * torch.sin(x @ w.T + b),
    "off": lambda x, w, b: wave(x, 2 * w, b),
}


# ---- Chapter 2 ----

eigvals, norm = torch.linalg.eigvals, torch.linalg.matrix_norm

RADII = {
    "largest singular value": lambda W, r: W * (r / norm(W, 2)),
    "forget to divide": lambda W, r: W * r,
    "spectral radius 1": lambda W, r: W / eigvals(W).abs().max(),
    "it multiplies": lambda W, r: W / (r * eigvals(W).abs().max()),
    "real part": lambda W, r: W * (r / eigvals(W).real.max()),
    "your matrix has the spectral radius": lambda W, r: W * 0.5,
}

tanh = torch.tanh

UPDATES = {
    "wrong side": lambda x, u, W, V, b, a: a * x + (1 - a) * tanh(W @ x + V @ u + b),
    "leave the leak out": lambda x, u, W, V, b, a: tanh(W @ x + V @ u + b),
    "inside the tanh": lambda x, u, W, V, b, a: tanh((1 - a) * x + a * (W @ x + V @ u + b)),
    "whole old state": lambda x, u, W, V, b, a: x + a * tanh(W @ x + V @ u + b),
    "tanh is missing": lambda x, u, W, V, b, a: (1 - a) * x + a * (W @ x + V @ u + b),
    "bias b is missing": lambda x, u, W, V, b, a: (1 - a) * x + a * tanh(W @ x + V @ u),
    "input is missing": lambda x, u, W, V, b, a: (1 - a) * x + a * tanh(W @ x + b),
    "from the wrong side": lambda x, u, W, V, b, a: (1 - a) * x + a * tanh(W.T @ x + V @ u + b),
    "bias stands outside": lambda x, u, W, V, b, a: (1 - a) * x + a * (tanh(W @ x + V @ u) + b),
    "term by term": lambda x, u, W, V, b, a: x,
}

PAIRS = {
    "washout is forgotten": lambda x, s, w: (x[:-1], s[1:]),
    "are the present": lambda x, s, w: (x[w:], s[w:]),
    "are the past": lambda x, s, w: (x[w + 1 :], s[w:-1]),
    "states and": lambda x, s, w: (x[w:], s[w + 1 :]),
    "it should be the next": lambda x, s, w: (x[w:-2], s[w + 2 :]),
    "the first state should be number": lambda x, s, w: (x[w + 1 : -1], s[w + 2 :]),
    "have a next input": lambda x, s, w: (x[w:-2], s[w + 1 : -1]),
    "two things": lambda x, s, w: x[w:-1],
    "tensors of two dimensions": lambda x, s, w: (x[w:-1].tolist(), s[w + 1 :]),
    "nothing is left": lambda x, s, w: (x[:0], s[:0]),
}


# ---- Chapter 3 ----


def ahead(length: int) -> torch.Tensor:
    return torch.ones(length, length, dtype=torch.bool).triu(1)


MASKS = {
    "ahead of them": lambda n: torch.zeros(n, n, dtype=torch.bool),
    "may be seen": lambda n: ~ahead(n),
    "turned over": lambda n: ahead(n).T,
    "hides each position from itself": lambda n: ahead(n) | torch.eye(n, dtype=torch.bool),
    "do not lie ahead": lambda n: torch.ones(n, n, dtype=torch.bool).triu(-1),
    "dtype": lambda n: ahead(n).float(),
}


def choosing(score, pick=max):
    return lambda hypotheses, alpha: pick(range(len(hypotheses)), key=lambda i: score(*hypotheses[i], alpha))


PENALTIES = {
    "divide by the length penalty first": choosing(lambda p, n, a: p),
    "it divides": choosing(lambda p, n, a: p * ((5 + n) / 6) ** a),
    "length^α": choosing(lambda p, n, a: p / n**a),
    "leave α out": choosing(lambda p, n, a: p / ((5 + n) / 6)),
    "lowest": choosing(lambda p, n, a: p / ((5 + n) / 6) ** a, pick=min),
    "scores highest": lambda hypotheses, alpha: 0,
}


def counting(*, tables=1, cross=1, biases=1, norms=1, decoder_norms=3, final=2, ffn=2):
    def parameters(vocab: int, d: int, f: int, layers: int) -> int:
        attention = 4 * d * d + 4 * d * biases
        feed_forward = 2 * d * f + (d + f) * biases
        norm = 2 * d * norms
        return (
            tables * vocab * d
            + layers * (2 + cross) * attention
            + layers * ffn * feed_forward
            + (layers * (2 + decoder_norms) + final) * norm
        )

    return parameters


COUNTS_TRANSFORMER = {
    "three times": counting(tables=3),
    "table of embeddings twice": counting(tables=2),
    "embeddings is missing": counting(tables=0),
    "one attention a decoder layer": counting(cross=0),
    "too many": counting(cross=2),
    "end of each side": counting(final=0),
    "three norms": counting(decoder_norms=2),
    "layer norms are missing": counting(norms=0),
    "biases": counting(biases=0),
    "feed-forward layers are missing": counting(ffn=0),
    "layers of one side": counting(ffn=1),
    "compare": lambda vocab, d, f, layers: 1,
    "number": lambda vocab, d, f, layers: "many",
}


# ---- Chapter 4 ----


def sharing(*, attentions=3, tables=1, norms=1, turned=False, times=1):
    def share(vocab, d, f, layers, frozen):
        sizes = {
            "EMB": tables * vocab * d,
            "ATT": attentions * layers * 4 * (d * d + d),
            "FFN": 2 * layers * (2 * d * f + d + f),
        }
        whole = sum(sizes.values()) + norms * 5 * layers * 2 * d
        moves = (whole - sum(sizes[part] for part in frozen)) / whole
        return times * (1 - moves if turned else moves)

    return share


SHARES = {
    "share that is frozen": sharing(turned=True),
    "a decoder layer has two": sharing(attentions=2),
    "table of embeddings twice": sharing(tables=2),
    "table of embeddings three times": sharing(tables=3),
    "layer norms are missing": sharing(norms=0),
    "not a percentage": sharing(times=100),
    "the share is": lambda *sizes: 0.5,
}


def attends(name: str) -> bool:
    return ".attention." in name or (".cross." in name and "norm" not in name)


def choosing_components(chosen):
    return lambda names: [name for name in names if chosen(name)]


NAMES = {
    "no name is chosen": choosing_components(lambda n: False),
    "norms belong to no component": choosing_components(lambda n: attends(n) or ".cross.norm" in n),
    "is no part of attention": choosing_components(lambda n: attends(n) or n == "embedding"),
    "attention to the encoder is missing": choosing_components(lambda n: ".attention." in n),
    "biases are missing": choosing_components(lambda n: attends(n) and not n.endswith(".bias")),
    "names are missing": choosing_components(lambda n: attends(n) and n.startswith("encoder")),
    "no name of a tensor": lambda names: ["attn"],
    "a list or a set": lambda names: "encoder.0.attention.qkv",
}


ZEROED = {
    "other reading": lambda w, blocks: torch.eye(len(w) // blocks, w.shape[1]).repeat(blocks, 1),
    "only the first of the 3": lambda w, blocks: w.clone().fill_diagonal_(0.0),
    "work on a copy": lambda w, blocks: [part.fill_diagonal_(0.0) for part in w.chunk(blocks)] and w,
    "still there": lambda w, blocks: w.clone(),
}


# ---- Chapter 5 ----

PLACES = {
    "should be a text": lambda n, r: ["L"] * n,
    "it should have 7": lambda n, r: "LR" * r + "L",
    "reservoirs, 'LLLLLLL'": lambda n, r: "L" * n,
    "side by side": lambda n, r: "R" * r + "L" * (n - r),
    "upside down": lambda n, r: placement(n, r)[::-1],
    "one L between": lambda n, r: ("RLL" * n)[:n] if (n, r) == (7, 3) else placement(n, r),
}


def trapezoids(t, s):
    return sum((t[i + 1] - t[i]) * (s[i] + s[i + 1]) / 2 for i in range(len(t) - 1))


def uncut(t, s, horizon):
    end = max(horizon, t[-1])
    return trapezoids([0, *t, end], [0, *s, s[-1]]) / horizon


AREAS = {
    "divide by T̂": lambda t, s, h: aucc(t, s, horizon=h, floor=0.0).value * h,
    "not at its first point": lambda t, s, h: aucc(t, s, horizon=h).value,
    "until T̂": lambda t, s, h: trapezoids([0, *t], [0, *s]) / h,
    "mean of the scores": lambda t, s, h: sum(s) / len(s),
    "beyond T̂": uncut,
    "between the points alone: the curve begins": lambda t, s, h: trapezoids(t, s) / h,
    "and you give 1": lambda t, s, h: 1,
}  # fmt: skip

NEEDED = {
    "pass through": lambda stack, moves: [letter == "L" for letter in stack],
    "under which nothing moves": lambda stack, moves: [True] * len(stack),
    "all the way down": lambda stack, moves: ["L" in stack[: i + 1] for i in range(len(stack))],
    "what lies above": lambda stack, moves: [moves or "L" in stack[i:] for i in range(len(stack))],
    "for itself": lambda stack, moves: [moves or "L" in stack[:i] for i in range(len(stack))],
    "and you give": lambda stack, moves: [False] * len(stack),
}


# ---- Chapter 6 ----


def columns(half, d):
    return half[:, 1 : (d + 1) // 2]


def joined(half, second):
    return torch.cat([half, second], 1)


def right_whole(half, d):
    return joined(half, columns(half, d).flip(0, 1).roll(1, 0))


HALVES = {
    "the features alone": lambda half, d: joined(half, columns(half, d).flip(1)),
    "the tokens alone": lambda half, d: joined(half, columns(half, d).flip(0).roll(1, 0)),
    "token 0 is its own mirror image": lambda half, d: joined(half, columns(half, d).flip(0, 1)),
    "has the shape (5, 9)": lambda half, d: joined(half, half[:, 1:].flip(0, 1).roll(1, 0)),
    "not the given half": lambda half, d: 2 * right_whole(half, d),
    "followed by its mirror image": lambda half, d: joined(half, -columns(half, d)),
}

KEPT = {
    "all of them": lambda n, d: n * d,
    "half is nearly right": lambda n, d: n * d // 2,
    "are lost": lambda n, d: (n * d - (2 - n % 2) * (2 - d % 2)) // 2,
    "which side is even": lambda n, d: (n * d + 4) // 2,
    "yours says": lambda n, d: 1,
}

LEAKS = {
    "still mixed in": lambda x, mask, n: fourier(x, length=n),
    "as long as this batch": lambda x, mask, n: fourier(x * mask[..., None]),
    "you hide the rows": lambda x, mask, n: fourier(x, length=n) * mask[..., None],
    "a row for each position": lambda x, mask, n: fourier(x, length=n)[:, :1],
    "filled up with zeros": lambda x, mask, n: x,
}


# ---- Chapter 7 ----


def counting_frozen(*, last=1, both=2, each=2, places=1, out_bias=1, table_bias=0, in_bias=1):
    def count(inputs, outputs, tokens, d_model, layers, positions):
        norms = (each * layers + last) * both * d_model
        rows = inputs + (table_bias if tokens else in_bias)
        return places * positions * d_model + norms + rows * d_model + outputs * (d_model + out_bias)

    return count


COUNTS_FROZEN = {
    "after the last layer is missing": counting_frozen(last=0),
    "a norm has a weight and a bias": counting_frozen(both=1),
    "a layer has two norms": counting_frozen(each=1),
    "positions are missing": counting_frozen(places=0),
    "output layer's bias is missing": counting_frozen(out_bias=0),
    "a table, which has no bias": counting_frozen(table_bias=1),
    "input layer of numbers has a bias": counting_frozen(in_bias=0),
    "numbers are trained, not": lambda *sizes: 7,
}


def best(sweep):
    return max(sweep, key=lambda rate: sweep[rate][0])


RATES = {
    "on the test set": lambda sweep: max(test for _, test in sweep.values()),
    "is the validation accuracy": lambda sweep: sweep[best(sweep)][0],
    "is the rate": best,
    "the mean over the rates": lambda sweep: sum(test for _, test in sweep.values()) / len(sweep),
    "the accuracy to print is": lambda sweep: 1.0,
    "return a number": lambda sweep: sweep[best(sweep)],
}

PAIRS_FROZEN = {
    "two expressions": lambda: "[MAX 1 2 ]",
    "is no expression": lambda: ("[MAX 1 2 ]", "[MAX 1 2"),
    "differ still": lambda: ("[MAX 1 2 ]", "[MAX 1 3 ]"),
    "both come to 9": lambda: ("[MAX 9 [MIN 2 1 ] ]", "[MAX 9 [MIN 2 ] 1 ]"),
}


# ---- Chapter 8 ----


def by_threshold(scores, keep):
    size = scores.abs()
    return size >= size.flatten().sort(descending=True).values[kept_count(scores.numel(), keep) - 1]


def published(scores, keep):
    mask = torch.zeros(scores.numel())
    mask[scores.abs().flatten().sort().indices[int((1 - keep) * scores.numel()) :]] = 1
    return mask.view(scores.shape)


def through_a_copy(scores, keep):
    out = scores.abs().clone()
    flat = out.flatten()
    order = flat.sort().indices
    flat[order] = (torch.arange(flat.numel()) >= flat.numel() - kept_count(flat.numel(), keep)).float()
    return out


MASKS_SUPERMASKS = {
    "nothing but zeros and ones": through_a_copy,
    "keep is the share that is kept": lambda s, keep: largest(s.abs(), round((1 - keep) * s.numel())),
    "keep=0.9 means 900": lambda s, keep: published(s, keep),
    "keep=0.507 means 51": lambda s, keep: largest(s.abs(), int(keep * s.numel())),
    "decide between them": by_threshold,
    "you rank S itself": lambda s, keep: largest(s, kept_count(s.numel(), keep)),
    "with the smallest scores": lambda s, keep: largest(-s.abs(), kept_count(s.numel(), keep)),
    "not those with the largest": lambda s, keep: largest(
        torch.arange(s.numel()).float().view(s.shape), kept_count(s.numel(), keep)
    ),
}

GRADIENTS = {
    "has the shape": lambda g, w, s, m: (g * w).sum(),
    "the sign of the score is missing: a": lambda g, w, s, m: g * w,
    "the weight is missing": lambda g, w, s, m: g * s.sign(),
    "a dropped weight never moves": lambda g, w, s, m: g * w * s.sign() * m,
    "and the sign": lambda g, w, s, m: g * w * m,
    "a sign, not S": lambda g, w, s, m: g * w * s,
    "turned round": lambda g, w, s, m: -g * w * s.sign(),
    "at the first weight": lambda g, w, s, m: g + w,
}


def log2_choices(n, keep):
    k = round(keep * n)
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


CHOICES = {
    "you count all masks": lambda n, keep: n,
    "in nats": lambda n, keep: log2_choices(n, keep) * math.log(2),
    "the number of weights that are kept": lambda n, keep: round(keep * n),
    "the order in which": lambda n, keep: (
        (math.lgamma(n + 1) - math.lgamma(n - round(keep * n) + 1)) / math.log(2)
    ),
    "for each weight": lambda n, keep: log2_choices(n, keep) / n,
    "for n=8, keep=0.5 it is 6.129, and you give 1": lambda n, keep: 1,
}


# ---- Chapter 9 ----

PACKED = {
    "and you give 'bits'": lambda mask: "bits",
    "a byte on each": lambda mask: bytes(mask),
    "may not be full": lambda mask: np.packbits(
        np.array(mask[: len(mask) // 8 * 8], dtype=bool), bitorder="little"
    ).tobytes(),
    "its lowest": lambda mask: np.packbits(mask).tobytes(),
    "turned over": lambda mask: bytes(255 - b for b in np.packbits(mask, bitorder="little")),
    "and you give": lambda mask: bytes(-(-len(mask) // 8)),
}


def masks(shapes, depth):
    return depth * sum(-(-a * b // 8) for a, b in shapes)


def weights(shapes):
    return sum(a * b for a, b in shapes)


BOUNDS_SEEDS = {
    "eight make a byte": lambda s, d, t: d * weights(s) + 32 * t,
    "masks of its own": lambda s, d, t: masks(s, 1) + 4 * t,
    "costs nothing": lambda s, d, t: masks(s, d) + 4 * t + 4 * weights(s),
    "whole byte": lambda s, d, t: d * weights(s) / 8 + 4 * t,
    "not for their sum": lambda s, d, t: math.ceil(d * weights(s) / 8) + 4 * t,
    "not down": lambda s, d, t: d * sum(a * b // 8 for a, b in s) + 4 * t,
    "four bytes": lambda s, d, t: masks(s, d) + t,
    "what was trained": lambda s, d, t: masks(s, d),
    "and you give 1": lambda s, d, t: 1,
}

NEEDED_SEEDS = {
    "its bit still comes": lambda b, w: b / w,
    "bytes times bytes": lambda b, w: b * w,
    "do not add it": lambda b, w: b / (w + 1 / 8),
    "an eighth": lambda b, w: b / (w - 1) if w != 1 else math.inf,
    "inverse": lambda b, w: (w - 1 / 8) / b,
    "and you give 1": lambda b, w: 1.0,
}


# ---- Chapter 10 ----


def solution(points):
    def beaten(q, c):
        return any(p >= q and d <= c and (p > q or d < c) for p, d in points)

    return [i for i, (q, c) in enumerate(points) if not beaten(q, c)]


FRONTS = {
    "better in both": lambda points: [
        i for i, (q, c) in enumerate(points) if not any(p > q and d < c for p, d in points)
    ],
    "dominated by its equal": lambda points: [
        i
        for i, (q, c) in enumerate(points)
        if not any(p >= q and d <= c for j, (p, d) in enumerate(points) if j != i)
    ],
    "the larger cost": lambda points: solution([(q, -c) for q, c in points]),
    "quality comes first": lambda points: solution([(c, q) for q, c in points]),
    "the best quality alone": lambda points: [i for i, (q, _) in enumerate(points) if q == max(points)[0]],
    "the best at each cost": lambda points: [
        i for i, (q, c) in enumerate(points) if q == max(p for p, d in points if d == c)
    ],
    "return the places": lambda points: 3,
    "the front is": lambda points: [0],
}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def share(mine, rivals):
    return mean(math.prod(mean(q > p for p in rival) for rival in rivals) for q in mine)


SHARES_WHOLE = {
    "you compare means": lambda mine, rivals: float(all(mean(mine) > mean(rival) for rival in rivals)),
    "your own seed anew": lambda mine, rivals: math.prod(
        mean(mean(q > p for p in rival) for q in mine) for rival in rivals
    ),
    "by their number": lambda mine, rivals: mean(
        all(q > p for p in others) for q, *others in zip(mine, *rivals, strict=False)
    ),
    "some rival spoils it": lambda mine, rivals: 1 - share(mine, rivals),
    "one of its rivals": lambda mine, rivals: mean(
        1 - math.prod(1 - mean(q > p for p in rival) for rival in rivals) for q in mine
    ),
    "and you give 0.4": lambda mine, rivals: 0.4,
}


TASKS = {
    "one more": lambda body, own, alone: max(1, math.ceil(body / (alone - own))) if alone > own else math.inf,
    "of its own": lambda body, own, alone: math.floor(body / alone) + 1 if alone > own else math.inf,
    "is whole": lambda body, own, alone: body / (alone - own) if alone > own else math.inf,
    "it is there once": lambda body, own, alone: 1 if body + own < alone else math.inf,
    "never pays": lambda body, own, alone: math.floor(body / (alone - own)) + 1 if alone != own else 0,
    "and you give 7": lambda body, own, alone: 7,
}


# ---- Appendix A7 ----


def below(*, residual=1, relu="h", sign=1):
    def written(g, h, first, second):
        inner = g @ second
        opened = {"h": h @ first.T > 0, "g": inner > 0, "none": inner == inner}[relu]
        return residual * g + sign * (inner * opened) @ first

    return written


GRADIENTS_BACKSKIPPING = {
    "residual out": below(residual=0),
    "as it is": lambda g, h, first, second: g,
    "ReLU is missing": below(relu="none"),
    "gradient's sign": below(relu="g"),
    "wrong sign": below(sign=-1),
    "not a float": lambda g, h, first, second: 1.0,
    "torch.autograd.grad": lambda g, h, first, second: 2 * g,
}

SAVED = {
    "what the estimate costs": lambda d, f, w: 2 * d * f,
    "never made them": lambda d, f, w: 4 * d * f - 3 * d * w,
    "count multiply-adds": lambda d, f, w: 4 * d * f - 6 * d * w,
    "two products with frozen": lambda d, f, w: d * f - 3 * d * w,
    "three maps": lambda d, f, w: 2 * d * f - 2 * d * w,
    "turned": lambda d, f, w: 3 * d * w - 2 * d * f,
    "and you give 1": lambda d, f, w: 1,
}


def rising(step, warmup, anneal):
    return min(1.0, max(0.0, (step - warmup) / anneal))


CHANCES = {
    "during the warm-up": lambda s, w, a, m: m * min(1.0, s / a),
    "jumps": lambda s, w, a, m: m * (s > w),
    "from the end of the warm-up": lambda s, w, a, m: m * rising(s, w, a - w),
    "rises to 1": lambda s, w, a, m: rising(s, w, a),
    "too soon": lambda s, w, a, m: min(m, rising(s, w, a)),
    "it is 0, and you give": lambda s, w, a, m: 0.5,
}


# ---- Appendix A8 ----

SHARES_HIDDEN = {
    "80 % of all tokens": lambda n, s: (round(0.8 * n), round(0.1 * n), round(0.1 * n)),
    "become masks in yours": lambda n, s: (round(s * n), 0, 0),
    "nobody asks about": lambda n, s: (round(0.8 * s * n), 1, n - 1 - round(0.8 * s * n)),
    "your three make": lambda n, s: (round(0.8 * s * n), 0, 0),
    "three numbers": lambda n, s: (1, 2),
    "masks and random": lambda n, s: (0, 0, round(s * n)),
}

LOSSES = {
    "every token": lambda z, t, a: F.cross_entropy(z, t),
    "not asked about": lambda z, t, a: F.cross_entropy(z[~a], t[~a]),
    "is a sum": lambda z, t, a: F.cross_entropy(z[a], t[a], reduction="sum"),
    "you divide by all": lambda z, t, a: F.cross_entropy(z[a], t[a], reduction="sum") / len(t),
    "yours is": lambda z, t, a: 0.0,
}

PAIRS_HIDDEN = {
    "comes first": lambda a, b, bos, eos: [*a, eos, *b, eos] if b else [*a, eos],
    "between the two": lambda a, b, bos, eos: [bos, *a, *b, eos],
    "no end-of-sentence": lambda a, b, bos, eos: [bos, *a, eos, *b],
    "there is one end": lambda a, b, bos, eos: [bos, *a, eos, *b, eos],
    "are read as": lambda a, b, bos, eos: [bos, *b, eos, *a, eos],
}

MISTAKES = {
    "bytes_kept": BYTES,
    "spread": SPREADS,
    "dichotomies": COUNTS,
    "enough_dimensions": BOUNDS,
    "kitchen_sinks": SINKS,
    "scaled_to_radius": RADII,
    "leaky_update": UPDATES,
    "readout_pairs": PAIRS,
    "causal_mask": MASKS,
    "length_penalty": PENALTIES,
    "parameter_count": COUNTS_TRANSFORMER,
    "trained_share": SHARES,
    "attention_streams": NAMES,
    "zeroed_diagonals": ZEROED,
    "places": PLACES,
    "area_under_curve": AREAS,
    "gradients_needed": NEEDED,
    "mirrored_half": HALVES,
    "directions_kept": KEPT,
    "no_leak": LEAKS,
    "released_counts": COUNTS_FROZEN,
    "swept_rate": RATES,
    "lost_brackets": PAIRS_FROZEN,
    "top_mask": MASKS_SUPERMASKS,
    "score_gradient": GRADIENTS,
    "choices": CHOICES,
    "packed_bits": PACKED,
    "bits_bound": BOUNDS_SEEDS,
    "break_even": NEEDED_SEEDS,
    "on_the_front": FRONTS,
    "front_share": SHARES_WHOLE,
    "tasks_to_pay": TASKS,
    "gradient_below": GRADIENTS_BACKSKIPPING,
    "saved_products": SAVED,
    "annealed": CHANCES,
    "masking_shares": SHARES_HIDDEN,
    "hidden_loss": LOSSES,
    "joined_pair": PAIRS_HIDDEN,
}


def test_every_check_has_its_mistakes():
    assert MISTAKES.keys() == {check.__name__ for check in EXERCISES.values()}


def test_a_right_answer_counts_in_any_form():
    assert checks.attention_streams(lambda names: set(filter(attends, names))).passed
    assert checks.scaled_to_radius(lambda W, r: (W * (r / eigvals(W).abs().max())).float()).passed
    assert checks.spread(lambda values: [statistics.mean(values), statistics.stdev(values)]).passed


def spoilt(answer: Any) -> Any:
    """A wrong answer of the same kind."""
    if isinstance(answer, torch.Tensor):
        return ~answer if answer.dtype == torch.bool else answer + 1
    if isinstance(answer, tuple):
        return (spoilt(answer[0]), *answer[1:])
    if isinstance(answer, list):
        return answer[1:]
    if answer == math.inf:
        return 1.0
    return answer + ("L" if isinstance(answer, str) else b"!" if isinstance(answer, bytes) else answer + 1)


def wrongly(right):
    return lambda *case: spoilt(right(*case))


@pytest.fixture
def trace(monkeypatch):
    """Makes of a check and the answers to it what is asked, what the check makes of it, and its verdict."""
    told: list[Any] = []
    reckoned: list[Any] = []  # once, since some cases build a model

    def compare(written, right, cases, mistakes, **more):
        if not reckoned:
            reckoned.extend([answer(*case) for case in cases] for answer in (right, *mistakes.values()))
        return verdict.compare(written, right, cases, mistakes, **more)

    def refuse(mistakes):
        told.append([bool(made) for made in mistakes.values()])
        verdict.refuse(mistakes)

    for module in (drawn, layers, masking, mixing):
        for spy in (compare, refuse):
            monkeypatch.setattr(module, spy.__name__, spy)

    def traced(check, answer):
        asked: list[Any] = []
        told.clear()

        def written(*arguments):
            asked.append([copy.deepcopy(arguments)])
            asked[-1].append(answer(*arguments))
            return asked[-1][1]

        found = check(written)
        return [asked, [*told], [*reckoned], NUMBER.findall(found.message)], found

    return traced


@pytest.mark.parametrize("check", EXERCISES.values(), ids=EXERCISES)
def test_each_mistake_is_refused_by_its_name_and_the_check_has_its_digest(check, trace):
    """The right answer passes, also one that is wrong once does not."""
    label, name = check.answers
    namespace: dict[str, Any] = {"torch": torch, "np": np, "math": math}
    exec(solutions()[label], namespace)
    right = namespace[name]
    seen, found = trace(check, right)
    assert found.passed, found
    asked, digest = [repr(case) for case, _ in seen[0]], [seen]
    for question in dict.fromkeys([asked[0], asked[len(asked) // 2], asked[-1]]):
        now, found = trace(check, lambda *case, at=question: (right, wrongly(right))[repr(case) == at](*case))
        assert not found.passed, f"a wrong answer to {question} alone passes"
        digest.append(now)
    for named, wrong in MISTAKES[check.__name__].items():
        now, found = trace(check, wrong)
        assert not found.passed and named in found.message, found
        digest.append(now)
    has_its_digest(f"exercise {label}", digest)
