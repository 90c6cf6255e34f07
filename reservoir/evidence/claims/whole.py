"""The blog's first question, axis by axis: do models that leave weights unlearned punch above their weight class?

A class is a limit on one cost. A model is above its class if it beats every fully trained model that costs no more, and
there is one. Smaller trained models, and the pruned one, are in the race: they are what a reader would try first. The
rule was written before most of the records were made; methods with one seed are lent the typical spread of the others.
A cost that is not the same for all seeds of a method makes no class: seconds on a shared machine do not.
"""

from __future__ import annotations

from reservoir import recipes
from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import CannotTellError, NotRunError, Word
from reservoir.evidence.costs import AXES, translators
from reservoir.evidence.fronts import Method, methods, typical_spread

FAMILIES = (
    *("transformer/multi30k", "components", "narrow", "reservoirs", "backskipping"),
    *("keep", "initial", "wmt", "supermask", "wmt-reservoirs"),
)


STEADY = 1.1
"""A cost makes classes if no method's dearest seed takes more than so many times what its cheapest does."""


def sorted_out(axis: str) -> tuple[list[Method], list[Method]]:
    """The fully trained translators, and the others, with the spread that one seed is lent.

    Raises:
        NotRunError: there are none of one of the two.
        CannotTellError: the cost of one method differs too much from seed to seed.
    """
    runs = translators()
    if not len(runs) or len(set(runs["kind"] == "trained")) < 2:
        raise NotRunError("translators that are trained and some that are not have to be recorded first")
    found = {
        whole: methods(runs[(runs["kind"] == "trained") == whole], quality="quality", cost=axis)
        for whole in (True, False)
    }
    ratio = max(max(method.cost) / min(method.cost) for kind in found.values() for method in kind)
    if ratio > STEADY:
        raise CannotTellError(f"one method took {ratio:.2f} times as much with one seed as with another")
    lent = typical_spread([*found[True], *found[False]])
    return tuple([method.lent(lent) for method in found[whole]] for whole in (True, False))


def weight_class(trained: list[Method], others: list[Method]) -> tuple[Word, str]:
    """Whether some of the others beats every trained model of its class, and the one that does so by most."""
    word: Word = "refuted"
    best = None
    for method in others:
        rivals = [rival for rival in trained if rival.price <= method.price]
        if not rivals:
            continue
        strongest = max(rivals, key=lambda rival: rival.mean)
        gap = method.mean - strongest.mean
        if best is None or gap > best[0]:
            best = (gap, method, strongest)
        if min(method.quality) > max(max(rival.quality) for rival in rivals):
            word = "confirmed"
        elif word == "refuted" and max(method.quality) > max(min(rival.quality) for rival in rivals):
            word = "undecided"
    if best is None:
        return "refuted", "none costs as much as the cheapest trained model"
    gap, method, strongest = best
    said = f"{method.name} is {gap:+.1f} BLEU from {strongest.name}, the best trained one of its class"
    dearer = min(
        (rival for rival in trained if rival.price > method.price),
        key=lambda rival: rival.price,
        default=None,
    )
    if dearer is None:
        return word, f"{said}; no trained one costs more"
    return word, (
        f"{said}, and {method.mean - dearer.mean:+.1f} from {dearer.name}, the next dearer one, at"
        f" {dearer.price / method.price:.2f} times its cost"
    )


def _enter(axis: str) -> None:
    @claim(
        f"whole/weight-class-{axis}",
        says=f"Leaving weights unlearned does more with less, counted in {AXES[axis].words}.",
        where="the essay's first question, which it leaves open",
        rule="some translator that leaves weights unlearned beats every fully trained one that costs no more, whatever"
        f" seeds are compared, and there is one; the cost differs by less than {STEADY - 1:.0%} from seed to seed",
        recipes=[
            name
            for family in (*FAMILIES, "combinations")
            for name in recipes.family(family)
            if "gpt" not in name
        ],
    )
    def judge() -> tuple[Word, str]:
        return weight_class(*sorted_out(axis))


for _axis in AXES:
    _enter(_axis)
