"""The judge: what the records say of a claim today, by the comparisons that the ledger has for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from reservoir.evidence import sources
from reservoir.evidence.claims import orders, ranges, special
from reservoir.evidence.claims.files import ledger
from reservoir.evidence.claims.quantities import OPERATIONS, Compound, Figure, evaluate, leaves, selected
from reservoir.evidence.claims.ranges import CannotTellError, NotRunError, Range, Word
from reservoir.evidence.claims.schema import Block, Comparison, Entry, Ledger

Look = Callable[[str, str, Sequence[str], str], Range]
"""(measure, recipe, recipes of the whole comparison, scale) -> the figure over seeds, as `figure` gives it."""


@dataclass(frozen=True)
class Verdict:
    """A claim as the records decide it: the word, and what was seen."""

    entry: Entry
    word: Word
    seen: str


def figure(measure: str, recipe: str, among: Sequence[str] = (), scale: str = "laptop") -> Range:
    """A measure of the ledger, of a recipe over its seeds; one seed borrows a spread where the measure has lenders.

    Args:
        measure: its name, such as "bleu".
        recipe: its name; one that ends in "/~" is taken at the learning rate that validation chose.
        among: the recipes of the whole comparison, for measures that depend on all of them.
        scale: "smoke", "laptop" or "full".

    Raises:
        NotRunError: a record is missing.
        CannotTellError: what the measure rests on has hardly learned.
    """
    return ledger().measures[measure].figure(recipe, among=among, scale=scale)


def entries() -> dict[str, Entry]:
    """The claims of the ledger, by name."""
    return ledger().entries


def descriptions() -> dict[str, str]:
    """Sentences of the sources that claim nothing a run could decide: what the book does about each instead."""
    return ledger().descriptions


def margin(file: str, name: str) -> float:
    """A number that a file of the ledger states with its reason, such as margin("mixing", "notable")."""
    return ledger().margins[file][name]


def verdict(name: str, *, look: Look = figure, held: Ledger | None = None) -> Verdict:
    """The verdict on one claim.

    Args:
        name: of the claim.
        look: gives the figures; the records' by default.
        held: the ledger; the book's by default.

    Raises:
        ValueError: it is not in the ledger; the nearest is named.
    """
    held = held or ledger()
    if name not in held.entries:
        raise ValueError(sources.unknown("claim", name, held.entries, "the ledger"))
    entry = held.entries[name]
    try:
        return Verdict(entry, *_judged(entry, look))
    except NotRunError as missing:
        return Verdict(entry, "not run", str(missing))
    except CannotTellError as reason:
        return Verdict(entry, "cannot be tested here", str(reason))


def frame(names: Iterable[str]) -> pd.DataFrame:
    """A table for a page: what is claimed and where, when it counts as confirmed, what was seen, the verdict."""
    verdicts = [verdict(name) for name in names]
    return pd.DataFrame(
        {
            "confirmed if": [v.entry.rule for v in verdicts],
            "seen": [v.seen for v in verdicts],
            "verdict": [v.word for v in verdicts],
        },
        index=[f"{v.entry.says} ({v.entry.where})" for v in verdicts],
    )


def _judged(entry: Entry, look: Look) -> tuple[Word, str]:
    """The word and what was seen."""

    def at_scale(measure: str, recipe: str, among: Sequence[str]) -> Range:
        return look(measure, recipe, among, entry.scale)

    if entry.why:
        raise CannotTellError(entry.why)
    if entry.order:
        return orders.in_order(entry.order, at_scale)
    if entry.special:
        return special.JUDGES[entry.special](**entry.arguments)
    for condition in entry.conditions:
        reached = evaluate(condition.of, at_scale)
        if reached.mean < condition.least:
            raise CannotTellError(
                condition.seen.format(figure=reached, least=condition.least, **condition.names)
            )
    told = [_block(block, at_scale) for block in entry.blocks]
    return ranges.every(word for word, _ in told), "; ".join(text for _, text in told)


def _block(block: Block, figure: Figure) -> tuple[Word, str]:
    """What the comparisons of a block come to together."""
    found = []
    for comparison in block.comparisons:
        try:
            found.append(_compared(comparison, block, figure))
        except NotRunError:
            if not block.fewest:
                raise
    if len(found) < min(block.fewest, len(block.comparisons)):
        run = f"{len(found)} of {len(block.comparisons)} comparisons have been run"
        raise NotRunError(f"{run}; {block.fewest} are the fewest that decide")
    word = (ranges.any_of if block.any else ranges.every)(one for one, _, _ in found)
    told = [min(found, key=lambda one: one[1].mean)] if block.lowest_only else found
    text = block.intro + "; ".join(one for _, _, one in told)
    return ("undecided" if block.weak and word == "refuted" else word), text


def _compared(comparison: Comparison, block: Block, figure: Figure) -> tuple[Word, Range, str]:
    """The word for one comparison over the seeds, the figure that was judged, and the text that tells it."""
    sides = [side for side in (comparison.a, comparison.b) if side is not None]
    among = [leaf.recipe for side in sides for leaf in leaves(side)]
    values = [evaluate(side, figure, among) for side in sides]
    gap = OPERATIONS[comparison.gap](*(value.on_means() if block.on_means else value for value in values))
    word = ranges.RELATIONS[comparison.relation](gap, *comparison.limits)
    if not block.seen:
        return word, gap, f"{block.label.format(**comparison.names)} {gap:{block.digits}}"
    a, b = values[0], values[-1]
    shown = {name: evaluate(quantity, figure, among) for name, quantity in comparison.shown.items()}
    picked = [s for s in sides if isinstance(s, Compound) and s.operation in ("lowest", "highest")]
    chosen = selected(picked[0], figure, among)[0] if picked else ""
    change = a.mean / b.mean - 1 if b.mean else 0.0
    names = dict(comparison.names) | shown
    return word, gap, block.seen.format(gap=gap, a=a, b=b, chosen=chosen, change=change, **names)
