"""The judge: what the records say of a claim today, by the comparisons that the ledger has for it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from reservoir.evidence.claims import orders, special
from reservoir.evidence.claims.files import ledger
from reservoir.evidence.claims.quantities import (
    OPERATIONS,
    Compound,
    Figure,
    Quantity,
    evaluate,
    leaves,
    selected,
)
from reservoir.evidence.claims.ranges import (
    RELATIONS,
    CannotTellError,
    NotRunError,
    Range,
    Word,
    any_of,
    between,
    every,
)
from reservoir.evidence.claims.schema import Block, Comparison, Entry, Ledger

Look = Callable[[str, str, Sequence[str], str], Range]
"""(measure, recipe, recipes of the whole comparison, scale) -> the figure over seeds, as `figure` gives it."""


@dataclass(frozen=True)
class Verdict:
    """A claim as the records decide it: the word, and what was seen."""

    entry: Entry
    word: Word
    seen: str


@dataclass(frozen=True)
class Seen:
    """What one comparison came to: its word, the figure that was judged, and the text that tells it."""

    word: Word
    gap: Range
    text: str


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
        near = difflib.get_close_matches(name, held.entries, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(held.entries))}"
        raise ValueError(f"there is no claim {name!r}; {hint}")
    entry = held.entries[name]
    try:
        return Verdict(entry, *_judged(entry, look, held))
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


def _judged(entry: Entry, look: Look, held: Ledger) -> tuple[Word, str]:
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
    told = [_block(block, at_scale, look, held) for block in entry.blocks]
    return every(word for word, _ in told), "; ".join(text for _, text in told)


def _block(block: Block, figure: Figure, look: Look, held: Ledger) -> tuple[Word, str]:
    """What the comparisons of a block come to together."""
    if block.verdicts:
        words = {
            label: every(verdict(name, look=look, held=held).word for name in names)
            for label, names in block.verdicts.items()
        }
        return every(words.values()), "; ".join(f"{label} {word}" for label, word in words.items())
    found, missing = [], 0
    for comparison in block.comparisons:
        try:
            found.append(_compared(comparison, block, figure))
        except NotRunError:
            if not block.fewest:
                raise
            missing += 1
    if missing and len(found) < block.fewest:
        all_of = len(block.comparisons)
        raise NotRunError(
            f"{len(found)} of {all_of} comparisons have been run; {block.fewest} are the fewest that decide"
        )
    word = (any_of if block.any else every)(one.word for one in found)
    told = [min(found, key=lambda one: one.gap.mean)] if block.lowest_only else found
    return (
        "undecided" if block.weak and word == "refuted" else word,
        block.intro + "; ".join(one.text for one in told),
    )


def _compared(comparison: Comparison, block: Block, figure: Figure) -> Seen:
    """One comparison over the seeds."""
    sides = [side for side in (comparison.a, comparison.b) if side is not None]
    among = [leaf.recipe for side in sides for leaf in leaves(side)]
    values = [evaluate(side, figure, among) for side in sides]
    judged = [value.on_means() for value in values] if block.on_means else values
    gap = OPERATIONS[comparison.gap](*judged)
    if comparison.relation == "between":
        word = between(gap, *comparison.limits)
    else:
        word = RELATIONS[comparison.relation](gap, *comparison.limits)
    names = dict(comparison.names)
    text = block.label.format(**names) + (f" {gap:{block.digits}}" if not block.seen else "")
    if block.seen:
        names |= {"gap": gap, "a": values[0], "b": values[-1]}
        names |= {key: evaluate(shown, figure, among) for key, shown in comparison.shown.items()}
        names |= {"chosen": _chosen(sides, figure, among)}
        names |= {"change": values[0].mean / values[-1].mean - 1 if values[-1].mean else 0.0}
        text += block.seen.format(**names)
    return Seen(word, gap, text)


def _chosen(sides: Iterable[Quantity], figure: Figure, among: Sequence[str]) -> str:
    """Which of a selection of the lowest or the highest it was, where there is one."""
    selections = [
        one for one in sides if isinstance(one, Compound) and one.operation in ("lowest", "highest")
    ]
    return selected(selections[0], figure, among)[0] if selections else ""
