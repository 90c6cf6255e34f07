"""Claims whose rule compares no recipes by name: what each says, for the judge, and what was seen.

One kind is the order of a table's rows: what the source has clearly above something else should be there. A pair counts
where the source has them further apart than a margin. The pairs that our records have run must all lie in the source's
order; one that clearly does not, after Holm's correction, refutes. The others are arithmetic, or ask whether a method
beats another of its class.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import permutations
from pathlib import Path

import pandas as pd

from reservoir_lab.evidence import sources
from reservoir_lab.evidence.claims.measures import CannotTellError, Figure, Measure, NotRunError, check, size
from reservoir_lab.evidence.claims.schema import Order
from reservoir_lab.evidence.comparison import Line, comparisons
from reservoir_lab.evidence.costs import AXES, Method, methods, translators
from reservoir_lab.evidence.judge import AnyOf, Clause, Comparison, Estimate, Every, judge
from reservoir_lab.recipes.components import ROWS
from reservoir_lab.runs.registry import results

STEADY = 1.1
"""A cost makes classes if no method's dearest seed takes more than so many times what its cheapest does."""


BLEU = Measure(
    "BLEU", "score", idle={"*": 5.0}, why="a model that always says the commonest words has about 1"
)


def _arithmetic(holds: bool) -> Clause:
    """A claim that no run decides."""
    return Comparison(Estimate(float(holds)), low=0.5, silent=True)


