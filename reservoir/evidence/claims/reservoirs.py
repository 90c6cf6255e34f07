"""What the sources on reservoir layers say, and by which rule our records decide it.

The rules were written down before the records were made. Costs are floating-point operations, not seconds: our records
are made several at once on shared machines, where a clock says little. "To the best BLEU" is read as "to within 2 % of
the other model's best", since a run whose learning rate falls to nought is best at its very end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import (
    CannotTellError,
    NotRunError,
    Range,
    above,
    below,
    between,
    each,
    records,
    score,
    spread,
)
from reservoir.models.stack import LAYER_KINDS
from reservoir.recipes import family
from reservoir.recipes.reservoirs import DEPTHS, LEARNING
from reservoir.runs.convergence import WITHIN, area_under, best, cost_to_reach

NEARLY = 1.0  # BLEU
LEAST = 28.0
"""BLEU on the first test set that a regular model must reach before anything is held against it: what saves costs next
to a model that has hardly learned says little."""
SAME_LEARNING = f"reservoirs/regular-{LEARNING}"


def _lent(figure: Callable[[str], Range], recipe: str) -> Range:
    """A figure over seeds; a row with one seed borrows the widest spread among the family's rows."""
    return figure(recipe).widened(spread(family(recipe.partition("/")[0]), figure))


def bleu(recipe: str) -> Range:
    """BLEU on the first test set."""
    return score(recipe).widened(spread(family("reservoirs")))


def cost_against(recipe: str, regular: str) -> Range:
    """Operations until `recipe` is within 2 % of the best of `regular`, by what that one needed; ∞ if it never is.

    Raises:
        CannotTellError: the regular model has fewer than `LEAST` BLEU.
    """
    if (reached := bleu(regular)).mean < LEAST:
        raise CannotTellError(
            f"{regular} reaches {reached} BLEU, and {LEAST:g} is the least to be held against"
        )
    target = (1 - WITHIN) * sum(map(best, records(regular))) / len(records(regular))

    def cost(name: str) -> Range:
        found = [cost_to_reach(record, target, axis="flops") for record in records(name)]
        return Range.of(math.inf if value is None else value for value in found)

    ours, theirs = cost(recipe), cost(regular)
    if math.isinf(theirs.high):  # a seed of the regular one that is below its own mean by more than that
        raise NotRunError(f"not every seed of {regular} comes within 2 % of their mean best score")
    return ours / theirs


def area_by_cost(recipe: str, *, among: Iterable[str]) -> Range:
    """The area under the curve over operations, up to what the cheapest of `among` spent in all."""
    horizon = min(record.points[-1]["flops"] for name in among for record in records(name))
    return _lent(
        lambda name: Range.of(
            area_under(record, horizon=horizon, axis="flops").value for record in records(name)
        ),
        recipe,
    )


@claim(
    "reservoir-transformers/time-iwslt",
    rule="at one of the two depths, feed-forward reservoirs come within 2 % of the best BLEU of the regular model with"
    " as many layers that learn, and have cost fewer operations by then",
    recipes=(SAME_LEARNING, *(f"reservoirs/ffn-{depth}" for depth in DEPTHS)),
)
def sooner():
    ratios = {
        f"{depth} layers, cost ratio": cost_against(f"reservoirs/ffn-{depth}", SAME_LEARNING)
        for depth in DEPTHS
    }
    words = [below(ratio, 1.0) for ratio in ratios.values()]
    word = next(w for w in ("confirmed", "undecided", "refuted") if w in words)
    return word, each(ratios, above, 2)[1]


@claim(
    "bair/faster",
    rule="at both depths, feed-forward and transformer reservoirs come within 2 % of the best BLEU of the regular model"
    " with as many layers that learn, and have cost fewer operations by then",
    recipes=(
        SAME_LEARNING,
        *(f"reservoirs/{kind}-{depth}" for kind in ("ffn", "transformer") for depth in DEPTHS),
    ),
)
def consistently():
    ratios = {
        f"{kind}-{depth}": cost_against(f"reservoirs/{kind}-{depth}", SAME_LEARNING)
        for kind in ("ffn", "transformer")
        for depth in DEPTHS
    }
    return each(ratios, lambda ratio: below(ratio, 1.0), 2)


