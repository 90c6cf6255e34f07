"""The ledger: what a source claims, the rule that decides it, the records that it is decided by, and the verdict."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd

from reservoir.evidence import sources
from reservoir.evidence.claims.ranges import CannotTellError, NotRunError, Word

Judge = Callable[[], tuple[Word, str]]
"""Looks at records; answers the verdict, and in words what it saw. May raise `NotRunError` or `CannotTellError`."""


@dataclass(frozen=True)
class Entry:
    """One claim in the ledger.

    Args:
        name: such as "poster/width".
        says: the claim, in the source's words where it has a place in `data/sources`, in ours if not.
        where: source and place.
        rule: when we call it confirmed, in words.
        recipes: whose records decide it; none where the source's own figures do, or nothing that we have.
        judge: applies the rule.
        late: whether some of these records were known when the rule was written.
    """

    name: str
    says: str
    where: str
    rule: str
    recipes: tuple[str, ...]
    judge: Judge
    late: bool = False

    def verdict(self) -> Verdict:
        """What the records say today."""
        try:
            return Verdict(self, *self.judge())
        except NotRunError as missing:
            return Verdict(self, "not run", str(missing))
        except CannotTellError as reason:
            return Verdict(self, "cannot be tested here", str(reason))


@dataclass(frozen=True)
class Verdict:
    """A claim as the records decide it: the word, and what was seen."""

    entry: Entry
    word: Word
    seen: str


ENTRIES: dict[str, Entry] = {}


DESCRIPTIONS: dict[str, str] = {}
"""Sentences of `data/sources` that claim nothing a run could decide: name -> what we do about them instead."""


def claim(
    name: str,
    *,
    rule: str,
    recipes: Iterable[str] = (),
    says: str | None = None,
    where: str | None = None,
    late: bool = False,
) -> Callable[[Judge], Judge]:
    """Enter the decorated judge into the ledger.

    Args:
        name: unique; where `says` is None also the name of a claim in `data/sources`, whose words are taken.
        rule: when we call it confirmed, in words.
        recipes: whose records decide it.
        says: the claim in our words, where the source has it as a table's ordering and not as a sentence.
        where: source and place of it, such as "poster, table 1".
        late: whether some of these records were known when the rule was written.
    """
    if name in ENTRIES or name in DESCRIPTIONS:
        raise ValueError(f"the claim {name!r} is in the ledger already")
    if (says is None) != (where is None):
        raise ValueError(f"says and where go together, got says={says!r} and where={where!r} for {name!r}")

    def enter(judge: Judge) -> Judge:
        words, place = says, where
        if words is None:
            quoted = sources.claim(name)
            words = f"“{quoted.text}”" if quoted.kind == "doc" else quoted.text
            place = f"{quoted.source}, {quoted.place} [{quoted.kind}]"
        ENTRIES[name] = Entry(name, words, place, rule, tuple(recipes), judge, late)
        return judge

    return enter


def untested(name: str, *, needs: str, why: str, says: str | None = None, where: str | None = None) -> None:
    """Enter a claim that nothing here can decide.

    Args:
        name, says, where: as for `claim`.
        needs: what would have to be run to decide it.
        why: the reason why it is not run here.
    """

    def judge() -> tuple[Word, str]:
        raise CannotTellError(why)

    claim(name, rule=f"it would take {needs}", says=says, where=where)(judge)


def description(name: str, *, instead: str) -> None:
    """Enter a sentence of `data/sources` that says how something was done, asks, or defines: no claim on results.

    Args:
        name: of a claim in `data/sources`.
        instead: what the book does about it.
    """
    sources.claim(name)  # it must exist
    if name in ENTRIES or name in DESCRIPTIONS:
        raise ValueError(f"the claim {name!r} is in the ledger already")
    DESCRIPTIONS[name] = instead


def verdict(name: str) -> Verdict:
    """The verdict on one claim.

    Raises:
        ValueError: it is not in the ledger; the nearest is named.
    """
    if name not in ENTRIES:
        near = difflib.get_close_matches(name, ENTRIES, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(ENTRIES))}"
        raise ValueError(f"there is no claim {name!r}; {hint}")
    return ENTRIES[name].verdict()


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
