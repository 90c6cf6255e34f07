"""The bench's tasks and rows as the page trains them: what tasks.mjs draws and settings.mjs builds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

from reservoir.datasets.bench import Circle, Facts, Grammar
from reservoir.models import TaggerConfig
from reservoir.training import Optimiser
from reservoir.weights import owned
from reservoir.weights.masks import Supermask
from reservoir_book.explorables.recorded import curves
from reservoir_lab import recipes
from reservoir_lab.launch import looking
from reservoir_lab.recipes.bench import JUDGED, TASKS
from reservoir_lab.runs import Run, find_records, outline
from reservoir_lab.runs.computation import OnPuzzle

KINDS = ("transformer", "attention", "ffn")
OPTIMISER = Optimiser(weight_decay=0.0, schedule="trapezoid")
"""What the page trains by, but for the rate and the warm-up."""

SAID = {
    "circle": "who is 6 on?",
    "brackets": "what is open?",
    "facts": "remember 4,096",
    "grammar": "translate",
}
"""Task -> what is asked, in a few words."""


class Part(NamedTuple):
    """A line of the table: what it is about, what becomes of that, the row of the bench, and the origin it shows."""

    of: str
    how: str
    row: str
    origin: str


PARTS = tuple(
    Part(*said)
    for said in (
        ("everything", "trained", "trained", "trained"),
        ("attention", "removed", "no-attention", "fixed"),
        ("attention", "frozen", "frozen-attention", "seeded"),
        ("attention", "masked", "mask-attention", "masked"),
        ("feed-forward", "removed", "no-feed-forward", "fixed"),
        ("feed-forward", "frozen", "frozen-feed-forward", "seeded"),
        ("feed-forward", "masked", "mask-feed-forward", "masked"),
        ("embeddings", "frozen", "frozen-embeddings", "seeded"),
        ("embeddings", "masked", "mask-embeddings", "masked"),
        ("all layers", "frozen", "frozen-attention-feed-forward", "seeded"),
        ("all layers", "masked", "mask", "masked"),
        ("layers", "half as many", "half", "trained"),
        ("layers", "half left random", "reservoir-transformer", "seeded"),
    )
)
"""The table's lines."""


def tasks(names: Iterable[str] = tuple(SAID)) -> list[dict[str, Any]]:
    """Tasks as `tasks.mjs` draws them and as their fully trained models begin."""
    found = []
    for name in names:
        run = recipes.get(f"bench/{name}/trained")
        spec = run.task
        assert isinstance(spec, OnPuzzle)
        puzzle = spec.puzzle
        sizes = asdict(puzzle) | {"length": puzzle.length}
        if isinstance(puzzle, Circle):
            sizes["chance"] = 100 * puzzle.chance
        if isinstance(puzzle, Facts):
            sizes["chance"] = 100 / puzzle.values
        if isinstance(puzzle, Grammar):
            sizes["words"] = dict(zip(("german", "english"), puzzle.words, strict=True))
        more = {
            "name": name,
            "said": SAID.get(name, TASKS[name].about),
            "puzzle": type(puzzle).__name__,
            "vocabulary": puzzle.vocabulary,
            "answers": puzzle.answers,
            "questions": puzzle.questions,
            "places": 1
            if isinstance(puzzle, Facts)
            else puzzle.places
            if isinstance(puzzle, Grammar)
            else puzzle.length,
            "batch": spec.batch,
            "asked": spec.held_out,
            "tested": spec.tested,
            "causal": TASKS[name].causal,
            **settings(run),
            "warmup": run.optimiser.warmup,
        }
        found.append(sizes | more)
    return found


def settings(run: Run) -> dict[str, Any]:
    """The layers of a run's model, its steps, steps between validations, and its rate."""
    assert isinstance(run.model, TaggerConfig)
    return {
        "layers": run.model.layers,
        "steps": run.budget.steps,
        "every": run.budget.validate_every,
        "rate": run.optimiser.lr,
    }


