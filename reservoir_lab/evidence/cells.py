"""How the bench is judged: what each task measures, what a claim may ask of its rows, and what the runs say to it.

A `Claim` is a sentence with what it asks of the bench; on one task it is a *cell* of the table claims × tasks.
`reservoir_lab.evidence.asked` has all of them, `reservoir_lab.evidence.ruling` the tests. Here is what joins them:

- **Circle** is judged by the share of runs that reach `LEARNED` % of "6 on", since a run learns it or does not, and
  **Recall** likewise: "keeps" is then a question of most runs, and "as good as" one of cost, at most `SLOWER` times the
  operations to the level.
- Other tasks are judged by the mean. Where of a row some runs fail (`Judged.fails`) and others do not, a mean describes
  none: then the share that does not fail is compared, which can say that a row is not as good, and never that it is.
- Where the reference is at the ceiling, "as good as" is a question of cost there too. Which of two rows at the ceiling
  is better cannot be said.
- "As good as" and "keeps a share" need a reference that has learned the task: above twice chance and above `fails`.
- All cells of one source share the level (Holm), so a claim that names no task pays for being asked on several.

`reservoir_lab.evidence.rules` gives all that a name, which records keep.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy import stats

from reservoir_lab.evidence import ruling
from reservoir_lab.evidence.ruling import Difference, Outcome
from reservoir_lab.recipes import bench
from reservoir_lab.runs.records import Record, find_records

LEARNED = 90.0
"""Percent of "6 on" at which a run has learned the circle."""
OF_THE_REFERENCE = 0.9
"""Elsewhere costs are counted to this share of what the reference reaches in the mean."""
SLOWER = 1.5
"""Times the operations to the level that are still "as good": half a step of the rates' sweep moves them by as much."""
HELD_OUT = "recall"
"""The task that was built after the predictions were written: claims are asked of it only where they name it."""
ACROSS = "across tasks"
"""The column of a claim that compares one task with another."""


@dataclass(frozen=True)
class Judged:
    """What is judged on a task, in percent of the answers.

    Args:
        measure: what is asked there, in words.
        chance: the score of who guesses.
        fails: a run that ends below has failed: a tenth of the way from a model without attention to a trained one, as
            the seeds for looking had them. None where the share of runs is judged in any case.
    """

    measure: str
    chance: float
    fails: float | None = None


JUDGED = {
    "circle": Judged(f"share of runs that reach {LEARNED:g} % of “6 on”", 100 / 13),
    "brackets": Judged("brackets named after a closing one, mean", 35.0, 52.0),
    "lines": Judged("brackets named after a closing one, mean", 35.0, 52.0),
    "facts": Judged("facts remembered, mean", 100 / 64, 15.0),
    "grammar": Judged("sentences that are right as a whole, mean", 0.0, 9.0),
    "words": Judged("sentences whose covered words are all right, mean", 0.0, 14.0),
    "recall": Judged(f"share of runs that recall {LEARNED:g} % of the values", 100 / 8),
    "memory": Judged("bits of the table that are remembered for each number that is trained, mean", 100 / 96),
}


def rule_of(task: str) -> Judged:
    """How a task is judged; one at another size, such as "circle-64", as the usual one.

    "memory-…" are tables too large for their models, of which bits are asked alone.
    """
    return JUDGED[task.partition("-")[0]]


How = Literal["better", "as good", "keeps", "cheaper", "fewer", "more area", "loses more"]


@dataclass(frozen=True)
class Ask:
    """One question about rows: is `a` …

    - "better" than `b`, by more than `margin` points;
    - "as good" as `b`, at most `margin` points below it;
    - one that "keeps" `margin` percent of `b`;
    - "cheaper": does it take less of `of` (operations or steps) to the level of `b`;
    - one that has "fewer" of `of` at its end;
    - one with "more area" under its curve over operations, up to where the shorter of the two ends;
    - one that "loses more" from the first to the second of its two rows than `b` from its first to its second.

    Args:
        how: which of these.
        a, b: rows of the task, or "<task>/<row>", two each for "loses more"; "… at 8 bits" is scored after rounding.
        margin: as above.
        of: what is measured: "score", another measure of the test such as "bits per trained number", or a cost.
    """

    how: How
    a: tuple[str, ...]
    b: tuple[str, ...]
    margin: float = 0.0
    of: str = "score"

    @property
    def rows(self) -> tuple[str, ...]:
        """All rows that it reads."""
        return self.a + self.b


