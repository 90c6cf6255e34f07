"""An audit finds the precision of a record, and notices one whose figures the run does not give."""

import dataclasses

import pytest
import torch

from reservoir.datasets.shipped import DataError
from reservoir_lab import recipes
from reservoir_lab.launch.cli import main
from reservoir_lab.runs import audit as audits
from reservoir_lab.runs import execute, records
from reservoir_lab.runs.audit import audit, read_audits
from reservoir_lab.runs.records import RecordError


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
    assert audit(record).precision == record.run["precision"] == "fp32"
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
    for figures, told in (
        ({"fp32": 1.0, "bf16": 2.0}, "fp32"),
        ({"fp32": 1.0, "bf16": 1.0}, "either"),
        ({"fp32": 2.0, "bf16": 2.0}, "neither"),
    ):
        monkeypatch.setattr(audits, "_first_validation", lambda run, *_, found=figures: found[run.precision])
        point = {**record.points[0], "metrics": {record.metric: 1.0}}
        assert audit(dataclasses.replace(unknown, points=[point])).precision == told


def test_the_command_audits_each_record_once(record, tmp_path, capsys, monkeypatch):
    file = tmp_path / "audits.json"
    monkeypatch.setattr(audits, "all_records", lambda name: [record])
    for printed in (True, False):
        assert main(["audit", record.recipe, "--to", str(file)]) == 0
        out = capsys.readouterr().out
        assert ("s to its first validation" in out) == printed and "1 of 1 records begin as they did" in out
    assert list(read_audits(file)) == [f"{record.recipe}/smoke/seed-0"]


@pytest.fixture
def auditing(record, tmp_path, monkeypatch):
    """`auditing(*options)` runs the command with audits that take no time; returns its status and the file's audits.

    Its records are `record` with twenty seeds; every audit finds the precision that `auditing.finds` says.
    """
    file = tmp_path / "audits.json"
    twenty = [dataclasses.replace(record, seed=seed) for seed in range(20)]

    def begin(one, **_):
        return audits.Audit(one.metric, [1.0], {"fp32": [1.0]}, run.finds)

    def run(*options):
        return main(["audit", record.recipe, "--to", str(file), *options]), read_audits(file)

    monkeypatch.setattr(audits, "all_records", lambda name: twenty)
    monkeypatch.setattr(audits, "audit", begin)
    run.finds = "fp32"
    return run


def test_what_cannot_be_audited_is_named_and_the_others_are_kept(auditing, monkeypatch, capsys):
    _, first = auditing("--sample", "1")

    def without_data(*_, **__):
        raise DataError("its data are not here")

    monkeypatch.setattr(audits, "audit", without_data)
    assert auditing("--sample", "0") == (0, first)
    said = capsys.readouterr().out
    assert said.count("its data are not here") == 19 and "1 of 20 records begin as they did" in said


def test_a_new_audit_that_finds_other_figures_ends_with_status_1_and_names_the_records(auditing, capsys):
    auditing.finds = "neither"
    status, found = auditing("--sample", "2")
    (error,) = capsys.readouterr().err.splitlines()
    assert status == 1 and all(name in error for name in found) and len(found) == 2
    assert "no precision gave the recorded figure" in error
    status, _ = auditing("--sample", "2")  # known by now, and only shown
    shown = capsys.readouterr()
    assert status == 0 and not shown.err and "0 of 2 records begin as they did" in shown.out


def test_a_draw_picks_the_same_records_each_time_and_another_draw_picks_others(auditing):
    _, first = auditing("--sample", "5", "--draw", "0")
    assert len(first) == 5 and auditing("--sample", "5", "--draw", "0")[1].keys() == first.keys()
    _, both = auditing("--sample", "5", "--draw", "1")
    assert both.keys() > first.keys()


def test_a_family_without_records_is_one_sentence(capsys):
    assert main(["audit", "nothing/here"]) == 1
    assert "there is no record of nothing/here to audit" in capsys.readouterr().err


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
    with pytest.raises(RecordError, match=r"audits\.json cannot be read: .*; delete it, or restore it"):
        read_audits(file)
