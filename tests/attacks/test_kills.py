"""Killed at every write: what is stored is the old one or the new one, and the same command goes on."""

import shutil

import pytest
from own import write_own
from repeated import deterministic
from stored_models import MODELS, moved

from attacks.kills import every_kill, in_a_child
from reservoir.files import atomic_write
from reservoir.models import from_pretrained, save_pretrained
from reservoir_lab import recipes
from reservoir_lab.runs import execute, on_files, open_model
from reservoir_lab.runs.building import folder_of, load_trained
from reservoir_lab.runs.records import path_of, read_record
from reservoir_lab.runs.stored import export, export_stored

pytestmark = pytest.mark.attack


def held(folder):
    """What a reader finds in a folder, hidden names left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def nothing_is_left(folder):
    return not list(folder.rglob(".*.part"))


def told(capsys, what, kills):
    with capsys.disabled():
        print(f"\n{what}: {kills} kills")


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_file_or_folder_is_the_old_or_the_new_one(tmp_path, capsys, kind, older):
    place = tmp_path / "place"
    target = place / "name"
    old, new = (
        (b"old", b"new" * 100) if kind == "file" else ({"a": b"old", "b": b""}, {"a": b"new", "c": b"new"})
    )

    def before():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        if older:
            atomic_write(target, old)
        states.append(held(place))

    def afterwards():
        assert held(place) in (states[0], wanted)
        assert not in_a_child(lambda: atomic_write(target, new))
        assert held(place) == wanted and nothing_is_left(place)

    states = []
    place.mkdir()
    atomic_write(target, new)
    wanted = held(place)
    kills = every_kill(lambda: atomic_write(target, new), before, afterwards)
    assert kills > 4
    told(capsys, f"{kind}, {'replaced' if older else 'new'}", kills)


@pytest.mark.parametrize("older", [False, True])
def test_a_stored_model_is_the_old_or_the_new_one_and_loads(tmp_path, capsys, older):
    place = tmp_path / "place"
    one, two = moved(MODELS["trained"]()), moved(MODELS["masked"]())
    wanted = held(save_pretrained(two, tmp_path / "wanted", tokenizer="{}"))
    first = held(save_pretrained(one, tmp_path / "first")) if older else {}

    def before():
        shutil.rmtree(place, ignore_errors=True)
        if older:
            save_pretrained(one, place / "model")

    def afterwards():
        found = held(place / "model") if (place / "model").exists() else {}
        assert found in (first, wanted)
        if found:
            from_pretrained(place / "model")
        assert not in_a_child(lambda: save_pretrained(two, place / "model", tokenizer="{}"))
        assert held(place / "model") == wanted and nothing_is_left(place)

    kills = every_kill(lambda: save_pretrained(two, place / "model", tokenizer="{}"), before, afterwards)
    told(capsys, f"save_pretrained, {'replaced' if older else 'new'}", kills)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_own(tmp_path_factory.mktemp("own"))


def small(path, **changes):
    budget = {"steps": 4, "validate_every": 2, "checkpoint_every": 2}
    return on_files(recipes.get("own/classifier", scale="smoke"), path, name="mine", budget=budget, **changes)


@pytest.fixture
def finished(data, tmp_path, monkeypatch):
    """A run and a changed one of the same name: their finished results, each in a folder."""
    runs = {"old": small(data["labels"]), "new": small(data["labels"], optimiser={"lr": 0.01})}
    for name, run in runs.items():
        monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / name))
        assert not in_a_child(lambda run=run: execute(run))
    return runs


def of_one_run(runs, results, path):
    """The record, if there is one, and the model beside it are of one run, whole and loadable."""
    if not path.exists():
        return
    lr = read_record(path).run["optimiser"]["lr"]
    (name,) = (name for name, run in runs.items() if run.optimiser.lr == lr)
    load_trained(runs[name])
    assert held(folder_of(runs[name])) == held(results / name / "mine" / "smoke" / "seed-0")
    assert open_model("mine", scale="smoke").run.optimiser.lr == lr


def test_a_run_on_own_data_that_replaces_another_goes_on_after_every_kill(
    finished, tmp_path, capsys, monkeypatch
):
    """By the same command, and every other time by the same without --fresh."""
    place, new = tmp_path / "place", finished["new"]
    monkeypatch.setenv("RESERVOIR_RESULTS", str(place))
    path, tried = path_of(new), []
    wanted = read_record(tmp_path / "new" / "mine" / "smoke" / "seed-0.json")

    def before():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tmp_path / "old", place)

    def afterwards():
        in_a_child(lambda: of_one_run(finished, tmp_path, path))
        begun = path.with_suffix(".checkpoint").exists()
        tried.append(begun)
        fresh = not begun or len(tried) % 2 == 0  # where nothing had begun, nothing is promised without it
        assert not in_a_child(lambda: execute(new, fresh=fresh))
        assert deterministic(read_record(path)) == deterministic(wanted)
        assert held(folder_of(new)) == held(tmp_path / "new" / "mine" / "smoke" / "seed-0")
        assert held(place).keys() == held(tmp_path / "new").keys()
        assert nothing_is_left(place)

    kills = every_kill(lambda: execute(new, fresh=True), before, afterwards)
    told(capsys, "run --data --fresh", kills)


@pytest.mark.parametrize("which", ["export", "export_stored"])
def test_an_export_or_a_release_that_replaces_another_is_the_old_or_the_new_one(
    finished, tmp_path, capsys, monkeypatch, which
):
    """A release is an export, to the folder that `released_model` reads."""
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "new"))
    run, place = finished["new"], tmp_path / "place" / "weights" / "gpt-wikipedia"
    write = (
        (lambda to: export(run, to)) if which == "export" else (lambda to: export_stored(folder_of(run), to))
    )
    assert not in_a_child(lambda: write(tmp_path / "wanted"))
    wanted, first = held(tmp_path / "wanted"), held(tmp_path / "old" / "mine" / "smoke" / "seed-0")

    def before():
        shutil.rmtree(place.parent, ignore_errors=True)
        shutil.copytree(tmp_path / "old" / "mine" / "smoke" / "seed-0", place)

    def afterwards():
        assert held(place) in (first, wanted)
        from_pretrained(place)
        assert not in_a_child(lambda: write(place))
        assert held(place) == wanted and nothing_is_left(place.parent)

    told(capsys, which, every_kill(lambda: write(place), before, afterwards))