@dataclass(frozen=True)
class Claim:
    """A sentence and what it asks of the bench; all of it must hold, or one of it if `any_of`.

    Args:
        name: "<source>/<claim>", as in `data/sources` where the words are quoted there.
        asks: the questions; none where the bench cannot ask it.
        any_of: whether one of them is enough.
        tasks: on which it is asked; all that have its rows if empty.
        why: the reason for margins and rows, where they do not follow from the words.
        needs: what it would take, where it is not asked.
        says, where: the words and their place, if they are a paraphrase or ours.
    """

    name: str
    asks: tuple[Ask, ...] = ()
    any_of: bool = False
    tasks: tuple[str, ...] = ()
    why: str = ""
    needs: str = ""
    says: str = ""
    where: str = ""

    def columns(self) -> tuple[str, ...]:
        """The tasks on which it is asked, or `ACROSS` if its rows name theirs.

        Raises:
            ValueError: a row is on none of the bench's tasks, or not on one that is named.
        """
        if not self.asks:
            return ()
        rows = [row.partition(" at ")[0] for ask in self.asks for row in ask.rows]
        known: dict[str, set[str]] = {}
        for task, row in bench.table():
            known.setdefault(row, set()).add(task)
        for row in rows:
            task, _, name = row.rpartition("/")
            if name not in known or (task and task not in known[name]):
                raise ValueError(f"{self.name} asks of {row!r}, which is no row of the bench")
        if any("/" in row for row in rows):
            return (ACROSS,)
        for task in self.tasks:
            for row in rows:
                if task not in known[row]:
                    raise ValueError(f"{self.name} asks of {row!r} on {task}, which has no such row")
        every = (task for task in JUDGED if task != HELD_OUT)
        return self.tasks or tuple(task for task in every if all(task in known[row] for row in rows))


def better(a: str, b: str, by: float = 0.0, of: str = "score") -> tuple[Ask, ...]:
    """`a` is above `b`, by more than so many points."""
    return (Ask("better", (a,), (b,), by, of),)


def as_good(a: str, b: str, within: float, of: str = "score") -> tuple[Ask, ...]:
    """`a` is at most so many points below `b`."""
    return (Ask("as good", (a,), (b,), within, of),)


def alike(a: str, b: str, within: float) -> tuple[Ask, ...]:
    """Neither is more than so many points below the other."""
    return as_good(a, b, within) + as_good(b, a, within)


def keeps(a: str, b: str, percent: float, of: str = "score") -> tuple[Ask, ...]:
    """`a` keeps so many percent of `b`."""
    return (Ask("keeps", (a,), (b,), percent, of),)


def cheaper(a: str, b: str, of: str = "operations") -> tuple[Ask, ...]:
    """`a` takes fewer operations, or steps, than `b` to the level of `b`."""
    return (Ask("cheaper", (a,), (b,), of=of),)


def fewer(a: str, b: str, of: str = "operations") -> tuple[Ask, ...]:
    """`a` takes fewer operations, or stored bytes, than `b` by the end."""
    return (Ask("fewer", (a,), (b,), of=of),)


def more_area(a: str, b: str) -> tuple[Ask, ...]:
    """The area under the curve of `a` over operations is above that of `b`."""
    return (Ask("more area", (a,), (b,)),)


def loses_more(a: tuple[str, str], b: tuple[str, str]) -> tuple[Ask, ...]:
    """From the first to the second row of `a` more is lost than from the first to the second of `b`."""
    return (Ask("loses more", a, b),)


def ordered(*rows: tuple[str, float], apart: float) -> tuple[Ask, ...]:
    """Every two rows whose printed scores are more than `apart` from each other lie in that order."""
    return tuple(
        Ask("better", (one,), (other,))
        for one, score in rows
        for other, lower in rows
        if score - lower > apart + 1e-9
    )


# What is read of a run.


