"""A sweep is decided on validation, in the direction of its metric."""

from types import SimpleNamespace

import pytest

from reservoir_lab.runs import sweep


def recorded(scores, larger):
    points = {
        name: [{"metrics": {"score": 0.0}}, {"metrics": {"score": score}}] for name, score in scores.items()
    }
    return {
        name: SimpleNamespace(points=points[name], metric="score", larger_is_better=larger, recipe=name)
        for name in scores
    }


@pytest.mark.parametrize(("larger", "best"), [(True, "b"), (False, "c")])
def test_the_best_is_the_largest_or_the_smallest_as_the_metric_has_it(monkeypatch, larger, best):
    found = recorded({"a": 20.0, "b": 30.0, "c": 10.0}, larger)
    monkeypatch.setattr(sweep, "find_record", lambda name, scale: found.get(name))
    monkeypatch.setattr(sweep, "find_records", lambda name, scale: [found[name]])
    choice = sweep.choose(["a", "b", "c"])
    assert choice.recipe == best and choice.records == [found[best]]
    assert choice.complete


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ({"a": 30.0, "b": 20.0, "c": 20.0, "d": 30.0, "e": 10.0}, "d"),
        ({"b": 30.0, "d": 30.0}, "b"),  # as near to the middle: the smaller rate
    ],
)
def test_of_equals_the_one_nearest_to_the_middle_is_taken(monkeypatch, scores, best):
    found = recorded(scores, True)
    monkeypatch.setattr(sweep, "find_record", lambda name, scale: found.get(name))
    monkeypatch.setattr(sweep, "find_records", lambda name, scale: [found[name]])
    assert sweep.choose(["a", "b", "c", "d", "e"]).recipe == best


def test_a_neighbour_that_nobody_has_run_is_missing_and_one_further_off_is_not(monkeypatch):
    found = recorded({"b": 30.0, "c": 20.0}, True)
    monkeypatch.setattr(sweep, "find_record", lambda name, scale: found.get(name))
    monkeypatch.setattr(sweep, "find_records", lambda name, scale: [found[name]])
    assert sweep.choose(["a", "b", "c", "d"]).missing == ["a"]
    assert sweep.choose(["a", "d"]) is None
