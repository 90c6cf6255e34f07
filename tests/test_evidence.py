"""Appendix A2: every table next to ours; every system covered or excused."""

import pytest

from reservoir_book import evidence
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.runs.convergence import all_records
from reservoir_lab.runs.registry import SCALES


@pytest.mark.parametrize("where", comparisons())
def test_every_table_has_its_figures_and_marks_beside_ours(where):
    frame, table = evidence.beside(where, scale="smoke"), sources.table(where)
    assert list(dict.fromkeys(frame.index)) == [row for row, *_ in table.rows]
    assert any(f"[{table.kind}]" in name for name in frame)
    shown = " ".join(frame.astype(str).to_numpy().ravel())
    for row in table.rows:
        assert all(entry in shown for entry in row[1:]), row


def test_runs_are_counted_and_not_typed():
    laptop, full = (evidence.run_at(scale) for scale in ("laptop", "full"))
    recorded = {(record.recipe, record.scale) for record in all_records()}
    for scale, found in (("laptop", laptop), ("full", full)):
        names = {one for names in comparisons()["poster/big"].recipes.values() for one in names}
        assert found.loc["poster/big", f"run at {scale}"] == sum((name, scale) in recorded for name in names)
    assert (laptop["with a recipe"] + laptop["without, for a reason"] == laptop["entries"]).all()


SYSTEMS = [one for name in sources.names() for one in sources.source(name).systems]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda one: f"{one.source}: {one.words}")
def test_every_system_has_recipes_at_all_scales_or_a_reason(system):
    names = evidence.standing_for(system)
    assert bool(names) != bool(system.why)
    for pattern in system.recipes:
        assert evidence.standing_for(sources.System("", "", "", (pattern,))), f"no recipe is called {pattern}"
    for name in names:
        for scale in SCALES:
            assert recipes.get(name, scale=scale).scale == scale


@pytest.mark.parametrize("name", sources.names())
def test_every_system_is_a_line_that_says_how_many_of_its_recipes_are_recorded(name):
    recorded = {(record.recipe, record.scale) for record in all_records()}
    frame, found = evidence.systems(name), sources.source(name).systems
    assert list(frame["system"]) == [one.words for one in found]
    for (_, line), one in zip(frame.iterrows(), found, strict=True):
        names = evidence.standing_for(one)
        run = sum((recipe, "laptop") in recorded for recipe in names)
        assert line["run at laptop"] == (f"{run} of {len(names)}" if names else "")
        assert line["recipes"].startswith(names[0] if names else one.why)