@dataclass(frozen=True)
class Ran:
    """What the judge reads of one run.

    Args:
        scores: the measures of its test, in percent; "score" is the one that is judged.
        curve: (operations, steps, validation score) at each validation.
        operations, stored_bytes, trained: its costs.
        rules: the digest of the rules that it was made under; empty if its record does not say.
    """

    scores: dict[str, float]
    curve: tuple[tuple[float, int, float], ...] = ()
    operations: float = math.nan
    stored_bytes: float = math.nan
    trained: float = math.nan
    rules: str = ""

    def measure(self, of: str) -> float:
        """A measure by name."""
        if of == "bits per trained number":
            return self.scores["bits"] / self.trained
        if of == "bits per stored bit":
            return self.scores["bits"] / (8 * self.stored_bytes)
        return {"operations": self.operations, "stored bytes": self.stored_bytes}.get(
            of, self.scores.get(of, math.nan)
        )

    def cost(self, level: float, of: str) -> float:
        """Operations or steps to a validation score of `level`; infinite if it was not reached."""
        reached = (point for point in self.curve if point[2] >= level)
        point = next(reached, None)
        return math.inf if point is None else point[0] if of == "operations" else float(point[1])

    def area(self, until: float) -> float:
        """The mean of the validation curve over operations from 0, where it is 0, up to `until`."""
        x, y = [0.0, *(p[0] for p in self.curve)], [0.0, *(p[2] for p in self.curve)]
        at = np.union1d(x, [until])
        at = at[at <= until]
        return float(np.trapezoid(np.interp(at, x, y), at) / until)


def ran(record: Record) -> Ran:
    """What the judge reads of a record."""
    scores = {name: value for name, value in record.tests["test"].items() if isinstance(value, int | float)}
    curve = tuple((p["flops"], p["step"], p["metrics"][record.metric]) for p in record.points)
    scores["score"] = scores[record.scored_by]
    counts = record.parameters
    return Ran(scores, curve, record.flops, counts["stored_bytes"], counts["trainable"], record.rules)


Rows = Callable[[str], Sequence[Ran]]
"""The judged runs of "<task>/<row>"."""


@cache
def judged(name: str) -> tuple[Ran, ...]:
    """The runs of "<task>/<row>" with the seeds that are judged."""
    records = find_records(f"bench/{name}", scale="laptop")
    return tuple(ran(record) for record in records if record.seed in bench.JUDGED)


# What the runs say.


@dataclass(frozen=True)
class Finding:
    """What runs say to a question, or to all questions of a cell.

    Args:
        above, below: one-sided p: how surprising the runs are if the answer is no, and if it is yes.
        runs: the fewest of any row.
        seen: what was seen, in words.
        means: the two rows, where it is one question and means are compared.
        decided: False where the rows cannot decide it; `seen` says why.
    """

    above: float
    below: float
    runs: int
    seen: str
    means: tuple[Sequence[float], Sequence[float]] | None = None
    decided: bool = True

    @property
    def p(self) -> float:
        """Two-sided; 1 where nothing can be decided."""
        if not self.decided or self.runs < ruling.FEWEST:
            return 1.0
        return min(1.0, 2 * min(self.above, self.below))

    @property
    def interval(self) -> tuple[float, float] | None:
        """What the difference of the two means may be, with 99 % confidence; it takes a second."""
        return ruling.interval(*self.means) if self.means else None

    def outcome(self, p: float | None = None) -> Outcome:
        """What may be said, at its own p or at what Holm made of it."""
        if (self.p if p is None else p) >= ruling.LEVEL:
            return "undecided"
        return "holds" if self.above < self.below else "does not hold"


def undecidable(why: str, runs: int) -> Finding:
    """A question that its rows cannot decide."""
    return Finding(1.0, 1.0, runs, why, decided=False)


