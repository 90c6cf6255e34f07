"""Appendix A2: every table next to ours; every system covered or excused; what records cost."""

import re

import pytest

from reservoir_book import evidence
from reservoir_lab import recipes
from reservoir_lab.evidence import coverage, sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.runs.records import all_records
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
        names = comparisons()["poster/big"].names
        assert found.loc["poster/big", f"run at {scale}"] == sum((name, scale) in recorded for name in names)
    assert (laptop["with a recipe"] + laptop["without, for a reason"] == laptop["entries"]).all()


@pytest.mark.parametrize("system", coverage.systems(), ids=lambda one: f"{one.source}: {one.words}")
def test_every_system_has_recipes_or_a_reason(system):
    assert bool(coverage.covered_by(system)) != bool(system.why)
    assert system.source in sources.names()
    for pattern in system.recipes:
        assert coverage.covered_by(sources.System("", "", "", (pattern,))), f"no recipe is called {pattern}"


def test_every_recipe_of_a_system_exists_at_all_scales():
    for name in {name for one in coverage.systems() for name in coverage.covered_by(one)}:
        for scale in SCALES:
            assert recipes.get(name, scale=scale).scale == scale


def test_every_recipe_has_a_place_in_the_book():
    assert {coverage.chapter(name) for name in recipes.names()} <= {*map(str, range(1, 11)), "A6", "A7", "A8"}
    places = {"keep/trained": "8", "components/baseline": "4", "glue/mnli": "6", "ladder/64/masks": "A6"}
    places |= {"masked-wide/regular-4": "8", "masked/regular-4": "A8", "pairs-wide/mnli-50": "8"}
    for name, place in places.items():
        assert coverage.chapter(name) == place
    assert list(dict.fromkeys(coverage.cost().index.get_level_values("chapter")))[-4:] == [
        "10",
        "A6",
        "A7",
        "A8",
    ]


def test_coverage_says_how_many_recipes_are_recorded():
    frame = coverage.coverage()
    assert len(frame) == len(coverage.systems())
    line = frame[frame["recipes"] == "components/baseline"].iloc[0]
    assert (line["chapter"], line["laptop"]) == ("4", "1 of 1")
    assert frame["laptop"].map(lambda text: not text or bool(re.fullmatch(r"\d+ of \d+", text))).all()


def test_the_cost_is_the_sum_of_all_records():
    spent = coverage.cost()
    hours = sum(record.cpu_seconds for record in all_records() if record.scale != "smoke") / 3600
    assert abs(spent["core-hours"].sum() - hours) < 1e-9
    assert spent.loc[("4", "components"), "recipes"] == 11
