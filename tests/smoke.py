"""What the two files of smoke runs share: which recipes they run, and what a run has to leave behind.

Two files, because `make test` gives each file to one of two processes.
"""

import re
from pathlib import Path

import pytest
from small import files

from reservoir import recipes
from reservoir.runs.execution import execute
from reservoir.runs.records import find_record, path_of, read_record
from reservoir.runs.tasks.translation import Translation

IN_FAMILIES = ("universal/", "switches/")
"""Many alike: `test_universal_recipes` builds them all and runs one of each kind."""
AGAIN = re.compile(r"^mixing/(.+/)?pre-norm/(?!fourier$)")
"""The rows of chapter 8 in their second layout, but for one."""
RATE = re.compile(r"/lr-(?!3e-3$)[^/]+$")
"""Sweeps, but for one of their rates."""


def one_of_each(*, translators: bool) -> list[str]:
    """The recipes that translate, or the others, without `AGAIN`, `RATE` and `IN_FAMILIES`.

    Of those that differ in a percentage alone it is the one at a half.
    """
    return [
        name
        for name in recipes.names()
        if not name.startswith(IN_FAMILIES)
        and not AGAIN.match(name)
        and not RATE.search(name)
        and (name.endswith("-50") or not re.search(r"-[1-9]0$", name))
        and isinstance(recipes.get(name, scale="smoke").task, Translation) == translators
    ]


def runs_from_end_to_end(name: str, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a recipe at smoke scale, and look at its record and its files."""
    monkeypatch.setenv("RESERVOIR_RESULTS", str(results))
    run = recipes.get(name, scale="smoke")
    if run.start and run.start.streams:
        execute(run.start.source("smoke"))
    record = execute(run)
    assert read_record(path_of(run)) == record == find_record(name, scale="smoke")
    assert (record.recipe, record.scale, record.overrides, record.run) == (name, "smoke", {}, run.to_json())
    assert record.points[-1]["step"] == run.budget.steps and record.metric in record.points[-1]["metrics"]
    assert record.tests and record.samples and record.cpu_seconds > 0
    assert files(path_of(run).parent) == ["seed-0.json", "seed-0.safetensors"]
