"""Rows of the bench and claims about them as tables: what twenty judged runs reach, and what that says on each task."""

from __future__ import annotations

import statistics
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from reservoir.training import TrainingError
from reservoir.weights.accounting import rounded_bytes
from reservoir_book import controls, plots
from reservoir_book.pictures import Picture, shares
from reservoir_lab import recipes
from reservoir_lab.evidence import asked, ruling, sources
from reservoir_lab.evidence.cells import HELD_OUT, LEARNED, Cell, Claim, cells, judged, rule_of
from reservoir_lab.recipes import bench
from reservoir_lab.runs.building import outline, task_of
from reservoir_lab.runs.together import build_all, training_of, whole

SECTIONS: dict[str, tuple[str, ...]] = {
    "ours": ("ours", "held-out"),
    "reservoirs": ("reservoir-transformers", "bair"),
    "poster": ("poster",),
    "frozen-attention": ("blog", "fnet", "frozen-pretrained", "cross-modal"),
    "one-layer": ("one-layer",),
}
"""Section of appendix A1 -> the sources whose claims it has, keys of `asked.SOURCES`."""
COLUMNS = (*bench.MAIN_TASKS, HELD_OUT)
ELSEWHERE = "elsewhere"
"""The column of claims about other sizes of a task, or about several tasks at once."""
SAYS = ("holds", "does not hold", "undecided", "not run")


def split(row: str) -> tuple[str, str]:
    """A row and the measure of its test: "rounded-24 at 8 bits" is scored after rounding, as the judge has it."""
    name, _, bits = row.partition(" at ")
    return name, f"accuracy at {bits}" if bits else ""


def about(task: str, row: str) -> str:
    """What a row is, in words."""
    name, rounded = split(row)
    said = bench.about(task, name)
    return (
        f"{said.partition(', then rounded')[0]}, rounded to {row.partition(' at ')[2]}" if rounded else said
    )


def scores(task: str, row: str, of: str = "score") -> list[float]:
    """What each judged run of a row reaches, in percent of the answers, or another measure of its test.

    Raises:
        ValueError: nobody has run the row on that task.
    """
    name, rounded = split(row)
    found = [run.measure(rounded or of) for run in judged(f"{task}/{name}")]
    if not found:
        raise ValueError(f"task and row must name runs that were judged, got {task!r} and {row!r}")
    return found


def mean(task: str, row: str) -> float:
    """The mean score of a row."""
    return statistics.fmean(scores(task, row))


def spread(task: str, row: str) -> float:
    """The standard deviation of a row's scores between its seeds."""
    return statistics.stdev(scores(task, row))


def learn(task: str, row: str) -> int:
    """How many runs of a row learn the task: reach the level where shares are judged, and elsewhere do not fail."""
    level = rule_of(task).fails or LEARNED
    return sum(score >= level for score in scores(task, row))


def told(task: str, row: str) -> str:
    """A row in a few words: the runs that learn where that is judged, elsewhere mean ± standard deviation; or both."""
    runs, good = len(scores(task, row)), learn(task, row)
    shares = f"{good} of {runs} learn"
    if rule_of(task).fails is None:
        return shares
    found = f"{mean(task, row):.1f} ± {spread(task, row):.1f}"
    return f"{found}, {shares}" if 0 < good < runs else found


