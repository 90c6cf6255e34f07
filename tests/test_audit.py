"""An audit finds the precision of a record, and notices one whose figures the run does not give."""

import dataclasses
import subprocess
import sys

import pytest
import torch

from reservoir import recipes
from reservoir.launch import audits as launched
from reservoir.launch.cli import main
from reservoir.runs import audit as audits
from reservoir.runs import execute, find_record, records
from reservoir.runs.audit import audit, precision, read_audits
from reservoir.runs.records import RecordError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def made(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(folder))
        return execute(recipes.get("norms-only/digits/lr-1e-2", scale="smoke"))


@pytest.fixture
def record(made, folder, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(folder))
    return made


def test_a_record_begins_as_it_did_and_a_changed_one_does_not(record):
    assert audit(record, points=2).precision == record.run["precision"] == "fp32" == precision(record)
    forged = [
        {**point, "metrics": {name: 1.01 * value for name, value in point["metrics"].items()}}
        for point in record.points
    ]
    found = audit(dataclasses.replace(record, points=forged))
    assert found.precision == "neither" and found.found["fp32"] != found.recorded


def test_a_run_begins_again_with_as_many_threads_as_it_had(record):
    before = torch.get_num_threads()
    other = dataclasses.replace(record, machine={**record.machine, "threads": before + 1})
    assert audit(other).machine["threads"] == before + 1
    assert torch.get_num_threads() == before


def test_a_record_that_does_not_say_its_precision_is_tried_in_both(record, monkeypatch):
    unknown = dataclasses.replace(record, run={**record.run, "precision": "auto"})
    assert precision(unknown) == "unknown"
    for figures, told in (
        ({"fp32": [1.0], "bf16": [2.0]}, "fp32"),
        ({"fp32": [1.0], "bf16": [1.0]}, "either"),
        ({"fp32": [2.0], "bf16": [2.0]}, "neither"),
    ):
        monkeypatch.setattr(audits, "_begun", lambda run, *_, found=figures: found[run.precision])
        point = {**record.points[0], "metrics": {record.metric: 1.0}}
        assert audit(dataclasses.replace(unknown, points=[point])).precision == told


def test_the_command_audits_each_record_once(record, tmp_path, capsys, monkeypatch):
    file = tmp_path / "audits.json"
    monkeypatch.setattr(launched, "all_records", lambda name: [record])
    for printed in (True, False):
        assert main(["audit", record.recipe, "--to", str(file)]) == 0
        out = capsys.readouterr().out
        assert ("1 of 1: " in out) == printed and "1 of 1 records begin as they did" in out
    assert list(read_audits(file)) == [f"{record.recipe}/smoke/seed-0"]


def test_the_command_knows_the_recipes_in_a_process_of_its_own():
    knows = "from reservoir.launch.audits import RECIPES; assert RECIPES"
    subprocess.run([sys.executable, "-c", knows], check=True, timeout=120)


def test_a_family_without_records_is_one_sentence(capsys):
    assert main(["audit", "nothing/here"]) == 1
    assert "there is no record of nothing/here to audit" in capsys.readouterr().err


def test_a_shipped_record_of_format_2_says_its_precision_and_one_that_nobody_audited_does_not():
    said = find_record("language/attention")
    assert said and precision(said) == said.run["precision"] == "bf16"
    old = dataclasses.replace(said, seed=99, run=said.run | {"precision": "auto"})  # as older ones are
    assert audits.key(old) not in read_audits() and precision(old) == "unknown"


def test_the_shipped_audits_are_of_the_shipped_records():
    """A record that was made again has to be audited again."""
    shipped = {audits.key(one): one for one in records.all_records()}
    assert read_audits()
    for name, one in read_audits().items():
        points = shipped[name].points[: len(one.recorded)]
        assert [float(point["metrics"][one.metric]) for point in points] == one.recorded


@pytest.mark.parametrize("text", ['{"x": ', '{"x": {}}', "[]"])
def test_a_damaged_file_of_audits_is_named(tmp_path, text):
    file = tmp_path / "audits.json"
    file.write_text(text)
    with pytest.raises(RecordError, match=r"audits\.json is damaged"):
        read_audits(file)
