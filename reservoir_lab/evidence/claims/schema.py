"""What the ledger holds: claims with the comparisons that decide each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from reservoir_lab.evidence.claims.measures import Leaf, Measure, Names, Quantity, leaves

Mark = Literal["quotation", "paraphrase", "ours"]
"""Whose words a claim is in: the source's; ours, of something that a source has; ours, and our own question."""


@dataclass(frozen=True)
class Compared:
    """One comparison of a claim: what is compared, and the relation that must hold.

    Args:
        a, b: the two quantities; no `b` where `a` alone is compared with a number.
        gap: how they are compared, a key of `OPERATIONS`.
        relation: a key of `RELATIONS`.
        limits: the number or the two numbers that the relation needs.
        names: what the placeholders of its texts stand for.
        shown: further quantities that its text tells.
    """

    a: Quantity
    b: Quantity | None
    gap: str
    relation: str
    limits: tuple[float, ...]
    names: Names
    shown: Mapping[str, Quantity]

    @property
    def sides(self) -> list[Quantity]:
        """What is compared."""
        return [side for side in (self.a, self.b) if side is not None]

    def leaves(self) -> Iterator[Leaf]:
        """The single figures that it reads, those that only its text tells included."""
        for quantity in (*self.sides, *self.shown.values()):
            yield from leaves(quantity)


@dataclass(frozen=True)
class Block:
    """Comparisons of one kind, of which all must hold, or one.

    Args:
        comparisons: one for each choice of the selection.
        any: whether one that holds is enough.
        fewest: how many comparisons must have been run, where not all need to; 0 where all do.
        label, digits: what stands before each gap in the text, and decimals of the gap.
        seen: template of the text of one comparison, where label and gap are not enough.
        budgets: why the compared runs are not trained for equally many steps, where they are not.
        tuning: why their learning rates differ, or were chosen from unequally many, where that is so.
        unfit: why it decides nothing, where that is known beforehand.
        rival: the side that something is compared with, "a" or "b", which has to beat what does nothing.
    """

    comparisons: tuple[Compared, ...]
    any: bool = False
    fewest: int = 0
    label: str = ""
    digits: int = 1
    seen: str = ""
    budgets: str = ""
    tuning: str = ""
    unfit: str = ""
    rival: Literal["a", "b"] = "b"

    def leaves(self) -> Iterator[Leaf]:
        """The single figures that its comparisons read."""
        return (leaf for one in self.comparisons for leaf in one.leaves())


@dataclass(frozen=True)
class Order:
    """A claim that our rows lie in the order of a source's table.

    Args:
        table: such as "poster/big".
        margin: how far apart the source must have two rows for the pair to count: in the column's unit, or as a share
            of the smaller where the smallest is the best.
        measure: by which ours are compared.
        contests: the column that tells apart rows that do not compete; empty where each column is one contest.
        budgets, tuning: as in `Block`.
    """

    table: str
    margin: float
    measure: str
    contests: str = ""
    budgets: str = ""
    tuning: str = ""


@dataclass(frozen=True)
class Entry:
    """One claim in the ledger.

    Args:
        name: such as "poster/width".
        says: the claim, in the words that `mark` says.
        where: source and place.
        mark: whose words they are.
        rule: when we say that it holds, in words.
        recipes: whose records decide it; none where the source's own figures do, or nothing that we have.
        scale: at which it is judged.
        place: file and line.
        blocks: the comparisons, which must all hold.
        order: of a claim on the order of a table's rows, what decides it.
        special: of a claim with a judge of its own, the name in `reservoir_lab.evidence.claims.special`.
        arguments: for that.
        why: of a claim that nothing here can decide, the reason.
    """

    name: str
    says: str
    where: str
    mark: Mark
    rule: str
    recipes: tuple[str, ...] = ()
    scale: str = "laptop"
    place: str = ""
    blocks: tuple[Block, ...] = ()
    order: Order | None = None
    special: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Ledger:
    """All claims.

    Args:
        entries: by name.
        descriptions: sentences of the sources that claim nothing a run could decide: what we do about them instead.
        measures: by name.
        margins: file -> name -> the number.
    """

    entries: dict[str, Entry]
    descriptions: dict[str, str]
    measures: dict[str, Measure]
    margins: dict[str, dict[str, float]]


OF_A_BLOCK = frozenset("a b gap is margin around low high measure each any fewest rival".split())
"""The fields of a comparison that decide; the others tell of it or give reasons."""
