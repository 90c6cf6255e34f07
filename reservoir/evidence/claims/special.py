"""The few claims whose rule is no comparison of figures: each has a judge of its own, which the ledger names."""

from __future__ import annotations

import math
from collections.abc import Callable

from reservoir.evidence import sources
from reservoir.evidence.claims.measures import size
from reservoir.evidence.claims.ranges import CannotTellError, NotRunError, Word
from reservoir.evidence.comparison import comparisons
from reservoir.evidence.costs import translators
from reservoir.evidence.fronts import Method, methods, typical_spread
from reservoir.recipes.components import ROWS

STEADY = 1.1
"""A cost makes classes if no method's dearest seed takes more than so many times what its cheapest does."""


def shares(table: str, column: str) -> tuple[Word, str]:
    """Whether each share that a table prints is within a hundredth of the one that the model's sizes give.

    Rows that put something else in the place of what is frozen are left out.
    """
    wrong = []
    for line in comparisons()[table].lines():
        _, plan, _ = ROWS[line.name.rpartition("/")[2]]
        if plan.drawn == "as-trained":
            found = size(line.name, "trainable_all_rows") / size(line.name, "weights")
            printed = sources.table(table).figure(line.figure.row, column).value
            if round(abs(round(found, 2) - printed), 2) > 0.01:
                wrong.append(f"{line.figure.row}: {found:.2f}, printed {printed:g}")
    return ("refuted" if wrong else "confirmed"), "; ".join(wrong) or "all agree"


def most_subnetworks() -> tuple[Word, str]:
    """Which number of a layer's weights can be chosen in the most ways."""
    n = 1000  # the place of the maximum is the same for any even number
    largest = max(range(n + 1), key=lambda k: math.comb(n, k))
    word: Word = "confirmed" if largest == n // 2 else "refuted"
    return word, f"of {n} weights, {largest} can be chosen in the most ways"


def product_of_chances() -> tuple[Word, str]:
    """Whether two subnetworks of the same weights are independent, in an example that can be counted out."""
    draws = targets = (-1.0, 1.0)  # one weight, as likely either; and what each of two depths wants it to be
    single = [sum(weight == target for weight in draws) / len(draws) for target in targets]
    both = sum(all(weight == target for target in targets) for weight in draws) / len(draws)
    word: Word = "confirmed" if math.isclose(both, math.prod(single)) else "refuted"
    return word, (
        f"one weight of ±1, and two depths that want it +1 and -1: chances {single[0]:g} and {single[1]:g}, of both"
        f" {both:g}"
    )


def weight_class(axis: str) -> tuple[Word, str]:
    """Whether a translator that leaves weights unlearned beats every trained one of its class, by one cost.

    A class is a limit on a cost. A model is above its class if it beats every fully trained model that costs no more,
    and there is one. Smaller trained models, and the pruned one, compete: they are what a reader would try first.

    Args:
        axis: the cost, a key of `costs.AXES`.

    Raises:
        NotRunError: there are none of one of the two.
        CannotTellError: the cost of one method differs too much from seed to seed.
    """
    runs = translators()
    if len(runs) == 0 or runs["kind"].eq("trained").nunique() < 2:
        raise NotRunError("translators that are trained and some that are not have to be recorded first")
    kinds = [
        methods(runs[(runs["kind"] == "trained") == whole], quality="quality", cost=axis)
        for whole in (True, False)
    ]
    ratio = max(max(method.cost) / min(method.cost) for kind in kinds for method in kind)
    if ratio > STEADY:
        raise CannotTellError(f"one method took {ratio:.2f} times as much with one seed as with another")
    lent = typical_spread([*kinds[0], *kinds[1]])
    return in_class(*([method.lent(lent) for method in kind] for kind in kinds))


def in_class(trained: list[Method], others: list[Method]) -> tuple[Word, str]:
    """Whether some of the others beats every trained model of its class, and the one that does so by most."""
    word: Word = "refuted"
    contests = []
    for method in others:
        rivals = [rival for rival in trained if rival.price <= method.price]
        if not rivals:
            continue
        contests.append((method, max(rivals, key=lambda rival: rival.mean)))
        if min(method.quality) > max(max(rival.quality) for rival in rivals):
            word = "confirmed"
        elif word == "refuted" and max(method.quality) > max(min(rival.quality) for rival in rivals):
            word = "undecided"
    if not contests:
        return "refuted", "none costs as much as the cheapest trained model"
    best, rival = max(contests, key=lambda pair: pair[0].mean - pair[1].mean)
    said = f"{best.name} is {best.mean - rival.mean:+.1f} BLEU from {rival.name}, the best trained one of its class"
    dearer = min((r for r in trained if r.price > best.price), key=lambda r: r.price, default=None)
    if dearer is None:
        return word, f"{said}; no trained one costs more"
    return word, (
        f"{said}, and {best.mean - dearer.mean:+.1f} from {dearer.name}, the next dearer one, at"
        f" {dearer.price / best.price:.2f} times its cost"
    )


JUDGES: dict[str, Callable[..., tuple[Word, str]]] = {
    "shares": shares,
    "most subnetworks": most_subnetworks,
    "product of chances": product_of_chances,
    "weight class": weight_class,
}
"""What a claim's `special` can be."""
