"""What the two files of smoke runs share: which recipes they run, and what a run has to leave behind.

Two files, because `make check` gives each file to one process.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from small import files

from reservoir.training import Task
from reservoir.weights import freeze, initialise, supermask
from reservoir_lab import recipes
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.records import find_record, path_of, read_record
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks import Translation

IN_FAMILIES = ("universal/", "switches/")
"""`test_universal_recipes` runs one of each kind of these."""
COMPONENTS = ("embeddings", "attention", "feed_forward")


def kinds(run: Run) -> set[str]:
    """What decides which code a run passes through: its fields, without names, sizes and places; and where norms stand.

    Numbers count as zero or not, and lists as the set of what is in them; which component is frozen does not count.
    Where the norms stand does not depend on the other fields, so it is a kind of its own for each type of model.
    """
    fields = {name: value for name, value in run.to_json().items() if name not in ("recipe", "budget")}
    plan = fields["freeze"]
    fields["freeze"] = {"after": plan["after"], "drawn": plan["drawn"]}
    fields["freeze"]["any"] = bool(plan["layers"] or plan["patterns"] or any(plan[one] for one in COMPONENTS))
    fields["mask"] |= {"keep": run.mask.keep < 1, "patterns": bool(run.mask.patterns)}
    fields["skip"]["layers"] = bool(run.skip.layers)
    if run.start:
        fields["start"] |= {"recipe": "", "streams": bool(run.start.streams)}
    norms = fields["model"].pop("norm_first", None)
    types = [type(part).__name__ for part in (run.task, run.model, run.start)]
    return {json.dumps([types, _without_sizes(fields)]), f"{types[1]}: {norms}"}


def _without_sizes(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_sizes(one) for name, one in sorted(value.items())}
    if isinstance(value, list):
        return sorted({json.dumps(_without_sizes(one)) for one in value})
    return value if value is None or isinstance(value, bool | str) else bool(value)


@cache
def smoke_run(name: str) -> Run:
    """A recipe at smoke scale, put together once: each of the processes that share the tests asks for all of them."""
    return recipes.get(name, scale="smoke")


@cache
def one_of_each(*, translators: bool) -> list[str]:
    """A recipe of each kind, of those that translate or of the others, without `IN_FAMILIES`."""
    seen: set[str] = set()
    found = []
    for name in recipes.names():
        run = smoke_run(name)
        if isinstance(run.task, Translation) == translators and not name.startswith(IN_FAMILIES):
            if new := kinds(run) - seen:
                found.append(name)
                seen |= new
    return found


def the_others() -> list[str]:
    """A recipe of each model, plan and task that no recipe of `one_of_each` has."""
    ran = [smoke_run(name) for side in (True, False) for name in one_of_each(translators=side)]
    seen = {_what_is_computed(run) for run in ran}
    found = []
    for name in recipes.names():
        if (what := _what_is_computed(smoke_run(name))) not in seen:
            found.append(name)
            seen.add(what)
    return found


def _what_is_computed(run: Run) -> tuple:
    """The share of weights that a mask keeps changes no code and no shape."""
    return run.task, run.model, replace(run.mask, keep=1.0), run.freeze


def runs_from_end_to_end(name: str, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a recipe at smoke scale, and look at its record and its files."""
    monkeypatch.setenv("RESERVOIR_RESULTS", str(results))
    run = recipes.get(name, scale="smoke")
    if run.start and run.start.streams:
        execute(run.start.source("smoke", run.seed))
    record = execute(run)
    assert read_record(path_of(run)) == record == find_record(name, scale="smoke")
    assert (record.recipe, record.scale, record.overrides, record.run) == (name, "smoke", {}, run.to_json())
    assert record.points[-1]["step"] == run.budget.steps and record.metric in record.points[-1]["metrics"]
    assert record.tests and record.cpu_seconds > 0
    assert files(path_of(run).parent) == ["seed-0.json", "seed-0.safetensors"]


@cache
def task_of(config: Any) -> tuple[Task, Any, int]:
    """The task of a configuration on its data, which most recipes share, its smallest batch and number of tokens."""
    corpus, vocabulary = config.prepare()
    task = config.task(corpus, vocabulary, seed=0)
    return task, min(task.epoch(0), key=task.size), len(vocabulary)


def computes_a_loss(name: str) -> None:
    """A recipe's model takes the smallest batch of its data at smoke scale; what others would give it is drawn."""
    run = smoke_run(name)
    task, batch, tokens = task_of(run.task)
    model = initialise(run.task.fit(run.model, tokens).build(), seed=0)
    freeze(supermask(model, run.mask, seed=0), run.freeze)
    assert any(parameter.requires_grad for parameter in model.parameters()), name
    with torch.no_grad():
        loss = task.loss(model, batch)
    assert torch.isfinite(loss) and loss > 0, name