def shares(table: str, column: str) -> tuple[Clause, str]:
    """Each share that a table prints is within a hundredth of the one that the model's sizes give.

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
    return _arithmetic(not wrong), "; ".join(wrong) or "all agree"


def most_subnetworks() -> tuple[Clause, str]:
    """One half of a layer's weights can be chosen in the most ways."""
    n = 1000  # the place of the maximum is the same for any even number
    largest = max(range(n + 1), key=lambda k: math.comb(n, k))
    return _arithmetic(largest == n // 2), f"of {n} weights, {largest} can be chosen in the most ways"


def product_of_chances() -> tuple[Clause, str]:
    """Two subnetworks of the same weights are independent, in an example that can be counted out."""
    draws = targets = (-1.0, 1.0)  # one weight, as likely either; and what each of two depths wants it to be
    single = [sum(weight == target for weight in draws) / len(draws) for target in targets]
    both = sum(all(weight == target for target in targets) for weight in draws) / len(draws)
    return _arithmetic(math.isclose(both, math.prod(single))), (
        f"one weight of ±1, and two depths that want it +1 and -1: chances {single[0]:g} and {single[1]:g}, of both"
        f" {both:g}"
    )


def weight_class(axis: str, *, recipes: Collection[str]) -> tuple[Clause, str]:
    """A translator that leaves weights unlearned beats every trained one of its class, by one cost.

    A class is a limit on a cost. A model is above its class if it beats every fully trained model that costs no more,
    and there is one. Smaller trained models compete, since they are what a reader would try first; what was pruned
    until it does not translate any more does not.

    Args:
        axis: the cost, a key of `costs.AXES`.
        recipes: those that the claim lists; a translator of any other does not compete.

    Raises:
        NotRunError: there are none of one of the two.
        CannotTellError: the cost of one method differs too much from seed to seed.
    """
    runs = _translators(results())
    runs = runs[runs["recipe"].isin(recipes)]
    if len(runs) == 0 or runs["kind"].eq("trained").nunique() < 2:
        raise NotRunError("translators that are trained and some that are not have to be recorded first")
    whole = runs["kind"] == "trained"
    kinds = [methods(runs[kind], quality="quality", cost=axis) for kind in (whole, ~whole)]
    ratio = max(max(method.cost) / min(method.cost) for kind in kinds for method in kind)
    if ratio > STEADY:
        raise CannotTellError(f"one method took {ratio:.2f} times as much with one seed as with another")
    # What does not translate at all is no rival, however cheap it is.
    fit = [[method for method in kind if not BLEU.unfit(method.name)] for kind in kinds]
    return in_class(*([(method, BLEU.figure(method.name)) for method in kind] for kind in fit))


@functools.cache
def _translators(folder: Path) -> pd.DataFrame:
    """All recorded translators, read once for each folder of results: four claims ask for them."""
    return translators()


def in_class(
    trained: list[tuple[Method, Estimate]], others: list[tuple[Method, Estimate]]
) -> tuple[Clause, str]:
    """That some of the others beats every trained model of its class, and the one that does so by most."""
    contests = []
    for method, score in others:
        rivals = [(rival, theirs) for rival, theirs in trained if rival.price <= method.price]
        if rivals:
            parts = (
                Comparison(score - theirs, 0.0, name=f"{method.name} − {one.name}") for one, theirs in rivals
            )
            best, its = max(rivals, key=lambda pair: pair[1].mean)
            contests.append((Every(tuple(parts)), score - its, method, best))
    if not contests:
        return _arithmetic(False), "none costs as much as the cheapest trained model"
    _, gap, method, rival = max(contests, key=lambda one: one[1].mean)
    said = f"{method.name} is {gap.mean:+.1f} BLEU from {rival.name}, the best trained one of its class"
    dearer = min((r for r, _ in trained if r.price > method.price), key=lambda r: r.price, default=None)
    if dearer:
        said += f"; the next dearer one, {dearer.name}, is {dearer.mean - method.mean:+.1f} from it"
    return AnyOf(tuple(one[0] for one in contests)), said


JUDGES: dict[str, Callable[..., tuple[Clause, str]]] = {
    "shares": shares,
    "most subnetworks": most_subnetworks,
    "product of chances": product_of_chances,
    "weight class": weight_class,
}
"""What a claim's `special` can be."""


def check_arguments(name: str, arguments: Mapping[str, str]) -> None:
    """Refuse arguments that a special judge does not take, or whose value it does not know.

    Raises:
        ValueError: with the nearest that there is.
    """
    wanted = [one for one in inspect.signature(JUDGES[name]).parameters if one != "recipes"]
    if arguments.keys() != set(wanted):
        raise ValueError(
            f"{name!r} takes {', '.join(wanted) or 'nothing'}, got {', '.join(arguments) or 'nothing'}"
        )
    if "axis" in arguments:
        check("axis", arguments["axis"], AXES)
    if "table" in arguments:
        check("table", arguments["table"], comparisons())
        check("column", arguments["column"], sources.table(arguments["table"]).columns)


def judged(name: str, arguments: Mapping[str, str], recipes: Collection[str]) -> tuple[Clause, str]:
    """What the special judge of a claim says; one that takes recipes is given those that the claim lists."""
    special = JUDGES[name]
    listed = {"recipes": recipes} if "recipes" in inspect.signature(special).parameters else {}
    return special(**arguments, **listed)


Key = tuple[str, str, str]
"""Contest, row, recipe."""


def in_order(claimed: Order, figure: Figure, unfit: Callable[[Iterable[str]], str]) -> tuple[Clause, str]:
    """That our rows lie as the source's do, and how many pairs are clear.

    Args:
        claimed: the order.
        figure: gives our figures.
        unfit: says why the records of some recipes may not be compared; nothing if they may.

    Raises:
        NotRunError: fewer than half of the pairs that count have been run.
    """
    beside = comparisons()[claimed.table]
    lines = {_key(claimed, line): line for line in beside.lines() if line.recipe}
    sign = -1 if beside.best == "smallest" else 1

    def better(a: Key, b: Key) -> bool:
        one, other = lines[a].figure.value, lines[b].figure.value
        return other / one - 1 > claimed.margin if sign < 0 else one - other > claimed.margin

    pairs = [(a, b) for a, b in permutations(lines, 2) if a[0] == b[0] and better(a, b)]
    ours: dict[Key, Estimate] = {}
    for key, line in lines.items():
        with contextlib.suppress(NotRunError):
            ours[key] = figure(claimed.measure, line.recipe, ())
    found = [
        Comparison(
            (ours[a] - ours[b]) * sign,
            low=0.0,
            name=f"{_short(a)} before {_short(b)}",
            unfit=unfit((lines[a].recipe, lines[b].recipe)),
        )
        for a, b in pairs
        if a in ours and b in ours
    ]
    if 2 * len(found) < len(pairs):
        raise NotRunError(f"{len(found)} of {len(pairs)} pairs of rows have been run at the laptop scale")
    outcomes = Counter(judge(one).outcome for one in found)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    return Every(tuple(found)), f"of {len(pairs)} pairs {len(found)} have been run; one by one, {counts}"


def _short(key: Key) -> str:
    return key[2].partition("/")[2]


def _key(claimed: Order, line: Line) -> Key:
    """The contest that an entry takes part in, its row and its recipe."""
    row, column = line.figure.row, line.figure.column
    if claimed.contests:
        column = sources.table(claimed.table).figure(row, claimed.contests).printed
    return column, row, line.name