def answer(ask: Ask, task: str, rows: Rows = judged) -> Finding:
    """What the runs say to one question on a task; a row that nobody has run makes it undecided.

    Args:
        ask: the question.
        task: where it is asked; the first row's own task if it names one.
        rows: where the runs come from.
    """
    task = next((row.partition("/")[0] for row in ask.rows if "/" in row), task)
    names = [row if "/" in row else f"{task}/{row}" for row in ask.rows]
    found = [list(rows(name.partition(" at ")[0])) for name in names]
    runs = min(map(len, found))
    if not runs:
        return undecidable(
            "not run: " + ", ".join(sorted(n for n, f in zip(names, found, strict=True) if not f)), 0
        )
    rule = rule_of(task)
    ofs = [
        f"accuracy at {bits}" if bits else ask.of for _, _, bits in (row.partition(" at ") for row in names)
    ]
    if ask.how in ("cheaper", "fewer", "more area"):
        return _of_costs(ask, task, found, runs)
    values = [[one.measure(of) for one in row] for row, of in zip(found, ofs, strict=True)]
    if ask.how == "loses more":
        return _loses_more(ask, rule, values, runs)
    if ask.of != "score":
        return _of_means(ask, values[0], values[1], runs)
    a, b = values
    circle = rule.fails is None
    learned = [[float(value >= (rule.fails or LEARNED)) for value in row] for row in (a, b)]
    shares = circle or any(len(set(row)) > 1 for row in learned)
    reference = statistics.fmean(b)
    if ask.how in ("as good", "keeps"):
        if reference <= max(2 * rule.chance, rule.fails or 0.0):
            return undecidable(f"the reference does not learn the task ({reference:.1f} %)", runs)
        if circle and ask.how == "keeps":
            return _most_keep(a, statistics.median(b) * ask.margin / 100, runs)
        if ask.how == "as good" and (circle or reference > ruling.CEILING):
            return _no_slower(found, rule, runs)
    elif all(map(all, learned)) if circle else min(statistics.fmean(a), reference) > ruling.CEILING:
        return undecidable("both are at the ceiling", runs)
    if not shares:
        return _of_means(ask, a, b, runs)
    told = ruling.compare(*learned, measure="share")
    seen = f"{told.a:.0%} and {told.b:.0%} of the runs learn it"
    # That one row fails more often than another says that it is not as good; nothing says that it is.
    return Finding(told.above if ask.how == "better" else 1.0, told.below, runs, seen)


def _finding(told: Difference, runs: int, seen: str) -> Finding:
    return Finding(told.above, told.below, runs, seen)


def _of_means(ask: Ask, a: list[float], b: list[float], runs: int) -> Finding:
    """Of two means: is `a` above `b` by the margin, above it less the margin, or above a share of it?"""
    share = ask.margin / 100 if ask.how == "keeps" else 1.0
    than = {"better": ask.margin, "as good": -ask.margin, "keeps": 0.0}[ask.how]
    told = ruling.compare(a, [share * value for value in b], than=than)
    seen = f"{statistics.fmean(a):.3g} against {statistics.fmean(b):.3g}"
    return Finding(told.above, told.below, runs, seen, (a, b))


def _level(rule: Judged, reference: Sequence[Ran]) -> float:
    """The score to which costs are counted."""
    if rule.fails is None:
        return LEARNED
    return OF_THE_REFERENCE * statistics.fmean(one.measure("score") for one in reference)


def _no_slower(found: list[list[Ran]], rule: Judged, runs: int) -> Finding:
    """Whether `a` takes at most `SLOWER` times the operations of `b` to the level, by ranks."""
    level = _level(rule, found[1])
    a, b = ([one.cost(level, "operations") for one in row] for row in found)
    told = ruling.cheaper([SLOWER * cost for cost in b], a)
    return _finding(told, runs, f"operations to {level:.0f} %: {_median(a)} against {_median(b)}")


def _median(costs: list[float]) -> str:
    value = statistics.median_low(costs)
    return f"{value:.3g}" if math.isfinite(value) else "not reached"


def _most_keep(a: list[float], level: float, runs: int) -> Finding:
    """Whether more runs of `a` keep the share than do not: the sign test, for rows whose mean describes no run."""
    kept = sum(value >= level for value in a)
    above, below = (
        float(stats.binomtest(kept, len(a), alternative=side).pvalue) for side in ("greater", "less")
    )
    return Finding(above, below, runs, f"{kept} of {len(a)} runs keep it")


