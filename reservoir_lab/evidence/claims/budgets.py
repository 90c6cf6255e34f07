"""What the two sides of a comparison may spend: as many steps of training, and as many learning rates to choose from.

A claim that compares runs of unequal budgets says why, under `budgets` where they differ in steps and under `tuning`
where they differ in rates; without a reason it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import cast

from reservoir_lab import recipes
from reservoir_lab.evidence.claims.measures import CHOSEN, Leaf, Measure, alternatives, leaves
from reservoir_lab.evidence.claims.schema import Block, Compared, Order
from reservoir_lab.runs.records import find_record
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRun

SCORING = {"decoding", "rounded", "tests", "valid_sentences"}
"""Fields of a task that training does not see."""


@dataclass(frozen=True)
class Arm:
    """One of the runs that a comparison reads on one task.

    Args:
        recipe: its name, which may have a ~ in it.
        steps: of training, those of a run that it takes tensors from included.
        precision: that it is trained in.
        rate: the learning rate that its recipe states; None where validation chooses it.
    """

    recipe: str
    steps: int
    precision: str
    rate: float | None

    def tried(self, scale: Scale) -> int:
        """How many runs its own was chosen from on validation: those of its sweep that are recorded with seed 0."""
        among = alternatives(self.recipe) if self.rate is None else []
        return sum(find_record(name, scale=scale) is not None for name in among) or 1


def arms(names: Iterable[str], scale: str) -> list[list[Arm]]:
    """Runs that are compared, task by task: those that learn the same from the same data.

    How they are tested does not count, so a run that is scored in few bits as well has the task of one that is not.
    """
    found: dict[str, list[Arm]] = {}
    for name in sorted(set(names)):
        run = _run(name, scale)
        rate = None if name.endswith(f"/{CHOSEN}") else run.optimiser.lr
        found.setdefault(learned(run), []).append(Arm(name, _steps(run), run.precision, rate))
    return list(found.values())


def compared_runs(compared: Compared, measures: Mapping[str, Measure]) -> list[str]:
    """The recipes whose training a comparison reads."""
    there = (leaf for side in compared.sides for leaf in leaves(side))
    return [leaf.recipe for leaf in there if measures[leaf.measure].of_runs]


def _run(name: str, scale: str) -> Run:
    return recipes.get(alternatives(name)[0], scale=cast(Scale, scale))


def check(block: Block, measures: Mapping[str, Measure], scale: str) -> None:
    """Refuse to compare runs that do not learn the same, are not trained alike, unasked, or in two precisions.

    Raises:
        ValueError: one run is compared with another on other data; those on one task have unequal steps without a
            reason under `budgets`, unequal learning rates without one under `tuning`, or two precisions.
    """
    for one in block.comparisons:
        names = compared_runs(one, measures)
        if all(isinstance(side, Leaf) for side in one.sides):
            texts = {name: _about(_run(name, scale)) for name in names}
            if len(set(texts.values())) > 1:
                raise ValueError(f"the compared runs do not learn the same ({_told(texts.items())})")
        for there in arms(names, scale):
            _alike(there, block)


def check_order(order: Order, names: Iterable[str], scale: str) -> None:
    """Refuse an order of rows that are not trained alike, unasked, or in two precisions.

    Raises:
        ValueError: as `check`.
    """
    for there in arms(names, scale):
        _alike(there, order)


def _alike(there: list[Arm], said: Block | Order) -> None:
    if not said.budgets and len({arm.steps for arm in there}) > 1:
        told = _told((arm.recipe, arm.steps) for arm in there)
        raise ValueError(f"the compared runs are not trained alike (steps: {told}): say why under budgets")
    if not said.tuning and len({arm.rate for arm in there}) > 1:
        told = _told((arm.recipe, "chosen" if arm.rate is None else f"{arm.rate:g}") for arm in there)
        raise ValueError(
            f"the compared runs are not tuned alike (learning rates: {told}): say why under tuning"
        )
    if len({arm.precision for arm in there}) > 1:
        told = _told((arm.recipe, arm.precision) for arm in there)
        raise ValueError(f"the compared runs are not of one precision ({told})")


def unequal(names: Iterable[str], scale: str) -> str:
    """How many rates each run was chosen from, where these are not as many on one task; empty where they are."""
    for there in arms(names, scale):
        tried = {arm.recipe: arm.tried(cast(Scale, scale)) for arm in there}
        if len(set(tried.values())) > 1:
            return _told(tried.items())
    return ""


def _about(run: Run) -> str:
    """What the data of a run is, without how much of it and how it is cut."""
    return f"{type(run.task).__name__} of {run.task.data}"


def learned(run: Run) -> str:
    """What a run learns, as a key: its task but for how it is scored."""
    kept = {one.name: getattr(run.task, one.name) for one in fields(run.task) if one.name not in SCORING}
    return f"{type(run.task).__name__} {kept}"


def _told(found: Iterable[tuple[str, object]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found)


def _steps(run: Run) -> int:
    """Steps of training, those of a run that it takes tensors from included."""
    own = run.budget.steps * run.budget.accumulate
    if isinstance(run.start, InitFromRun) and run.start.streams:
        return own + _steps(run.start.source(run.scale, run.seed))
    return own
