"""The epochs after which a run came near its best, and what it cost to reach another's."""

from types import SimpleNamespace

import pytest

from reservoir_lab import recipes
from reservoir_lab.runs.building import build
from reservoir_lab.runs.convergence import cost_ratio, cost_to_reach, epochs_to_converge
from reservoir_lab.runs.execution import execute


def run(scores, *, larger=True, epoch_steps=20.0):
    points = [{"step": 10 * i, "metrics": {"score": value}} for i, value in enumerate(scores, start=1)]
    return SimpleNamespace(
        recipe="a/b", scale="laptop", seed=0, points=points, metric="score", larger_is_better=larger,
        epoch_steps=epoch_steps,
    )  # fmt: skip


def test_near_the_best_is_enough():
    assert epochs_to_converge(run([10.0, 29.0, 29.5, 30.0, 29.9])) == 1.5


def test_a_perplexity_falls():
    assert epochs_to_converge(run([90.0, 51.0, 50.2, 50.0], larger=False)) == 1.0
    assert epochs_to_converge(run([90.0, 51.2, 50.2, 50.0], larger=False)) == 1.5


@pytest.mark.slow
def test_a_record_says_how_long_its_epochs_are(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = recipes.get("embeddings/random", scale="smoke").evolve(budget={"steps": 4, "accumulate": 2})
    record = execute(run)
    assert record.epoch_steps == len(build(run)[1].epoch(0)) / 2
    assert 0 < epochs_to_converge(record) <= 4 / record.epoch_steps


# Costs against another run


def priced(scores, flops_a_step, **options):
    found = run(scores, **options)
    for point in found.points:
        point["flops"] = point["step"] * flops_a_step
    return found


def test_a_score_is_reached_between_points():
    found = priced([10.0, 20.0, 40.0, 40.0], 3.0)
    assert cost_to_reach(found, 30.0) == 25.0 and cost_to_reach(found, 30.0, axis="flops") == 75.0
    assert [cost_to_reach(found, target) for target in (5.0, 10.0, 40.0, 40.1)] == [10.0, 10.0, 30.0, None]
    assert cost_to_reach(run([90.0, 60.0, 50.0], larger=False), 55.0) == 25.0


def test_sooner_is_below_one_on_each_axis_and_never_is_none():
    slow, cheap, bad = priced([10, 20, 30], 4.0), priced([10, 30, 35], 2.0), priced([1, 2, 3], 1.0)
    assert cost_ratio(cheap, slow) == pytest.approx(19.7 / 29.4)
    assert cost_ratio(cheap, slow, axis="flops") == pytest.approx(19.7 * 2 / (29.4 * 4))
    assert cost_ratio(slow, slow) == 1.0
    assert cost_ratio(bad, slow) is None


def test_near_a_perplexity_is_a_little_above_it():
    slow, soon = run([90.0, 60.0, 50.0], larger=False), run([80.0, 40.0], larger=False)
    assert cost_ratio(soon, slow) == pytest.approx(
        (10 + 10 * (80 - 50 / 0.98) / 40) / (20 + 10 * (60 - 50 / 0.98) / 10)
    )


def test_runs_that_cannot_be_compared_are_refused():
    one, other = run([1.0]), run([1.0])
    other.metric = "perplexity"
    with pytest.raises(ValueError, match="one is scored by score, the other by perplexity"):
        cost_ratio(one, other)
    with pytest.raises(ValueError, match="axis must be 'steps' or 'flops', got 'seconds'"):
        cost_to_reach(one, 1.0, axis="seconds")
