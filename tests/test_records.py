"""Records: written whole, validated when read, one's own before the shipped ones."""

import gzip
import json
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path

import pytest
from repeated import write
from small import files, sentence

from reservoir.datasets import shipped
from reservoir.files import locked
from reservoir.training import Optimiser
from reservoir_lab import recipes
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.evidence.comparison import over_seeds, table
from reservoir_lab.launch.train import show_record
from reservoir_lab.runs import records, registry
from reservoir_lab.runs.convergence import all_records, frame
from reservoir_lab.runs.records import (
    Area,
    Code,
    Held,
    Machine,
    Parameters,
    Point,
    Record,
    RecordError,
    RecordWarning,
    find_record,
    find_records,
    read_record,
    record_path,
    ship_records,
)
from reservoir_lab.runs.run import ABSENT, Run, differences, other_fields

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
        parameters={
            "weights": 1000,
            "scores": 0,
            "total": 1000,
            "trainable": 900,
            "trainable_all_rows": 950,
            "stored_bytes": 3600,
        },
        origins={
            "trained": {"weights": 900, "stored_bytes": 3600},
            "seeded": {"weights": 100, "stored_bytes": 0},
        },
        data="",
        labels=[],
        left_out=0,
        epoch_steps=0.0,
        begun_with=[],
        skipping={},
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
        date="2026-11-27T20:43:12Z",
        rules="",
        together=1,
        extrapolated=False,
    )
    if {"recipe", "overrides"} & changes.keys():  # a run that agrees, whatever a test makes of the rest
        run = json.loads(json.dumps(record.run)) | {"recipe": changes.get("recipe", NAME)}
        for name, value in changes.get("overrides", {}).items():
            part, _, field = name.partition(".")
            run[part][field] = value
        changes = {"run": run} | changes
    return replace(record, **changes)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The reader's folder of results, and that of the shipped ones; both empty."""
    own, shipped = tmp_path / "own", tmp_path / "shipped" / "results"
    monkeypatch.setenv("RESERVOIR_RESULTS", str(own))
    for module in (records, registry):
        monkeypatch.setattr(module, "shipped", lambda: tmp_path / "shipped")
    return own, shipped


