"""Records: written whole, validated when read, one's own before the shipped ones."""

import json
import re
import warnings
from dataclasses import asdict, fields, replace

import pytest
from small import files, full_disk, sentence

from reservoir import recipes
from reservoir.datasets import DataError, shipped
from reservoir.evidence.tables import over_seeds, table
from reservoir.runs import records, registry
from reservoir.runs.records import (
    Record,
    RecordError,
    RecordWarning,
    all_records,
    find_record,
    find_records,
    frame,
    read_record,
    record_path,
)
from reservoir.runs.run import ABSENT, differences
from reservoir.training import Optimiser

NAME = "transformer/miniature"


def make(seed=0, bleu=30.0, scale="laptop", **changes) -> Record:
    record = Record(
        recipe=NAME,
        scale=scale,
        seed=seed,
        run=recipes.get(NAME, scale=scale, seed=seed).to_json(),
        overrides={},
        points=[
            {"step": s, "seconds": s / 7, "tokens": 10 * s, "flops": 1e3 * s, "metrics": {"bleu": 1.0}}
            for s in (5, 9)
        ],
        metric="bleu",
        larger_is_better=True,
        tests={"test": {"bleu": bleu, "signature": "nrefs:1", "sentences": 4}},
        samples=[{"source": "Größe", "reference": "size", "translation": "size"}],
        parameters={"total": 1000, "trainable": 900, "stored_bytes": 3600},
        aucc={"value": 0.5, "horizon": 1.0, "axis": "seconds", "orientation": "larger is better"},
        seconds=1.5,
        cpu_seconds=120.0,
        step_seconds=0.1,
        test_seconds=0.2,
        tokens=90,
        flops=9e3,
        peak_memory=10**9,
        machine={
            "cpu": "a processor",
            "gpu": None,
            "threads": 1,
            "torch": "2",
            "python": "3",
            "system": "Linux",
        },
        code={"version": "0", "commit": None, "dirty": None},
    )
    return replace(record, **changes)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The reader's folder of results, and that of the shipped ones; both empty."""
    own, shipped = tmp_path / "own", tmp_path / "shipped" / "results"
    monkeypatch.setenv("RESERVOIR_RESULTS", str(own))
    monkeypatch.setattr(records, "shipped", lambda: tmp_path / "shipped")
    return own, shipped


def put(folder, record):
    path = record_path(folder, record.recipe, record.scale, record.seed, record.overrides)
    record.write(path)
    return path


def refused(path, content, *parts):
    path.write_bytes(content)
    with pytest.raises(RecordError) as error:
        read_record(path)
    for part in (str(path), *parts):
        assert part in sentence(str(error.value))
    assert path.read_bytes() == content


def test_what_was_written_is_read_again(tmp_path):
    record = make()
    record.write(tmp_path / "a" / "seed-0.json")
    assert read_record(tmp_path / "a" / "seed-0.json") == record
    assert files(tmp_path) == ["seed-0.json"]
    assert "Größe" in (tmp_path / "a" / "seed-0.json").read_text(encoding="utf-8")