@claim(
    "ours/same-depth",
    says="reservoirs reach what the regular model of the same depth reaches, at a lower cost",
    where="the BAIR report's other comparison",
    rule="at both depths, feed-forward reservoirs come within 2 % of the best BLEU of the regular model of as many"
    " layers, and have cost fewer operations by then",
    recipes=tuple(f"reservoirs/{name}-{depth}" for depth in DEPTHS for name in ("ffn", "regular")),
)
def same_depth():
    ratios = {
        f"{depth} layers": cost_against(f"reservoirs/ffn-{depth}", f"reservoirs/regular-{depth}")
        for depth in DEPTHS
    }
    return each(ratios, lambda ratio: below(ratio, 1.0), 2)


@claim(
    "ours/area",
    says="with as many layers that learn, reservoirs have the larger area under the convergence curve",
    where="what the paper's area is for",
    rule="over operations, the area of feed-forward reservoirs is above that of the regular model, at both depths",
    recipes=(SAME_LEARNING, *(f"reservoirs/ffn-{depth}" for depth in DEPTHS)),
)
def larger_area():
    gaps = {}
    for depth in DEPTHS:
        names = (f"reservoirs/ffn-{depth}", SAME_LEARNING)
        ours, theirs = (area_by_cost(name, among=names) for name in names)
        gaps[f"{depth} layers: BLEU more on average"] = ours - theirs
    return each(gaps, above)


@claim(
    "reservoir-transformers/ffn-best",
    rule="at both depths, feed-forward reservoirs are above each other kind in BLEU",
    recipes=tuple(f"reservoirs/{kind}-{depth}" for depth in DEPTHS for kind in LAYER_KINDS),
)
def ffn_best():
    gaps = {
        f"above {kind}-{depth}:": bleu(f"reservoirs/ffn-{depth}") - bleu(f"reservoirs/{kind}-{depth}")
        for depth in DEPTHS
        for kind in LAYER_KINDS
        if kind != "ffn"
    }
    return each(gaps, above)


@claim(
    "reservoir-transformers/layer-drop",
    rule=f"at both depths their BLEU is within {NEARLY:g} of LayerDrop's",
    recipes=tuple(f"reservoirs/{name}-{depth}" for depth in DEPTHS for name in ("transformer", "layer-drop")),
)
def layer_drop():
    gaps = {
        f"{depth} layers: above LayerDrop by": bleu(f"reservoirs/transformer-{depth}")
        - bleu(f"reservoirs/layer-drop-{depth}")
        for depth in DEPTHS
    }
    return each(gaps, lambda gap: between(gap, -NEARLY, NEARLY))


@claim(
    "ours/placement",
    says="reservoirs belong between layers that learn, and not at an end",
    where="the paper's choice of places",
    rule="at six layers, alternating feed-forward reservoirs are above those at the bottom and at the top in BLEU",
    recipes=("reservoirs/ffn-6", "reservoirs/ffn-6-bottom", "reservoirs/ffn-6-top"),
)
def places():
    middle = bleu("reservoirs/ffn-6")
    return each(
        {f"above {how}:": middle - bleu(f"reservoirs/ffn-6-{how}") for how in ("bottom", "top")}, above
    )


@claim(
    "ours/encoder",
    says="an encoder whose layers learn is worth having",
    where="the rival that tables of encoders lack, after Tang et al. 2019",
    rule="the regular model with four encoder layers is above the one with none in BLEU",
    recipes=(SAME_LEARNING, "reservoirs/no-encoder"),
    late=True,
)
def encoder():
    gap = bleu(SAME_LEARNING) - bleu("reservoirs/no-encoder")
    return above(gap), f"{gap} BLEU above"


@claim(
    "ours/late",
    says="a layer that has learned for a while and is then frozen is worth more than one that never learned",
    where="the competitor that saves the same gradients",
    rule="at six layers, the row that freezes late is above transformer reservoirs in BLEU",
    recipes=("reservoirs/late-6", "reservoirs/transformer-6"),
)
def late():
    gap = bleu("reservoirs/late-6") - bleu("reservoirs/transformer-6")
    return above(gap), f"freezing late is {gap} BLEU above"


@claim(
    "ours/characters",
    says="a language model on characters gains from two reservoirs between four layers that learn",
    where="the paper's enwik8, on a smaller text",
    rule="both kinds need fewer bits a character on the test text than the regular model with four layers",
    recipes=("characters/regular-4", "characters/ffn-6", "characters/transformer-6"),
)
def characters():
    def bits(recipe: str) -> Range:
        return _lent(lambda name: score(name, metric="bits_per_byte"), recipe)

    regular = bits("characters/regular-4")
    gaps = {f"{kind}: fewer by": regular - bits(f"characters/{kind}-6") for kind in ("ffn", "transformer")}
    return each(gaps, above, 3)
