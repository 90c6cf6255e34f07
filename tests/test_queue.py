"""A queue runs what nobody has recorded, in order, goes on after a failure, and refuses a file that it cannot read."""

import json
from pathlib import Path

import pytest

from reservoir_lab.launch import queue
from reservoir_lab.launch.cli import main
from reservoir_lab.runs.registry import record_path

ENTRY = '[[runs]]\nrecipes = ["norms-only/digits/lr-1e-2"]\nseeds = [7, 8]\nscale = "smoke"\nwhy = "a test"\n'


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    found = tmp_path / "queue.toml"
    found.write_text(ENTRY)
    return found


def test_it_runs_what_is_left_and_then_nothing(file, tmp_path, capsys):
    assert main(["queue", str(file), "--dry-run"]) == 0
    assert "2 runs are left" in capsys.readouterr().out
    assert main(["queue", str(file)]) == 0
    assert all(
        record_path(tmp_path / "results", "norms-only/digits/lr-1e-2", "smoke", seed).exists()
        for seed in (7, 8)
    )
    capsys.readouterr()
    assert main(["queue", str(file)]) == 0
    assert capsys.readouterr().out == f"nothing is left of {file}\n"


@pytest.mark.slow
def test_what_a_run_begins_with_is_run_before_it_unless_its_weights_are_here(file, tmp_path):
    row = '[[runs]]\nrecipes = ["{}"]\nseeds = [7]\nscale = "smoke"\nwhy = "a test"\n'
    file.write_text(row.format("keep/pruned") + row.format("keep/shared-pretrained-50"))
    left = [(run.recipe, run.seed) for run, _ in queue.read_queue(file)]
    assert left == [("keep/trained", 7), ("keep/pruned", 7), ("keep/shared-pretrained-50", 7)]
    assert main(["queue", str(file)]) == 0 and queue.read_queue(file) == []
    weights = record_path(tmp_path / "results", "keep/trained", "smoke", 7).with_suffix(".safetensors")
    record_path(tmp_path / "results", "keep/pruned", "smoke", 7).unlink()
    assert [run.recipe for run, _ in queue.read_queue(file)] == ["keep/pruned"]
    weights.unlink()
    assert [run.recipe for run, _ in queue.read_queue(file)] == ["keep/trained", "keep/pruned"]


def test_a_run_that_fails_does_not_stop_the_others(file, monkeypatch, capsys):
    tried = []

    def fail(runs, *, fresh):
        tried.append(runs[0].seed)
        raise ValueError("no such device")

    monkeypatch.setattr(queue, "train_runs", fail)
    assert main(["queue", str(file)]) == 1
    said = capsys.readouterr()
    assert tried == [7, 8] and "seed 7, is left out: no such device" in said.out
    assert "2 runs that failed" in said.err


def test_a_record_of_unknown_precision_counts_unless_the_entry_asks_again(file, monkeypatch):
    monkeypatch.setattr(queue, "precision", lambda record: "unknown")
    entry = '[[runs]]\nrecipes = ["components/embeddings"]\nseeds = [0]\nwhy = "a test"\n'
    file.write_text(entry)
    assert not queue.read_queue(file)
    file.write_text(entry + "again = true\n")
    assert len(queue.read_queue(file)) == 1


def test_a_run_that_is_wanted_again_is_trained_anew_and_only_once(file, tmp_path):
    assert main(["queue", str(file)]) == 0
    path = record_path(tmp_path / "results", "norms-only/digits/lr-1e-2", "smoke", 7)
    known = json.loads(path.read_text())
    known["run"]["precision"] = "unknown"  # as records of the first format are read
    path.write_text(json.dumps(known))
    file.write_text(ENTRY + "again = true\n")
    assert len(queue.read_queue(file)) == 1
    assert main(["queue", str(file)]) == 0
    again = json.loads(path.read_text())
    assert again["run"]["precision"] == "fp32" and again["tests"] == known["tests"]
    assert not queue.read_queue(file)


def test_a_run_that_is_left_after_its_training_is_not_tried_for_ever(file, monkeypatch):
    tried = []
    monkeypatch.setattr(queue, "train_runs", lambda runs, *, fresh: tried.append(runs[0].seed))
    queue.work_through(file)
    assert tried == [7, 8]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[runs", "cannot be read"),
        (ENTRY.replace('why = "a test"', ""), "runs[0]: object missing required field why"),
        (ENTRY.replace("[7, 8]", "7"), "runs[0].seeds: expected array, got int"),
        (ENTRY + "hurry = true\n", "runs[0]: object contains unknown field hurry"),
        (
            ENTRY.replace("[[runs]]", "[runs]"),
            "runs: expected array, got object; each entry stands under [[runs]]",
        ),
        ("runs = 3", "runs: expected array, got int"),
        (ENTRY.replace('"smoke"', '"huge"'), "runs[0].scale: invalid enum value 'huge'"),
        (ENTRY.replace("digits", "digit"), "norms-only/digit/"),
        (ENTRY + ENTRY.replace("digits", "digit"), "there is no recipe"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(file, text, words, capsys):
    file.write_text(text)
    assert main(["queue", str(file)]) == 1
    assert words in capsys.readouterr().err


def test_the_queue_of_the_repository_can_be_read():
    queue.read_queue(Path(__file__).parent.parent / "data" / "queue.toml")


def test_a_run_that_is_wanted_again_and_was_cut_off_goes_on(file, tmp_path, monkeypatch):
    assert main(["queue", str(file)]) == 0
    path = record_path(tmp_path / "results", "norms-only/digits/lr-1e-2", "smoke", 7)
    monkeypatch.setattr(queue, "precision", lambda record: "unknown")
    file.write_text(ENTRY.replace("[7, 8]", "[7]") + "again = true\n")
    asked = []
    monkeypatch.setattr(queue, "train_runs", lambda runs, *, fresh: asked.append(fresh))
    queue.work_through(file)
    path.with_suffix(".checkpoint").touch()
    queue.work_through(file)
    assert asked == [True, False]