def ship(folder, *found):
    """Put records into the families' files, whatever they are worth."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "transformer.jsonl").write_bytes(records._lines({records._key(one): one for one in found}))


def stored(record) -> dict:
    """A record as its file has it."""
    return json.loads(record.to_bytes(Path()))


def put(folder, record):
    path = record_path(folder, record.recipe, record.scale, record.seed, record.overrides)
    write(record, path)
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
    write(record, tmp_path / "a" / "seed-0.json")
    assert read_record(tmp_path / "a" / "seed-0.json") == record
    assert read_record(tmp_path / "a" / "seed-0.json") is read_record(tmp_path / "a" / "seed-0.json")
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
    refused(path, b'{"format": "new"}', "has not format 3")


@pytest.mark.parametrize(
    "field", [field.name for field in fields(Record) if field.name not in ("format", "notes")]
)
def test_a_missing_field_and_a_wrong_type_are_named(tmp_path, field):
    path, data = tmp_path / "seed-0.json", stored(make())
    refused(path, json.dumps({k: v for k, v in data.items() if k != field}).encode(), field)
    for wrong in (None, True, 3, "three", [3], {"three": 3}):
        if type(wrong) is not type(data[field]) and not (isinstance(data[field], float) and wrong == 3):
            refused(path, json.dumps({**data, field: wrong}).encode(), field)


def within(data: dict, changes: dict) -> dict:
    """The content of a record with one part changed within: {"points.0.step": -1}."""
    for name, value in changes.items():
        *above, last = name.split(".")
        part = data
        for key in above:
            part = part[int(key) if isinstance(part, list) else key]
        part[int(last) if isinstance(part, list) else last] = value
    return data


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"points": []}, "points: expected array of length >= 1"),
        ({"points.1.step": -1}, "points[1].step: expected int >= 0"),
        (
            {"points.1.metrics": {"bleu": 1.0, "loss": 1.0}},
            "points[1] has other metrics than the first point",
        ),
        ({"points.1.step": 5}, "points[1] does not follow the one before"),
        ({"tests": {}}, "tests: expected object of length >= 1"),
        ({"tests.test.bleu": "good"}, "tests has no score"),
        ({"tests.test.bleu": 100.1}, "bleu of test must be from 0 to 100, got 100.1"),
        ({"parameters.trainable": 1001}, "parameters.trainable is 1001, more than parameters.total, 1000"),
        ({"origins.trained": {"weights": 1}}, "origins[...]: object missing required field stored_bytes"),
        ({"machine.threads": 0}, "machine.threads: expected int >= 1"),
        ({"seconds": -1.0}, "seconds: expected float >= 0"),
        ({"run": {}}, "run: expected object of length >= 1"),
        ({"run.recipe": "other"}, f"run.recipe is 'other', but recipe is '{NAME}'"),
        ({"seed": 3}, "run.seed is 0, but seed is 3"),
        (
            {"overrides": {"optimiser.lr": 7.0}},
            "overrides['optimiser.lr'] is 7.0, which the run does not have",
        ),
        ({"date": "yesterday"}, "date must be in UTC"),
        ({"together": 0}, "together: expected int >= 1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_wrong_within_a_record_is_named_when_it_is_read_and_before_it_is_written(
    tmp_path, changes, said
):
    with pytest.raises(RecordError) as error:
        write(Record(**within(asdict(make()), changes)), tmp_path / "new" / "seed-0.json")
    assert said in sentence(str(error.value)) and not (tmp_path / "new").exists()
    if not next(iter(changes)).startswith("points"):  # which are stored in another form
        data = within(stored(make()), changes)
        refused(tmp_path / "seed-0.json", json.dumps(data).encode(), said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"points.step": []}, "points must have a list for each field and metric, all of one length"),
        ({"points": [1]}, "points must have a list for each field and metric"),
        ({"points.step.1": -1}, "points[1].step: expected int >= 0"),
        ({"points.step.1": 5}, "points[1] does not follow the one before"),
        ({"points.metrics": {}}, "points must have a list for each field and metric, all of one length"),
        ({"points.metrics": {"loss": [1.0, 2.0]}}, "points[0].metrics lacks 'bleu'"),
        ({"points.metrics.bleu.0": "good"}, "points[0].metrics[...]: expected float, got str"),
        ({"surprise": 3}, "it has a field that no version knows, 'surprise'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_wrong_with_stored_points_and_fields_is_named(tmp_path, changes, said):
    refused(tmp_path / "seed-0.json", json.dumps(within(stored(make()), changes)).encode(), said)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("name", ["seconds", "tests.test.bleu", "points.0.metrics.bleu", "aucc.value"])
def test_no_record_holds_a_number_that_is_none(tmp_path, name, value):
    with pytest.raises(RecordError, match=r"is not written: .*: expected .*float [<>]= (-?1\.79|0)"):
        write(Record(**within(asdict(make()), {name: value})), tmp_path / "new" / "seed-0.json")
    with pytest.raises(RecordError, match=r"is not written: .* not JSON compliant"):
        write(Record(**within(asdict(make()), {"run.optimiser.lr": value})), tmp_path / "new" / "seed-0.json")
    text = json.dumps(within(stored(make()), {name.replace("0.metrics", "metrics"): value}))
    refused(tmp_path / "seed-0.json", text.encode(), "cannot be read", "is no number of JSON")
    huge = text.replace("-Infinity", "-1e999").replace("Infinity", "1e999")
    if "NaN" not in huge:
        refused(tmp_path / "seed-0.json", huge.encode(), "is no finite number")


def test_a_name_that_occurs_twice_and_a_number_of_too_many_digits_are_refused(tmp_path):
    path, text = tmp_path / "seed-0.json", json.dumps(stored(make()))
    refused(path, text.replace('"seed": 0', '"seed": 0, "seed": 0', 1).encode(), "a name occurs twice")
    refused(path, text.replace('"tokens": 90', f'"tokens": {"9" * 30}').encode(), "too many digits")


def test_deep_nesting_is_refused_and_not_followed(tmp_path):
    path, text = tmp_path / "seed-0.json", json.dumps(stored(make()))
    for depth in (900, 100_000):
        deep = text.replace('"skipping": {}', '"skipping": {"a": ' + "[" * depth + "]" * depth + "}")
        path.write_text(deep)
        try:
            read_record(path)
        except RecordError as error:
            assert "nested too deeply" in sentence(str(error))
    assert depth == 100_000


def test_a_newer_format_asks_for_an_update_and_not_to_delete_anything(tmp_path):
    path = tmp_path / "seed-0.json"
    refused(path, b'{"format": 4}', "newer version of the library", "update the library")
    with pytest.raises(RecordError) as error:
        read_record(path)
    assert "delete" not in str(error.value)


@pytest.mark.parametrize(
    "place",
    [
        "transformer/miniature/laptop/seed-1",
        "transformer/miniature/smoke/seed-0",
        "transformer/multi30k/laptop/seed-0",
    ],
)
def test_a_record_in_another_run_s_place_is_refused(folders, place):
    own, _ = folders
    path = own / f"{place}.json"
    path.parent.mkdir(parents=True)
    refused(
        path,
        json.dumps(stored(make())).encode(),
        f"it is of {NAME}/laptop/seed-0.json, and does not belong here",
    )
    with pytest.raises(RecordError):
        write(make(), path)
    changed = make(overrides={"optimiser.lr": 1.0})
    with pytest.raises(RecordError):
        write(changed, path)
    write(changed, own / NAME / "laptop" / "seed-0-with-0123abcd.json")


def test_a_record_that_does_not_say_its_precision_answers_for_either_and_others_for_their_own(folders):
    own, _ = folders
    run = recipes.get(NAME)
    said = run.to_json()
    for precision in ("fp32", "bf16"):
        assert not other_fields(make(run=said | {"precision": "auto"}), run.evolve(precision=precision))
    put(own, make())
    assert not other_fields(find_record(NAME), run)
    assert other_fields(find_record(NAME), run.evolve(precision="bf16")) == 'precision "fp32" (now "bf16")'


def test_a_record_of_other_data_is_passed_over(folders, monkeypatch):
    own, _ = folders
    put(own, make(data=content_digest("miniature")))
    assert find_record(NAME)
    put(own, make(data="0123456789abcdef"))
    with pytest.warns(RecordWarning, match="other data in miniature"):
        assert find_record(NAME) is None


def test_the_page_about_the_schema_names_every_field():
    page = (Path(__file__).parent.parent / "reference" / "schema.md").read_text(encoding="utf-8")
    described = dict.fromkeys(re.findall(r"^\| `([\w.\[\]<>]+)` \|", page, re.MULTILINE))
    parts = {"points": Point, "parameters": Parameters, "origins.<origin>": Held}
    parts |= {"aucc": Area, "machine": Machine, "code": Code}
    wanted = [field.name for field in fields(Record)]
    wanted += [f"{name}.{key}" for name, part in parts.items() for key in part.__annotations__]
    wanted += [f"run.{leaf.name}" for leaf in fields(Run)]
    assert sorted(described) == sorted(wanted)


def test_one_s_own_record_is_read_first_and_the_shipped_one_second(folders):
    own, shipped = folders
    assert find_record(NAME) is None
    ship(shipped, make(bleu=20.0), make(seed=1, bleu=21.0))
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
    assert list(frame(scale="laptop")["test"]) == ["a", "b"] and list(frame(scale="smoke")["test"]) == [
        "test"
    ]
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
    ship(shipped, make(bleu=20.0))
    put(own, make(bleu=30.0))
    put(own, make(seed=1))
    edited = recipes.get(NAME).evolve(optimiser={"lr": 9.0}, model={"d_model": 32})
    monkeypatch.setitem(registry.RECIPES, NAME, lambda scale: edited)
    with pytest.warns(RecordWarning) as warned:
        assert find_record(NAME) is None
    assert len(warned) == 2 and str(own) in str(warned[0].message) and "shipped" in str(warned[1].message)
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
    ship(shipped, make(bleu=20.0))
    put(own, make(bleu=30.0, run=recipes.get(NAME).evolve(optimiser={"lr": 9.0}).to_json()))
    with pytest.warns(RecordWarning):
        assert find_record(NAME).score == 20.0
    with pytest.warns(RecordWarning):
        assert list(frame()["bleu"]) == [20.0]


@pytest.mark.parametrize("name", ["keep/pruned", "universal/digits/pretrained/lr-3e-3"])
def test_to_begin_with_the_run_of_the_same_seed_is_to_begin_with_that_seed(name):
    run = recipes.get(name, seed=2)
    named = run.evolve(start={"seed": 2, "same_seed": False})
    fixed = run.evolve(start={"same_seed": False})
    assert run.identity() == named.identity() != fixed.identity()
    for recorded in (run, named):
        for now in (run, named):
            assert differences(recorded.to_json(), now) == {}
    assert differences(fixed.to_json(), run) == {"start.seed": (0, 2)}
    assert run.overrides() == named.overrides() == {} and fixed.overrides() == {"start.seed": 0}
    with pytest.raises(ValueError, match=r"start\.seed must be 0 where start\.same_seed"):
        run.evolve(start={"seed": 1})


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


# ---- what ships ------------------------------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    """What lies in the families' files, in their order."""
    found = (records.parse_lines(path.read_bytes(), path.name) for path in sorted(folder.glob("*.jsonl")))
    return [f"{one.recipe}/{one.scale}/seed-{one.seed}" for file in found for one in file]


