"""What Shen et al. 2021 say of masked language models with frozen layers, and by which rule our records decide it.

The rules were written down before the records were made. They call a freezing plan a benefit if it leaves the score no
worse than the regular model's by more than the seeds part from each other: what it saves comes free then. Only a
gain beyond the seeds is called "better".
"""

from __future__ import annotations

from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import NotRunError, Range, Word, above, every, score, spread
from reservoir.recipes.masked import DEPTHS, KINDS

NOISE = 2.0
"""Points of accuracy that a recipe with one seed may move: 872 sentences alone give a standard error of about 1.6."""
FREE = 0.02
"""The share of its perplexity that a pretraining run may lose and still be called as good."""


def accuracy(recipe: str) -> Range:
    """Accuracy on the test sentences, over seeds; a row with one seed borrows the widest spread of those with more."""
    lent = spread([f"fine-tune/sst-2/{name}" for name in ("regular-4", "regular-4-scratch", "ffn-4")])
    return score(recipe).widened(max(lent, NOISE / 2))


@claim(
    "masked/pretraining-pays",
    says="Fine-tuning a pretrained encoder beats training the same encoder from scratch for as many steps.",
    where="what this chapter's fine-tuning rests on",
    rule="on SST-2 every seed of the fine-tuned encoder of four layers scores above every seed from scratch",
    recipes=("fine-tune/sst-2/regular-4", "fine-tune/sst-2/regular-4-scratch"),
)
def pretraining_pays() -> tuple[Word, str]:
    """Three seeds of either."""
    ours, scratch = (score(f"fine-tune/sst-2/regular-4{way}") for way in ("", "-scratch"))
    return above(ours - scratch), f"{ours} against {scratch} % of SST-2's sentences"


@claim(
    "masked/pretraining-buys-time",
    says="What pretraining buys here is time: given four times the steps, the encoder from scratch catches up.",
    where="the control that the claim above lacks",
    rule=f"on SST-2 every seed from scratch with four times the steps scores at most {NOISE:g} points below every seed"
    " of the fine-tuned encoder",
    recipes=("fine-tune/sst-2/regular-4", "fine-tune/sst-2/regular-4-scratch-longer"),
)
def pretraining_buys_time() -> tuple[Word, str]:
    """Three seeds of either."""
    ours, longer = (score(f"fine-tune/sst-2/regular-4{way}") for way in ("", "-scratch-longer"))
    return above(longer - ours + NOISE), f"{longer} against {ours} % of SST-2's sentences"


def _pretraining(depth: int) -> tuple[Word, str]:
    """The better of the two kinds against the regular model of the same depth."""
    whole = score(f"masked/regular-{depth}", metric="perplexity")
    parts = {}
    for kind in KINDS:
        try:
            parts[kind] = score(f"masked/{kind}-{depth}", metric="perplexity")
        except NotRunError:
            continue
    if not parts:
        raise NotRunError(f"no masked language model of {depth} layers with reservoirs has been run")
    best = min(parts, key=lambda kind: parts[kind].mean)
    lost = parts[best].mean / whole.mean - 1
    word: Word = "confirmed" if lost <= FREE else "refuted"
    return word, f"{best} reservoirs: perplexity {parts[best]} against {whole}, {lost:+.1%} in the mean"


def _fine_tuning(depth: int) -> tuple[Word, str]:
    """Alternate layers of the pretrained regular model frozen, against all of it fine-tuned."""
    whole, part = (accuracy(f"fine-tune/sst-2/regular-{depth}{way}") for way in ("", "-frozen-alternate"))
    return above(part - whole + NOISE), f"{part.mean:.1f} against {whole.mean:.1f} %"


def _enter(depth: int) -> None:
    claim(
        f"masked/frozen-in-pretraining-{depth}",
        says=f"Layers frozen during pretraining: a benefit, at {depth} layers.",
        where="reservoir-transformers, §1, after “masked-layers-frozen”",
        rule=f"the better kind of reservoir loses at most {FREE:.0%} of perplexity to the regular model as deep",
        recipes=[f"masked/{name}-{depth}" for name in ("regular", *KINDS)],
    )(lambda: _pretraining(depth))
    claim(
        f"masked/frozen-in-fine-tuning-{depth}",
        says=f"Layers frozen when fine-tuning only: a benefit, at {depth} layers.",
        where="reservoir-transformers, §1, after “masked-layers-frozen”",
        rule=f"frozen every other layer, SST-2 loses less than {NOISE:g} points, whatever seed meets whatever seed",
        recipes=[f"fine-tune/sst-2/regular-{depth}{way}" for way in ("", "-frozen-alternate")],
    )(lambda: _fine_tuning(depth))


for _depth in DEPTHS:
    _enter(_depth)


@claim(
    "reservoir-transformers/masked-layers-frozen",
    rule="both of the rules above hold at both depths",
    recipes=[f"masked/{name}-{depth}" for depth in DEPTHS for name in ("regular", *KINDS)],
)
def masked_layers_frozen() -> tuple[Word, str]:
    """Every one of the four verdicts above."""
    words = {f"{depth} layers": every([_pretraining(depth)[0], _fine_tuning(depth)[0]]) for depth in DEPTHS}
    return every(words.values()), "; ".join(f"{name}: {word}" for name, word in words.items())