def letters(run: Run) -> str:
    """The origin of each part of a run's model, from the bottom up, as `settings.mjs` writes it.

    Raises:
        ValueError: the page cannot train this run.
    """
    config, plan = run.model, run.mask
    fits = (
        isinstance(config, TaggerConfig)
        and config == TaggerConfig(layers=config.layers, causal=config.causal, kinds=config.kinds)
        and set(config.kinds) <= set(KINDS)
        and run.optimiser == Optimiser(**asdict(OPTIMISER) | {"lr": run.optimiser.lr, "warmup": run.optimiser.warmup})
        and run.freeze.drawn == "as-trained"
        and not run.freeze.after
        and not run.skip.layers
        and run.start is None
        and (plan.keep == 1 or (plan.by, plan.drawn, plan.scaled) == ("magnitude", "signed-constant", True))
    )  # fmt: skip
    if not fits:
        raise ValueError(
            f"the page has no model such as {run.recipe}'s: its engine trains plain layers, frozen or masked"
        )
    assert isinstance(config, TaggerConfig)  # for the types' sake
    items = [item for item in owned(outline(run)) if not isinstance(item.module, Supermask)]

    def letter(*prefixes: str, fixed: str = "s") -> str:
        found = [item for item in items if item.stream.startswith(prefixes)]
        states = {
            "m" if item.mask is not None else "t" if item.parameter.requires_grad else fixed
            for item in found
            if item.parameter.ndim > 1 or fixed == "f"
        }
        if len(states) > 1:
            raise ValueError(
                f"{run.recipe} has parts of {prefixes[0]} that differ: the page has one origin for all"
            )
        return states.pop() if states else "n"

    said = letter("embedding", "positions")
    for i in range(config.layers):
        said += letter(f"encoder.{i}.attention.") + letter(
            f"encoder.{i}.feed_forward.up", f"encoder.{i}.feed_forward.down"
        )
        said += letter(f"encoder.{i}.mixing.norm", f"encoder.{i}.feed_forward.norm", fixed="f")
    return said + letter("norm", fixed="f") + letter("readout")


def line(task: str, row: str) -> str:
    """The settings of a row as `settings.mjs` reads them; its seed is left open."""
    run, base = recipes.get(f"bench/{task}/{row}"), recipes.get(f"bench/{task}/trained")
    parts, changed = letters(run), []
    for key, name in {"l": "layers", "n": "steps", "r": "rate"}.items():
        if (value := settings(run)[name]) != settings(base)[name]:
            changed.append(f"{key}{value:g}")
    if run.mask.keep not in (1, 0.5):
        changed.append(f"k{run.mask.keep:g}")
    return "_".join([f"b{task}", *changed, *([f"p{parts}"] if set(parts) != {"t"} else [])])


def recorded(task: str, row: str) -> dict[str, Any]:
    """What is known of a row: of the judged runs, or as long as there are none of those that were for looking.

    Returns:
        "scores", shares right in percent, a run each; "band", of the judged runs' validation curves: "x", steps, and
        "mean", "low" and "high", or None without them; "judged", whether the runs are.
    """
    run = recipes.get(f"bench/{task}/{row}")
    records = [one for one in find_records(run.recipe) if one.seed in JUDGED]
    if records:
        found, scores = curves(records), [one.score for one in records]
    else:
        here = f"{task}/{row}", run.optimiser.lr
        found = []
        scores = [
            one["score"] for (*row_and_rate, _), one in sorted(_looked().items()) if (*row_and_rate,) == here
        ]
    return {"scores": [round(one, 1) for one in scores], "band": band(found), "judged": bool(records)}


def band(found: list[list[list[float]]]) -> dict[str, list[float]] | None:
    """The mean of curves at each step, and the lowest and the highest."""
    if not found:
        return None
    at = list(zip(*(values for _, values in found), strict=True))
    rounded = {
        name: [round(of(values), 1) for values in at]
        for name, of in (("mean", fmean), ("low", min), ("high", max))
    }
    return {"x": found[0][0], **rounded}


@cache
def _looked() -> dict[tuple[str, float, int], dict[str, Any]]:
    return looking.read()