def test_what_is_not_json_or_cut_short_is_refused(tmp_path):
    path = put(tmp_path, make())
    content = path.read_bytes()
    for length in (0, 1, 100, len(content) // 2, len(content) - 3):
        refused(path, content[:length], "cannot be read")
    refused(path, b"<!DOCTYPE html>", "cannot be read")
    refused(path, content.replace("ö".encode(), b"\xf6"), "cannot be read")
    refused(path, b"[1, 2]", "format")
    refused(path, b'{"format": 99}', "format")


LATER = ("left_out", "epoch_steps", "begun_with", "skipping")  # older records lack them


@pytest.mark.parametrize("field", [field.name for field in fields(Record) if field.name != "format"])
def test_a_missing_field_and_a_wrong_type_are_named(tmp_path, field):
    path, data = tmp_path / "seed-0.json", asdict(make())
    without = json.dumps({k: v for k, v in data.items() if k != field}).encode()
    if field in LATER:
        path.write_bytes(without)
        assert read_record(path) == make()
    else:
        refused(path, without, repr(field), "lacks")
    wrong = 3 if isinstance(data[field], str | dict | list) else "three"
    refused(path, json.dumps({**data, field: wrong}).encode(), repr(field), type(wrong).__name__)
    if isinstance(data[field], int | float) and not isinstance(data[field], bool):
        refused(path, json.dumps({**data, field: True}).encode(), repr(field), "bool")


@pytest.mark.parametrize(
    "broken",
    [
        {"points": []},
        {"points": [{"step": 1}]},
        {"points": [3]},
        {"tests": {"test": 3}},
        {"samples": [{}]},
        {"parameters": {"total": 3}},
        {"aucc": {}},
        {"machine": {"gpu": None}},
        {"surprise": 3},
    ],
)
def test_what_is_incomplete_within_or_unknown_is_named(tmp_path, broken):
    refused(
        tmp_path / "seed-0.json", json.dumps(asdict(make()) | broken).encode(), next(iter(broken)).rstrip("s")
    )


def test_a_full_disk_leaves_the_older_record(tmp_path):
    path = put(tmp_path, make())
    with full_disk(1000), pytest.raises(DataError) as error:
        make(bleu=31.0).write(path)
    assert str(path) in sentence(str(error.value))
    assert read_record(path) == make() and files(tmp_path) == [path.name]


def test_only_the_clock_may_differ_between_two_runs():
    record = make()
    clocks = {"seconds": 9.0, "cpu_seconds": 9.0, "step_seconds": 9.0, "test_seconds": 9.0, "peak_memory": 9}
    points = [{**point, "seconds": 9.0} for point in record.points]
    other = replace(record, **clocks, points=points, machine={}, code={}, aucc={})
    assert other.deterministic() == record.deterministic()
    moved = [{**point, "metrics": {"bleu": 2.0}} for point in record.points]
    for change in (
        {"tests": {}},
        {"points": moved},
        {"tokens": 1},
        {"flops": 1.0},
        {"samples": []},
        {"seed": 2},
    ):
        assert replace(record, **change).deterministic() != record.deterministic()


def test_one_s_own_record_is_read_first_and_the_shipped_one_second(folders):
    own, shipped = folders
    assert find_record(NAME) is None
    put(shipped, make(bleu=20.0))
    put(shipped, make(seed=1, bleu=21.0))
    assert find_record(NAME).tests["test"]["bleu"] == 20.0
    put(own, make(bleu=30.0))
    assert find_record(NAME).tests["test"]["bleu"] == 30.0
    assert sorted(frame(NAME)["bleu"]) == [21.0, 30.0]
    assert find_record(NAME, scale="full") is None and find_record(NAME, seed=2) is None


def test_a_run_with_overrides_hides_no_record_and_stands_in_no_table(folders):
    own, _ = folders
    put(own, make())
    changed = put(own, make(bleu=1.0, overrides={"optimiser.lr": 1.0}))
    assert changed.name != "seed-0.json"
    assert put(own, make(bleu=1.0, overrides={"optimiser.lr": 2.0})) != changed
    assert find_record(NAME).overrides == {} and list(frame()["bleu"]) == [30.0]


def test_a_frame_has_a_line_a_run_and_test_set_and_can_be_narrowed(folders):
    own, _ = folders
    put(own, make(tests={"a": {"bleu": 1.0}, "b": {"bleu": 2.0}}))
    put(own, make(scale="smoke"))
    assert list(frame(scale="laptop")["test"]) == ["a", "b"]
    assert len(frame("transformer")) == len(frame(NAME)) == 3 and len(frame("trans")) == 0
    assert set(frame()["steps"]) == {9}


def test_a_table_has_means_with_their_spread_and_says_what_nobody_has_run(folders):
    own, _ = folders
    found = table("transformer").set_index("recipe")
    assert set(found["seeds"]) == {"not run"}
    for seed, bleu in enumerate((30.0, 32.0, 34.0)):
        put(own, make(seed=seed, bleu=bleu))
    found = table("transformer").set_index("recipe")
    assert found.loc[NAME, "seeds"] == "3" and found.loc[NAME, "BLEU test"] == "32.00 ± 2.00"
    assert found.loc[NAME, "minutes"] == "2.0 ± 0.0" and found.loc[NAME, "trained"] == "900"
    assert found.loc["transformer/multi30k", "seeds"] == "not run"
    put(own, make(seed=1, bleu=99.0, overrides={"optimiser.lr": 1.0}))
    assert table(NAME)["BLEU test"][0] == "32.00 ± 2.00"


def test_a_record_that_an_edited_recipe_did_not_make_is_not_found(folders, monkeypatch):
    own, shipped = folders
    put(shipped, make(bleu=20.0))
    put(own, make(bleu=30.0))
    put(own, make(seed=1))
    edited = recipes.get(NAME).evolve(optimiser={"lr": 9.0}, model={"d_model": 32})
    monkeypatch.setitem(registry.RECIPES, NAME, lambda scale: edited)
    with pytest.warns(RecordWarning) as warned:
        assert find_record(NAME) is None
    assert len(warned) == 2 and str(own) in str(warned[0].message) and str(shipped) in str(warned[1].message)
    assert re.search(
        r"made with model.d_model \d+ \(now 32\), optimiser.lr 0\.\d+ \(now 9.0\)", str(warned[0].message)
    )
    with pytest.warns(RecordWarning):
        assert find_records(NAME) == [] and len(frame()) == 0
    put(own, make(seed=1, run=edited.evolve(seed=1).to_json()))
    with pytest.warns(RecordWarning):
        assert [record.seed for record in find_records(NAME)] == [1]


def test_a_record_in_the_results_folder_that_is_of_no_use_hides_no_shipped_one(folders):
    own, shipped = folders
    put(shipped, make(bleu=20.0))
    put(own, make(bleu=30.0, run=recipes.get(NAME).evolve(optimiser={"lr": 9.0}).to_json()))
    with pytest.warns(RecordWarning):
        assert find_record(NAME).score == 20.0
    with pytest.warns(RecordWarning):
        assert list(frame()["bleu"]) == [20.0]


def test_the_records_of_a_recipe_of_one_s_own_are_found_by_its_name(folders):
    own, _ = folders
    put(own, make(recipe="mine"))
    assert find_record("mine").recipe == "mine" and list(frame("mine")["bleu"]) == [30.0]


def test_where_it_ran_and_how_often_it_was_saved_make_no_other_run(folders):
    own, _ = folders
    put(own, make(run=recipes.get(NAME).evolve(device="cpu", budget={"checkpoint_every": 7}).to_json()))
    assert find_record(NAME) is not None


def test_a_field_that_a_record_lacks_has_its_default():
    run = recipes.get("transformer/multi30k")
    fields = run.to_json()
    del fields["mask"], fields["start"], fields["skip"], fields["model"]["bare"]
    assert differences(fields, run) == {}
    assert set(differences(fields, run.evolve(model={"bare": True}, mask={"keep": 0.5}))) == {
        "model.bare",
        "mask.keep",
    }
    del fields["optimiser"]["lr"], fields["task"]["corpus"]
    assert differences(fields | {"momentum": 1}, run) == {
        "task.corpus": (ABSENT, "multi30k"),
        "momentum": (1, ABSENT),
        **(
            {"optimiser.lr": (Optimiser().lr, run.optimiser.lr)} if Optimiser().lr != run.optimiser.lr else {}
        ),
    }


def test_seeds_are_sorted_as_numbers(folders):
    own, _ = folders
    for seed in (10, 2, 1):
        put(own, make(seed=seed))
    assert [record.seed for record in find_records(NAME)] == [1, 2, 10]


SHIPPED = sorted((shipped() / "results").glob("**/seed-*.json"))


def test_every_shipped_record_is_of_its_recipe_as_it_stands(monkeypatch, tmp_path):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordWarning)
        found = list(all_records())
    assert len(found) == len(SHIPPED)
    for path in SHIPPED:
        record = read_record(path)
        assert path == record_path(shipped() / "results", record.recipe, record.scale, record.seed)
        assert record.recipe in recipes.RECIPES and not record.overrides and record.code["dirty"] is False


def test_records_ship():
    assert len(SHIPPED) >= 3


def test_figures_of_several_seeds_are_a_mean_and_a_range():
    assert over_seeds([30.9, 32.04, 31.5]) == "31.5 (30.9 to 32.0)"
    assert over_seeds(value for value in [0.1234]) == "0.1" and over_seeds([0.1234], digits=3) == "0.123"
    assert over_seeds([]) == "not run yet" and over_seeds([], none="never") == "never"
