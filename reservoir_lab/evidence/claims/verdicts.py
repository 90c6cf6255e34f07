"""What the records say of a claim today, by the comparisons that the ledger has for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import pandas as pd

from reservoir_lab import recipes
from reservoir_lab.evidence import judge, sources
from reservoir_lab.evidence.claims import budgets, special
from reservoir_lab.evidence.claims.files import LedgerError, ledger
from reservoir_lab.evidence.claims.measures import (
    OPERATIONS,
    RELATIONS,
    CannotTellError,
    Figure,
    NotRunError,
    alternatives,
    evaluate,
    leaves,
    records,
)
from reservoir_lab.evidence.claims.schema import Block, Compared, Entry, Ledger
from reservoir_lab.evidence.judge import AnyOf, Clause, Comparison, Estimate, Every, told
from reservoir_lab.runs.records import find_records
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.start import InitFromRelease

Outcome = Literal["holds here", "does not hold here", "cannot tell", "unfit", "not tested here"]
Look = Callable[[str, str, Sequence[str], str], Estimate]
"""(measure, recipe, recipes of the whole comparison, scale) -> the figure over runs, as `figure` gives it."""


@dataclass(frozen=True)
class Verdict:
    """A claim as the records decide it.

    Args:
        entry: the claim.
        outcome: always at the claim's scale.
        seen: its figures, with their 95 % intervals; where none were compared, what is lacking.
        why: what the outcome rests on; empty where none were compared.
        p: as `judge.Verdict` has it; nan where nothing was tested, or by arithmetic alone.
    """

    entry: Entry
    outcome: Outcome
    seen: str
    why: str = ""
    p: float = float("nan")

    @property
    def decided(self) -> bool:
        """Whether it holds here, or does not."""
        return self.outcome in ("holds here", "does not hold here")

    @property
    def of_runs(self) -> bool:
        """Whether runs were compared, and not only figures that need none, such as counts of parameters."""
        compared = self.p == self.p or self.outcome in ("cannot tell", "unfit")
        return bool(self.entry.recipes) and compared

    @property
    def shown(self) -> str:
        """The outcome with its scale, and with what all its runs begin with."""
        scale = f"{self.entry.scale} scale" if self.of_runs else "by arithmetic" if self.decided else ""
        if self.of_runs and of_one_body(self.entry):
            scale += ", one pretrained body"
        return f"{self.outcome} ({scale})" if scale else self.outcome


def figure(measure: str, recipe: str, among: Sequence[str] = (), scale: str = "laptop") -> Estimate:
    """A measure of the ledger, of a recipe over its independent runs.

    Args:
        measure: its name, such as "bleu".
        recipe: its name; one that ends in "/~" is taken at the learning rate that validation chose.
        among: the recipes of the whole comparison, for measures that depend on all of them.
        scale: "smoke", "laptop" or "full".

    Raises:
        NotRunError: a record is missing.
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
        look: gives the figures; the records' by default, which are checked then to be of one precision, and whose
            baselines must beat what does nothing.
        held: the ledger; the book's by default.

    Raises:
        ValueError: it is not in the ledger; the nearest is named.
        LedgerError: records that it compares differ in precision.
    """
    held = held or ledger()
    if name not in held.entries:
        raise ValueError(sources.unknown("claim", name, held.entries, "the ledger"))
    entry = held.entries[name]
    if entry.why:
        return Verdict(entry, "not tested here", entry.why)
    try:
        said, seen = _said(entry, look, held)
    except NotRunError as missing:
        return Verdict(entry, "not tested here", str(missing))
    except CannotTellError as reason:
        return Verdict(entry, "cannot tell", str(reason))
    found = judge.judge(said)
    return Verdict(entry, found.outcome, seen, found.why, found.p)


def of_one_body(entry: Entry) -> bool:
    """Whether its runs begin with a model that was pretrained once, so that a verdict is about that model."""
    runs = (recipes.get(name, scale=cast(Scale, entry.scale)) for name in entry.recipes)
    return any(isinstance(run.start, InitFromRelease) and not run.start.same_seed for run in runs)


def frame(names: Iterable[str]) -> pd.DataFrame:
    """A table for a page: what is claimed and where, when it holds, what was seen, the verdict."""
    verdicts = [verdict(name) for name in names]
    return pd.DataFrame(
        {
            "holds if": [v.entry.rule for v in verdicts],
            "seen": [v.seen for v in verdicts],
            "because": [v.why for v in verdicts],
            "verdict": [v.shown for v in verdicts],
        },
        index=[f"{v.entry.says} ({v.entry.where})" for v in verdicts],
    )


def _said(entry: Entry, look: Look, held: Ledger) -> tuple[Clause, str]:
    """What a claim says of the figures, and what was seen."""
    known: dict[tuple[str, str, tuple[str, ...]], Estimate] = {}

    def at_scale(measure: str, recipe: str, among: Sequence[str]) -> Estimate:
        key = measure, recipe, tuple(among)
        if key not in known:  # the same runs are the same sample wherever they occur
            known[key] = look(measure, recipe, among, entry.scale)
        return known[key]

    measures = held.measures if look is figure else {}

    def one_precision(names: Iterable[str]) -> str:
        return _one_precision(entry, names) if measures else ""

    if order := entry.order:

        def unfit_pair(names: Iterable[str]) -> str:
            pair = tuple(names)
            return one_precision(pair) or (_unequal(pair, entry) if measures and not order.tuning else "")

        return special.in_order(order, at_scale, unfit_pair)
    if entry.special:
        why = one_precision(name for name in entry.recipes if find_records(name, scale=entry.scale))
        clause, seen = special.judged(entry.special, entry.arguments, entry.recipes)
        return (Comparison(Estimate(0.0), unfit=why), seen) if why else (clause, seen)

    def unfit(block: Block, compared: Compared) -> str:
        own, rivals = ([*leaves(side)] if side is not None else [] for side in (compared.a, compared.b))
        if block.rival == "a":
            own, rivals = rivals, own
        if len(own) > 1:  # a difference of differences rests on all its parts
            rivals += own
        named = {leaf.recipe for leaf in (*own, *rivals)}
        for leaf in (leaf for leaf in rivals if leaf.measure in measures):
            if (one := measures[leaf.measure]).idle and not named & set(map(str, one.idle.values())):
                if why := one.unfit(leaf.recipe, scale=entry.scale):
                    return why
        if (
            measures
            and not block.tuning
            and (why := _unequal(budgets.compared_runs(compared, measures), entry))
        ):
            return why
        return one_precision(leaf.recipe for leaf in (*own, *rivals) if measures[leaf.measure].of_runs)

    told = [_block(block, at_scale, unfit) for block in entry.blocks]
    return Every(tuple(clause for clause, _ in told)), "; ".join(text for _, text in told)


def _unequal(names: Iterable[str], entry: Entry) -> str:
    """Why runs decide nothing: they were not chosen from equally many learning rates. Empty where they were."""
    tried = budgets.unequal(names, entry.scale)
    return f"each was chosen from another number of learning rates: {tried}" if tried else ""


def _one_precision(entry: Entry, names: Iterable[str]) -> str:
    """Why records of one task decide nothing: it is not known that they have one precision.

    The first format did not record it ("auto"). Of the records that were begun again and match one precision alone, all
    are bf16 (`data/results/audits.json`), so "auto" may be compared with bf16 and not with fp32.

    Raises:
        LedgerError: they are known to have two.
    """
    found: dict[str, dict[str, str]] = {}  # task -> precision -> a recipe
    for name in names:
        task = budgets.learned(recipes.get(alternatives(name)[0], scale=cast(Scale, entry.scale)))
        for record in records(name, scale=entry.scale):
            found.setdefault(task, {})[record.run["precision"]] = name
    for of_task in found.values():
        if {"fp32", "bf16"} <= of_task.keys():
            said = " and ".join(f"{of_task[precision]} in {precision}" for precision in ("bf16", "fp32"))
            raise LedgerError(f"{entry.place}: {entry.name!r}: it compares records of {said}")
        if {"fp32", "auto"} <= of_task.keys():
            return f"{of_task['auto']} did not record its precision, and {of_task['fp32']} is in fp32"
    return ""


def _block(block: Block, figure: Figure, unfit: Callable[[Block, Compared], str]) -> tuple[Clause, str]:
    """What a block of comparisons says, and what was seen."""
    found, missing = [], []
    for compared in block.comparisons:
        try:
            found.append(_compared(compared, block, figure, unfit))
        except NotRunError:
            if not block.fewest:
                raise
            missing.append(block.label.format(**compared.names).strip(" :"))
    if len(found) < min(block.fewest, len(block.comparisons)):
        run = f"{len(found)} of {len(block.comparisons)} comparisons have been run"
        raise NotRunError(f"{run}; {block.fewest} are the fewest that decide")
    parts = tuple(clause for clause, _ in found)
    texts = [text for _, text in found] + ([f"not run: {', '.join(missing)}"] if missing else [])
    return (AnyOf(parts) if block.any else Every(parts)), "; ".join(texts)


def _compared(
    compared: Compared, block: Block, figure: Figure, unfit: Callable[[Block, Compared], str]
) -> tuple[Clause, str]:
    """What one comparison says, and the text that tells it."""
    among = [leaf.recipe for side in compared.sides for leaf in leaves(side)]
    values = [evaluate(side, figure, among) for side in compared.sides]
    gap = OPERATIONS[compared.gap](*values)
    name = block.label.format(**compared.names).strip(" :")
    clause = RELATIONS[compared.relation](*compared.limits)(gap, name, block.unfit or unfit(block, compared))
    if not block.seen:
        return clause, told(block.label.format(**compared.names), gap, block.digits)
    a, b = values[0], values[-1]
    shown = {name: evaluate(quantity, figure, among) for name, quantity in compared.shown.items()}
    change = a.mean / b.mean - 1 if b.mean else 0.0
    return clause, block.seen.format(gap=gap, a=a, b=b, change=change, **dict(compared.names) | shown)
