"""A finished run as a folder that stands alone, which replaces an earlier export and nothing else."""

import json
import os

import pytest
import torch

from reservoir.datasets import Vocabulary
from reservoir.files import write_folder
from reservoir.models import from_pretrained, read_labels
from reservoir.training import CheckpointError
from reservoir_lab import recipes
from reservoir_lab.launch.cli import main
from reservoir_lab.runs.building import load, load_data
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.export import destination, export
from reservoir_lab.runs.records import path_of, read_record


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A results folder with two finished runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path_factory.mktemp("results")))
        for name in ("seeds/miniature", "sentences/bag"):
            execute(recipes.get(name, scale="smoke"))
        yield


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_written_to_a_folder_and_read_from_it(finished, tmp_path):
    run = recipes.get("seeds/miniature", scale="smoke")
    with pytest.raises(CheckpointError, match="there are no weights at"):
        export(run.evolve(seed=9), tmp_path / "model")
    folder = export(run, tmp_path / "model")
    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        assert torch.equal(from_pretrained(folder)(ids, ids), load(run)[0](ids, ids))
    assert Vocabulary.load(folder / "tokenizer.json").tokens == load_data(run)[1].tokens
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Trained by the recipe `seeds/miniature` at the smoke scale" in card and "BLEU" in card


def test_a_classifier_is_exported_too(finished, tmp_path):
    run = recipes.get("sentences/bag", scale="smoke")
    folder = export(run, tmp_path / "bag")
    model, record = from_pretrained(folder), read_record(path_of(run))
    assert read_labels(folder) == load(run)[2].classes and len(read_labels(folder)) == 2
    assert json.loads((folder / "config.json").read_text())["data"] == record.data
    assert torch.equal(model(torch.arange(1, 9)[None]), load(run)[0](torch.arange(1, 9)[None]))


def test_an_earlier_export_is_replaced_and_the_command_says_so(finished, tmp_path, capsys):
    command = ["export", "seeds/miniature", "--scale", "smoke", "--to", str(tmp_path / "model")]
    assert main(command) == 0 and "earlier export" not in capsys.readouterr().out
    first = contents(tmp_path / "model")
    (tmp_path / "model" / "README.md").write_text("changed")
    assert main(command) == 0 and "earlier export" in capsys.readouterr().out
    assert contents(tmp_path / "model") == first
    assert {path.name for path in tmp_path.iterdir()} == {"model"}


@pytest.mark.parametrize(
    "files",
    [
        {"thesis/a.tex": "words"},
        {".hidden": ""},
        {"config.json": '{"format": "somebody else\'s"}'},
        {"config.json": "[]", "model.safetensors": ""},
        {"config.json": '{"format": "reservoir-model-1"}', "model.safetensors": "", "notes.txt": "mine"},
    ],
)
def test_a_folder_with_anything_else_is_left_as_it_is(finished, tmp_path, files, capsys):
    for name, text in files.items():
        (tmp_path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / name).write_text(text)
    before = contents(tmp_path)
    command = ["export", "seeds/miniature", "--scale", "smoke", "--to", str(tmp_path / "home")]
    assert main(command) == 1 and "is not empty and no earlier export" in capsys.readouterr().err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["", " ", ".", "..", "~", "~/..", "/", "sub/..", "file"])
def test_a_folder_that_is_not_ones_own_is_refused(tmp_path, monkeypatch, name):
    work = tmp_path / "home" / "work"
    work.mkdir(parents=True)
    (work / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(work)
    with pytest.raises(ValueError, match="--to must name a folder"):
        destination(name)
    assert destination("~/model") == tmp_path / "home" / "model"  # a missing one will do
    (work / "empty").mkdir()
    assert destination("empty") == work / "empty"


@pytest.mark.parametrize("stopped_at", [0, 1, 2])
def test_a_folder_that_is_being_replaced_is_never_lost(tmp_path, monkeypatch, stopped_at):
    """Killed at each rename in turn: one whole folder is left, and it is the older one or the newer one."""
    target = tmp_path / "model"
    write_folder(target, lambda made: (made / "a").write_text("old"))
    renames = iter(range(10))

    def stop(source, destination):
        if next(renames) == stopped_at:
            raise KeyboardInterrupt
        replace(source, destination)

    replace = os.replace
    monkeypatch.setattr("os.replace", stop)
    try:
        write_folder(target, lambda made: (made / "a").write_text("new"))
    except KeyboardInterrupt:
        left = [path / "a" for path in tmp_path.iterdir()]
        assert len(left) == 1 and left[0].read_text() == "old"
    else:
        assert (target / "a").read_text() == "new" and len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_filled_leaves_the_older_one(tmp_path):
    target = tmp_path / "model"
    write_folder(target, lambda made: (made / "a").write_text("old"))
    with pytest.raises(OSError, match="no space"):
        write_folder(target, lambda made: (_ for _ in ()).throw(OSError(28, "no space")))
    assert contents(tmp_path) == {"model/a": b"old"}
