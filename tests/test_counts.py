"""One definition of each count: over every recipe, reports, dry runs and records say the same."""

from fnmatch import fnmatchcase

import pytest

from reservoir.weights import owned, report
from reservoir_lab import recipes
from reservoir_lab.launch.cost_model import plan
from reservoir_lab.runs.building import build, outline
from reservoir_lab.runs.convergence import all_records


@pytest.fixture(scope="module")
def reports():
    """Of every recipe at laptop scale, on the meta device; what is built of the same fields is built once."""
    found, reports = {}, {}
    for name in recipes.names():
        run = recipes.get(name)
        fields = repr((run.model, run.task, run.start, run.mask, run.freeze))
        reports[name] = found[fields] = found.get(fields) or report(outline(run))
    return reports


def test_no_recipe_trains_more_numbers_than_it_has(reports):
    for name, found in reports.items():
        assert 0 < found.trainable <= found.trainable_all_rows <= found.total, name
        assert found.total == found.weights + found.scores, name


def test_a_dry_run_and_the_report_agree(reports):
    """For one recipe of each family, and for one of each way to train less."""
    names = {name.partition("/")[0]: name for name in recipes.names()}
    for name in (*names.values(), "keep/shared-random-50", "keep/pruned", "universal/digits/masked/lr-1e-3"):
        sized, found = plan(recipes.get(name)), reports[name]
        assert (sized.total, sized.trained) == (found.total, found.trainable), name


def test_counts_are_those_of_the_records(reports):
    """What was trained had as many weights as its outline, and its file as many bytes."""
    for record in all_records():
        if record.scale == "laptop":
            assert record.parameters == reports[record.recipe].counts(), record.recipe


@pytest.mark.parametrize("task", ["digits", "bit-xor", "bit-memory", "listops", "homology"])
def test_trainable_rows_are_those_that_a_gradient_can_reach(task):
    """Positions beyond the longest training sequence never get one; every other row of the table can."""
    model, data, _ = build(recipes.get(f"universal/{task}/random/lr-1e-3", scale="smoke"))
    for batch in data.epoch(0):
        data.loss(model, batch).backward()
    (item,) = (item for item in owned(model) if fnmatchcase(item.stream, "positions"))
    reached = int((item.parameter.grad.abs().sum(1) > 0).sum())
    row = next(row for row in report(model).rows if row.stream == "positions")
    assert row.trainable % row.shape[1] == 0 and row.parameters == item.parameter.numel()
    assert reached <= row.trainable // row.shape[1] < row.shape[0]
    if task in ("digits", "bit-xor", "bit-memory"):  # all of their sequences are of one length
        assert reached == row.trainable // row.shape[1]


def test_the_positions_of_chapter_9_are_counted_by_hand():
    """16 patches of a digit, two strings of five bits, expressions of up to 28 tokens: rows of 256."""
    for task, rows in {"digits": 16, "bit-xor": 10, "listops": 28}.items():
        found = report(outline(recipes.get(f"universal/{task}/random/lr-1e-3"))).rows
        (row,) = (row for row in found if row.stream == "positions")
        assert (row.trainable // row.shape[1], row.shape[0]) == (rows, 256), task


def test_texts_that_are_filled_up_reach_every_position():
    run = recipes.get("mixing/sst-2/fourier", scale="full")
    assert run.model.filled and run.model.positions == "learned"
    (row,) = (row for row in report(outline(run)).rows if row.stream == "positions")
    assert row.trainable == row.parameters


def test_what_a_plan_stops_later_is_trainable_until_then():
    found = report(outline(recipes.get("reservoirs/late-6")))
    assert found.trainable == found.total