def table(rows: Iterable[str] = (), tasks: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """Rows by tasks, each cell as `told` says it; empty where the row makes no sense or has not been run.

    Args:
        rows: their names; all that have been run on one of the tasks if empty.
        tasks: the columns.
    """
    known = bench.table()
    names = list(rows) or list(dict.fromkeys(row for task, row in known if task in tasks))
    lines = {name: [told(task, name) if judged(f"{task}/{name}") else "" for task in tasks] for name in names}
    frame = pd.DataFrame.from_dict(lines, orient="index", columns=list(tasks))
    frame.insert(0, "what it is", [bench.ROWS[name].about for name in names])
    return frame[frame[list(tasks)].astype(bool).any(axis=1)]


def train(task: str, names: Iterable[str], *, seeds: Sequence[int] = range(3)) -> dict[str, list[float]]:
    """Train rows of the bench here, the seeds of each together, and test them; nothing is recorded.

    Args:
        task: of the bench, such as "circle".
        names: its rows; "rounded-16 at 8 bits" is tested after rounding.
        seeds: for looking (0 to 9), so that the judged ones stay what they are.

    Returns:
        Row -> what each seed reaches, in percent of the answers.
    """
    found = {}
    for row in names:
        name, rounded = split(row)
        runs = [recipes.get(f"bench/{task}/{name}", seed=seed) for seed in seeds]
        models, tasks, corpora = build_all(runs)
        histories = whole(training_of(runs, models, tasks))
        found[row] = [
            0.0
            if isinstance(history, TrainingError)
            else task_of(run).test(model, one, corpus)["test"][rounded or one.metric]
            for run, model, one, corpus, history in zip(runs, models, tasks, corpora, histories, strict=True)
        ]
    return found


def beside(task: str, here: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """What `train` found next to the twenty judged runs of each row."""
    lines = [
        {
            "trained parameters": f"{judged(f'{task}/{split(name)[0]}')[0].trained:,.0f}",
            "here, % right": ", ".join(f"{score:.0f}" for score in scores_here),
            "twenty recorded runs": told(task, name),
        }
        for name, scores_here in here.items()
    ]
    return pd.DataFrame(lines, index=[about(task, name) for name in here])


def points(task: str, names: Iterable[str], here: Mapping[str, Sequence[float]] | None = None) -> go.Figure:
    """The judged runs of rows as points, a row of the bench a line, and what `train` found as diamonds.

    A row has the colour of the most unusual origin of its weights.

    Args:
        task: of the bench.
        names: its rows, the first on top.
        here: what `train` returned.
    """

    def label(name: str) -> str:  # in lines that leave a phone room for the points
        return "<br>".join(textwrap.wrap(about(task, name), 24, break_on_hyphens=False))

    names = list(names)
    lines = max(label(name).count("<br>") + 1 for name in names)
    drawn = plots.figure(x="answers right (%)", y="", height=90 + max(42, 4 + 17 * lines) * len(names))
    for kind, found, look in (
        (
            "recorded",
            {name: scores(task, name) for name in names},
            {"symbol": "circle", "opacity": 0.45, "size": 8},
        ),
        ("here", dict(here or {}), {"symbol": "diamond-open", "size": 12, "line_width": 2}),
    ):
        x = [score for values in found.values() for score in values]
        y = [label(name) for name, values in found.items() for _ in values]
        origins = {name: controls.origin(recipes.get(f"bench/{task}/{split(name)[0]}")) for name in found}
        colours = [plots.colour(origins[name]) for name, values in found.items() for _ in values]
        if x:
            drawn.add_scatter(x=x, y=y, mode="markers", marker={**look, "color": colours}, name=kind)
    order = [label(name) for name in reversed(names)]
    return drawn.update_yaxes(categoryorder="array", categoryarray=order, automargin=True)


COSTS = ("stored bytes", "trained parameters", "operations")
"""What a model costs, the columns of `costs`."""


def costs(task: str) -> pd.DataFrame:
    """What each row of a task reaches and costs, a line a row; of a rounded model, a line for each number of bits.

    Args:
        task: of the bench, such as "facts".

    Returns:
        "right", the mean score in percent, or the percentage of runs that learn where those are judged; the "scores"
        of all runs; the `COSTS`, operations with those of a run whose weights it begins with; and the "origin" of what
        is not trained, a key of `plots.ORIGINS`.
    """
    lines = {}
    for name in (row for where, row in bench.table() if where == task and judged(f"{task}/{row}")):
        runs, rounds = judged(f"{task}/{name}"), (8, 4) if name.startswith("rounded") else ()
        run = recipes.get(f"bench/{task}/{name}")
        line: dict[str, Any] = {
            "origin": controls.origin(run),
            "trained parameters": runs[0].trained,
            "stored bytes": runs[0].stored_bytes,
        }
        before = judged(run.start.recipe.removeprefix("bench/")) if run.start else []
        line["operations"] = sum(
            statistics.fmean(one.operations for one in rows) for rows in (runs, before) if rows
        )
        if not rounds:
            lines[name] = line | _reached(task, scores(task, name))
        for bits in rounds:
            matrices = [p for p in outline(run).parameters() if p.ndim == 2]
            saved = sum(4 * p.numel() - rounded_bytes(p.shape[0], p.shape[1], bits) for p in matrices)
            called = f"{name} at {bits} bits"
            reached = _reached(task, scores(task, called)) | {"stored bytes": line["stored bytes"] - saved}
            lines[called] = line | reached
    return pd.DataFrame.from_dict(lines, orient="index")


def _reached(task: str, values: list[float]) -> dict[str, object]:
    shares = rule_of(task).fails is None
    right = statistics.fmean(100.0 * (value >= LEARNED) if shares else value for value in values)
    return {"right": right, "scores": values}


LEFT = {
    "trained": "all trained",
    "seeded": "a part random",
    "masked": "masks",
    "pretrained": "a part taken over",
    "fixed": "a part fixed",
}
"""Origin of what a row leaves untrained -> its name in the legend of `fronts`."""


def fronts(tasks: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]) -> go.Figure:
    """All rows of some tasks, a panel a task: what they reach against a cost, with buttons that choose the cost.

    The line is the best mean that each cost buys.

    Args:
        tasks: task -> the title of its panel; four of them.
        labels: task -> row -> its name in the picture.
    """
    drawn = make_subplots(2, 2, subplot_titles=list(tasks.values()), vertical_spacing=0.17)
    x: dict[str, list[list[float]]] = {cost: [] for cost in COSTS}
    y: dict[str, list[list[float]]] = {cost: [] for cost in COSTS}
    for number, task in enumerate(tasks):
        frame, place = costs(task), {"row": 1 + number // 2, "col": 1 + number % 2}
        # Names stand to the left of their points, where most of the panels are empty, with a gap for the point itself.
        called = [f"{labels.get(task, {}).get(name, '')}\u2003" for name in frame.index]
        for origin in plots.ORIGINS:
            group = frame[frame["origin"] == origin]
            look = {"color": plots.colour(origin, 0.75), "size": 7}
            drawn.add_scatter(
                mode="markers", marker=look, name=LEFT[origin], legendgroup=origin, showlegend=not number, **place,
                text=[about(task, name) for name in group.index],
                hovertemplate="%{text}<br>%{x:.3s}, %{y:.0f} %<extra></extra>",
            )  # fmt: skip
            for cost in COSTS:
                x[cost].append(list(group[cost]))
                y[cost].append(list(group["right"]))
        grey = {"color": plots.colour("fixed"), "shape": "hv", "width": 1}
        drawn.add_scatter(
            mode="lines",
            line=grey,
            name="best for its cost",
            showlegend=not number,
            hoverinfo="skip",
            **place,
        )
        drawn.add_scatter(mode="text", text=called, textposition="middle left", showlegend=False, **place)
        for cost in COSTS:
            ordered = frame.sort_values([cost, "right"], ascending=[True, False])
            x[cost] += [[*ordered[cost], ordered[cost].max()], list(frame[cost])]
            y[cost] += [[*ordered["right"].cummax(), frame["right"].max()], list(frame["right"])]
    for trace, here, there in zip(drawn.data, x[COSTS[0]], y[COSTS[0]], strict=True):
        trace.update(x=here, y=there)
    buttons = [{"label": cost, "method": "restyle", "args": [{"x": x[cost], "y": y[cost]}]} for cost in COSTS]
    menu = {"type": "buttons", "direction": "right", "buttons": buttons, "x": 0, "y": 1.2, "xanchor": "left"}
    drawn.update_layout(
        template="none", height=640, updatemenus=[menu], margin={"l": 48, "r": 8, "t": 120, "b": 40}
    )
    drawn.update_layout(legend={"orientation": "h", "y": -0.08}, font={"size": 11})
    drawn.update_xaxes(type="log", dtick=1, automargin=True).update_yaxes(range=[-8, 106], automargin=True)
    return drawn.update_yaxes(title="right (%)", col=1)


@cache
def judged_cells(source: str) -> tuple[Cell, ...]:
    """All cells of the claims of one source, which share the level of the tests; it takes seconds."""
    return tuple(cells(asked.SOURCES[source]))


def says(cell: Cell) -> str:
    """One of `SAYS`."""
    return "not run" if cell.outcome == "undecided" and not cell.finding.runs else cell.outcome


def need(cell: Cell) -> str:
    """What an undecided cell would need to be decided."""
    seen = cell.finding.seen
    if cell.finding.p < ruling.LEVEL:
        return "fewer claims that share the level, or more seeds: alone it would be decided"
    if "means describe none" in seen:
        return "rows whose runs all learn or all fail"
    if "ceiling" in seen:
        return "a harder task: both rows are at the ceiling"
    if any(word in seen for word in ("does not learn", "0% and 0%", "not reached against not reached")):
        return "an easier task, or a larger model: rows that are compared do not learn it"
    return "more seeds, or a claim of a larger difference"


def words(claim: Claim) -> str:
    """A claim in its source's words where we quote them, elsewhere in ours."""
    return claim.says or sources.claim(claim.name).words


def place(claim: Claim) -> str:
    """Where the words stand; empty for predictions of our own."""
    return claim.where if claim.says else sources.claim(claim.name).stands


@dataclass(frozen=True)
class Claims:
    """The claims of some sources that the bench can be asked, by tasks: what the judged runs say to each.

    Args:
        found: their cells.
    """

    found: tuple[Cell, ...]

    @classmethod
    def of(cls, *names: str) -> Claims:
        """The claims of some sources, keys of `asked.SOURCES`."""
        return cls(tuple(cell for name in names for cell in judged_cells(name)))

    @classmethod
    def all(cls) -> Claims:
        """The claims of all sources, and our own."""
        return cls.of(*asked.SOURCES)

    def saying(self, word: str) -> list[Cell]:
        """The cells that say so, one of `SAYS`."""
        return [cell for cell in self.found if says(cell) == word]

    def by_claim(self) -> dict[Claim, list[Cell]]:
        """Claim -> its cells."""
        lines: dict[Claim, list[Cell]] = {}
        for cell in self.found:
            lines.setdefault(cell.claim, []).append(cell)
        return lines

    def counts(self) -> dict[str, int]:
        """How many cells say what, and how many claims there are."""
        found = Counter(map(says, self.found))
        return {"claims": len(self.by_claim())} | {word: found[word] for word in SAYS}

    def __str__(self) -> str:
        return "\n".join(
            f"[{says(cell)}] {cell.claim.name} on {cell.task}: {cell.finding.seen}" for cell in self.found
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tasks = [task for task in COLUMNS if any(cell.task == task for cell in self.found)]
        if any(cell.task not in COLUMNS for cell in self.found):
            tasks.append(ELSEWHERE)
        head = "".join(f"<th>{name}</th>" for name in ("claim", *tasks))
        lines = "".join(_line(claim, its, tasks) for claim, its in self.by_claim().items())
        return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _line(claim: Claim, its: list[Cell], tasks: list[str]) -> str:
    seen = "".join(f"<dt>{cell.task}</dt><dd>{escape(cell.finding.seen)}</dd>" for cell in its)
    notes = {"read as": claim.why, "stands in": place(claim)}
    seen += "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in notes.items() if text)
    folded = f"<details><summary>{escape(words(claim))}</summary><dl>{seen}</dl></details>"
    columns = "".join(
        f"<td>{_outcomes(cell for cell in its if (cell.task if cell.task in COLUMNS else ELSEWHERE) == task)}</td>"
        for task in tasks
    )
    return f'<tr id="claim-{claim.name.replace("/", "-")}"><td>{folded}</td>{columns}</tr>'


def _outcomes(its: Iterable[Cell]) -> str:
    return "<br>".join(
        f'<span class="verdict verdict-{says(cell).split()[0]}" title="{escape(cell.finding.seen)}">{says(cell)}</span>'
        + ("" if cell.task in COLUMNS else f" {cell.task}")
        for cell in its
    )


def counts() -> pd.DataFrame:
    """Of each section of appendix A1: how many claims are asked, what their cells say, and how many cannot be asked."""
    lines = {}
    for title, names in SECTIONS.items():
        needs = sum(bool(one.needs) for name in names for one in asked.SOURCES[name])
        lines[title] = Claims.of(*names).counts() | {"claims not asked": needs}
    frame = pd.DataFrame(lines).T
    frame.loc["all"] = frame.sum()
    return frame


def not_asked(*names: str) -> pd.DataFrame:
    """The claims of some sources that the bench cannot be asked, and what each would take."""
    left = [one for name in names or asked.SOURCES for one in asked.SOURCES[name] if one.needs]
    return pd.DataFrame(
        {"where": list(map(place, left)), "what it would take": [one.needs for one in left]},
        index=list(map(words, left)),
    )


def without_rules() -> pd.DataFrame:
    """Sentences of the sources that claim no result: their words, and what the book does with them instead."""
    quoted = [sources.claim(name) for name in asked.DESCRIBED]
    return pd.DataFrame(
        {"where": [one.stands for one in quoted], "instead": list(asked.DESCRIBED.values())},
        index=[one.words for one in quoted],
    )


PICTURED = {
    "circle": "look ahead",
    "brackets": "nested brackets",
    "facts": "remember",
    "grammar": "translate",
}
"""The tasks of `picture`, and what each asks for."""
LINES = {
    "trained": "everything trained",
    "frozen-attention": "attention random",
    "frozen-feed-forward": "feed-forward random",
    "frozen-embeddings": "embeddings random",
    "half": "half of the layers",
    "reservoir-transformer": "half of the layers random",
    "mask": "random layers under a mask",
}
"""The rows of `picture`."""


def picture() -> Picture:
    """Parts by tasks as a picture: the mean of each row's judged runs in percent, darker where more is right."""
    shown = {said: [mean(task, row) for task in PICTURED] for row, said in LINES.items()}
    return Picture(shares(PICTURED, shown), "Percent right, tasks by what is learned")