def clean(**changes) -> Record:
    return make(code={"version": "0", "commit": "c", "dirty": False}, **changes)


def test_records_are_packed_by_family_sorted_and_newer_ones_take_the_place_of_older_ones(folders):
    own, shipped = folders
    for seed in (10, 2):
        put(own, clean(seed=seed))
    put(own, clean(scale="smoke"))
    assert len(ship_records()) == 3
    assert names(shipped) == [f"{NAME}/{row}" for row in ("laptop/seed-2", "laptop/seed-10", "smoke/seed-0")]
    lines = (shipped / "transformer.jsonl").read_bytes().splitlines()
    assert [line.startswith(registry.HEAD) for line in lines] == [True, False, False, True, False]
    put(own, clean(seed=2, bleu=40.0, date="2026-11-28T00:00:00Z"))
    put(own, clean(seed=10, bleu=40.0, date="2026-11-26T00:00:00Z"))
    before = [find_record(NAME, seed=seed) for seed in (2, 10)]
    assert ship_records() == [f"{NAME}/laptop/seed-2", f"{NAME}/smoke/seed-0"]
    shutil.rmtree(own)
    assert [one.score for one in find_records(NAME)] == [40.0, 30.0] and find_record(NAME, seed=2) == before[
        0
    ]


def test_lines_are_packed_whole_or_below_what_they_share(folders, tmp_path):
    """As another machine sends them back."""
    _, shipped = folders
    sent = tmp_path / "sent"
    sent.mkdir()
    whole = [json.dumps(stored(clean(seed=seed))) + "\n" for seed in range(3)]
    (sent / "some.jsonl.gz").write_bytes(gzip.compress("".join(whole).encode()))
    (sent / "more.jsonl").write_bytes(
        records._lines({records._key(one): one for one in [clean(seed=3), clean(seed=4)]})
    )
    assert len(ship_records(sent)) == 5 and [one.seed for one in find_records(NAME)] == list(range(5))
    assert names(shipped) == [f"{NAME}/laptop/seed-{seed}" for seed in range(5)]
    with locked(shipped), pytest.raises(RecordError, match="another process packs"):
        ship_records(sent)
    (sent / "more.jsonl").write_bytes((sent / "more.jsonl").read_bytes()[:-100])
    before = (shipped / "transformer.jsonl").read_bytes()
    with pytest.raises(RecordError, match=r"more\.jsonl, line 3: it holds no record"):
        ship_records(sent)
    assert (shipped / "transformer.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"overrides": {"optimiser.lr": 1.0}}, "other fields than its recipe .optimiser.lr"),
        ({"recipe": "mine"}, "it is of no recipe"),
        (
            {"run": recipes.get(NAME).evolve(optimiser={"lr": 9.0}).to_json()},
            "it was made with optimiser.lr 9.0",
        ),
        ({"code": {"version": "0", "commit": "c", "dirty": True}}, "not known to be a commit"),
        ({"code": {"version": "0", "commit": None, "dirty": None}}, "not known to be a commit"),
    ],
)
def test_what_is_no_run_of_a_committed_recipe_does_not_ship(folders, tmp_path, changes, why):
    _, shipped = folders
    (tmp_path / "sent").mkdir()
    one = make(**{"code": {"version": "0", "commit": "c", "dirty": False}} | changes)
    (tmp_path / "sent" / "lines.jsonl").write_text(json.dumps(stored(one)) + "\n")
    with pytest.warns(RecordWarning, match=why):
        assert ship_records(tmp_path / "sent") == []
    assert not list(shipped.glob("*"))