def _loses_more(ask: Ask, rule: Judged, values: list[list[float]], runs: int) -> Finding:
    """A difference of differences, of sums of runs: whether `a[0] + b[1]` is above `a[1] + b[0]`."""
    if any(len({value >= (rule.fails or LEARNED) for value in row}) > 1 for row in values):
        return undecidable("some runs of a row fail and others do not, so means describe none", runs)
    first, second, third, fourth = (np.asarray(row[:runs]) for row in values)
    more, less = list(first + fourth), list(second + third)
    lost = float((first - second).mean()), float((third - fourth).mean())
    return _finding(ruling.compare(more, less), runs, f"{lost[0]:.3g} lost against {lost[1]:.3g}")


def _of_costs(ask: Ask, task: str, found: list[list[Ran]], runs: int) -> Finding:
    """Costs to a level by ranks, totals and areas by means."""
    one, other = found
    if ask.how == "cheaper":
        level = _level(rule_of(task), other)
        a, b = ([run.cost(level, ask.of) for run in row] for row in found)
        return _finding(
            ruling.cheaper(b, a), runs, f"{ask.of} to {level:.0f} %: {_median(a)} against {_median(b)}"
        )
    if ask.how == "more area":
        until = min(run.operations for row in found for run in row)
        told = ruling.compare([run.area(until) for run in one], [run.area(until) for run in other])
        return _finding(told, runs, f"area {told.a:.1f} against {told.b:.1f}")
    told = ruling.compare([run.measure(ask.of) for run in other], [run.measure(ask.of) for run in one])
    return _finding(told, runs, f"{told.b:.4g} {ask.of} against {told.a:.4g}")


@dataclass(frozen=True)
class Cell:
    """A claim on a task: what the runs say, and the outcome with all that the source asks."""

    claim: Claim
    task: str
    finding: Finding
    outcome: Outcome


def finding(claim: Claim, task: str, rows: Rows = judged) -> Finding:
    """What the runs say to all that a claim asks on a task.

    That all questions have the answer yes is as surprising as the least surprising of them; that one has, as k times
    the most surprising of k (Bonferroni). For "one is enough" it is the other way round.
    """
    found = [answer(ask, task, rows) for ask in claim.asks]
    k, pick = len(found), [one for one in found if one.decided]
    seen = "; ".join(one.seen for one in found)
    runs = min(one.runs for one in found)
    if (not claim.any_of and len(pick) < k) or not pick:
        return undecidable(seen, runs)
    above, below = [one.above for one in pick], [one.below for one in pick]
    if claim.any_of:
        # A question that cannot be decided might have been answered with yes.
        return Finding(min(1.0, k * min(above)), max(below) if len(pick) == k else 1.0, runs, seen)
    return Finding(max(above), min(1.0, k * min(below)), runs, seen, found[0].means if k == 1 else None)


def cells(claims: Sequence[Claim], rows: Rows = judged) -> list[Cell]:
    """All cells of the claims of one source, which share the level."""
    found = [(claim, task, finding(claim, task, rows)) for claim in claims for task in claim.columns()]
    shared = ruling.holm([one.p for *_, one in found])
    return [
        Cell(claim, task, one, one.outcome(p)) for (claim, task, one), p in zip(found, shared, strict=True)
    ]


class NotFoundError(AssertionError):
    """A sentence is not what the runs say; the message has both."""


def found(
    asked: tuple[Ask, ...],
    task: str = "",
    *,
    outcome: Outcome = "holds",
    rows: Rows = judged,
) -> Finding:
    """Ask the judge of the bench what a sentence says, where its figure is drawn, and fail the page if it is not so.

    Args:
        asked: what is asked, such as `better("trained", "frozen-attention")`.
        task: on which task.
        outcome: what the sentence says.
        rows: where the runs come from; the judged ones.

    Raises:
        NotFoundError: the runs say something else.
    """
    what = Claim("this page", asked, tasks=(task,) if task else ())
    for column in what.columns():
        said = finding(what, column, rows)
        if said.outcome() != outcome:
            raise NotFoundError(
                f"on {column} the runs say {said.outcome()!r} ({said.seen}), the page {outcome!r}"
            )
    return said
