"""Appendix A: the ledger of claims as a list that unfolds, and the sources' tables next to ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import get_args

import pandas as pd

from reservoir_lab.evidence import claims, sources
from reservoir_lab.evidence.claims import Outcome, Verdict
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.evidence.judge import expected_false
from reservoir_lab.runs.registry import Scale

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
SECTIONS: dict[str, tuple[str, ...]] = {
    "reservoirs": ("reservoir-transformers", "bair"),
    "poster": ("poster",),
    "one-layer": ("one-layer",),
    "frozen-attention": ("blog", "frozen-pretrained", "lu", "cross-modal", "rothermel", "fnet"),
}
"""Section of the ledger -> prefixes of the names of its claims. All others are the book's own."""
OURS = "ours"
MOST = 6  # recipes that are named; the others are counted


def section(name: str) -> str:
    """The section of the ledger that a claim belongs to."""
    prefix = name.partition("/")[0]
    return next((title for title, prefixes in SECTIONS.items() if prefix in prefixes), OURS)


def anchor(name: str) -> str:
    """The id of a claim on the page."""
    return "claim-" + name.replace("/", "-")


@dataclass(frozen=True)
class Ledger:
    """Claims with their verdicts: one line each, which unfolds to the rule, the records and what was measured.

    Args:
        verdicts: of the claims, in the order in which they are shown.
    """

    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, title: str) -> Ledger:
        """A section of the ledger: decided claims first, each verdict's in the order in which they were entered."""
        found = [claims.verdict(name) for name in claims.entries() if section(name) == title]
        return cls(tuple(sorted(found, key=lambda one: OUTCOMES.index(one.outcome))))

    def counts(self) -> pd.Series:
        """The number of claims with each verdict."""
        found = Counter(one.outcome for one in self.verdicts)
        return pd.Series({outcome: found[outcome] for outcome in OUTCOMES})

    def __str__(self) -> str:
        return "\n".join(f"[{one.shown}] {one.entry.name}: {one.seen}" for one in self.verdicts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f'<div class="ledger">{"".join(map(_item, self.verdicts))}</div>'


def _item(one: Verdict) -> str:
    entry = one.entry
    late = (
        " Some of its records, or of those that were made again, are older than this rule."
        if claims.late(entry)
        else ""
    )
    parts = {
        "Rule": escape(entry.rule[0].upper() + entry.rule[1:] + ".") + late,
        "Seen": escape(one.seen),
        "Because": escape(one.why),
        "Source": escape(entry.where),
        "Judged by": _judges(entry.recipes, one.outcome),
    }
    lines = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in parts.items() if text)
    word = f'<span class="verdict verdict-{one.outcome.split()[0]}">{escape(one.shown)}</span>'
    return (
        f'<details id="{anchor(entry.name)}"><summary>{word} {escape(entry.says)} <code>{escape(entry.name)}</code>'
        f"</summary><dl>{lines}</dl></details>"
    )


def _judges(names: Iterable[str], outcome: Outcome) -> str:
    names = list(dict.fromkeys(names))
    if not names:
        here = outcome != "not tested here"
        return "the source's own figures, or its models' sizes" if here else "nothing here"
    shown = ", ".join(f"<code>{escape(name)}</code>" for name in names[:MOST])
    return shown + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def expected() -> str:
    """How many of the ledger's verdicts by runs may be false, in a sentence."""
    tested = [one for title in (*SECTIONS, OURS) for one in Ledger.of(title).verdicts if math.isfinite(one.p)]
    left_open = [one.p for one in tested if one.outcome in ("cannot tell", "unfit")]
    decided = [one.p for one in tested if one.decided]
    survive, share = expected_false(decided, left_open)
    return (
        f"{len(tested)} claims were tested on runs, and {len(decided)} of them decided. If all {len(decided)} verdicts"
        f" are believed, at most about {100 * share:.0f} % of them are expected to be false by their p-values;"
        f" {survive} survive where one false in twenty is accepted (Benjamini and Hochberg 1995)."
    )


def counts() -> pd.DataFrame:
    """The number of claims with each verdict, by section and in total."""
    titles = [*SECTIONS, OURS]
    found = pd.DataFrame({title: Ledger.of(title).counts() for title in titles}).T
    found.loc["all"] = found.sum()
    found.insert(0, "claims", found.sum(axis=1))
    return found


def without_rules() -> pd.DataFrame:
    """Sentences of the sources that claim no result: their words, and what the book does with them instead."""
    described = claims.descriptions()
    quoted = [sources.claim(name) for name in described]
    return pd.DataFrame(
        {"where": [one.stands for one in quoted], "instead": list(described.values())},
        index=[one.words for one in quoted],
    )


def beside(where: str, *, scale: Scale = "laptop") -> pd.DataFrame:
    """A table of a source next to ours; where several columns are measured, each cell holds both figures.

    Such a cell has the source's figure, a bar, and ours with its number of seeds.
    """
    one, table = comparisons()[where], sources.table(where)
    if len(one.measures) == 1:
        frame = one.frame(scale).set_index(table.columns[0]).rename_axis(None)
        return frame[[name for name in frame if name != "scale" or frame[name].nunique() > 2]]
    found: dict[str, dict[str, str]] = {}
    for line in one.lines(scale):
        seeds = f", {line.ours.seeds} seeds" if line.ours.seeds > 1 else ""
        column, cell = f"{line.figure.column} [{table.kind}] | ours", line.ours.shown or "–"
        found.setdefault(line.figure.row, {})[column] = f"{line.figure.printed} | {cell}{seeds}"
    return pd.DataFrame(found).T


def run_at(scale: Scale) -> pd.DataFrame:
    """For each table, how many of its entries have a recipe, and how many of those have a record at the scale."""
    lines = {}
    for where, one in comparisons().items():
        found = one.lines(scale)
        ours = [line.ours for line in found if line.name]
        lines[where] = {
            "entries": len(found),
            "with a recipe": len(ours),
            "without, for a reason": len(found) - len(ours),
            "counted, nothing to run": sum(bool(one.scale and not one.seeds) for one in ours),
            f"run at {scale}": sum(bool(one.seeds) for one in ours),
        }
    return pd.DataFrame(lines).T