def test_every_shipped_record_is_of_its_recipe_as_it_stands_and_where_it_belongs(monkeypatch, tmp_path):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordWarning)
        found = list(all_records())
    assert len(found) == len(names(shipped() / "results")) >= 1600
    for file in (shipped() / "results").glob("*.jsonl"):
        lines = list(records.parse_lines(file.read_bytes(), file.name))
        assert file.read_bytes() == records._lines({records._key(one): one for one in lines}), file
        for record in lines:
            assert record.recipe.startswith(f"{file.stem}/") and not records._unfit(record)


def test_shipped_records_cite_commits_of_the_history_and_ended_after_them(monkeypatch, tmp_path):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    root = Path(__file__).parent.parent
    command = ["git", "log", "--format=%H %ct", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode or (root / ".git" / "shallow").exists():
        pytest.skip("this is no git checkout with its history")
    history = dict(line.split() for line in done.stdout.splitlines())
    for record in all_records():
        made = history.get(record.code["commit"])
        assert made, record.recipe
        assert datetime.fromisoformat(record.date).timestamp() >= int(made), record.recipe


def test_figures_of_several_seeds_are_a_mean_and_a_range():
    assert over_seeds([30.9, 32.04, 31.5]) == "31.5 (30.9 to 32.0)"
    assert over_seeds(value for value in [0.1234]) == "0.1" and over_seeds([0.1234], digits=3) == "0.123"
    assert over_seeds([]) == "not run yet" and over_seeds([], none="never") == "never"


def test_where_the_system_does_not_say_how_much_memory_was_held_a_record_says_0(tmp_path, capsys):
    """As on Windows, which lacks the module that counts it."""
    lacking = "import sys; sys.modules['resource'] = None"
    code = f"{lacking}; from reservoir_lab.runs.provenance import peak_memory; print(peak_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    write(make(peak_memory=int(done.stdout)), tmp_path / "seed-0.json")
    show_record(read_record(tmp_path / "seed-0.json"))
    assert "processor time" in (said := capsys.readouterr().out) and "peak memory" not in said
    show_record(make(peak_memory=10**9))
    assert "peak memory 1.00 GB" in capsys.readouterr().out
