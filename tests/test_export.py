"""A finished run as a folder that stands alone, which replaces an earlier export and nothing else."""

import os

import pytest
import torch
from small import full_disk

from reservoir import files
from reservoir.datasets import Vocabulary
from reservoir.files import WriteError, atomic_write, clear_leftovers
from reservoir.models import from_pretrained
from reservoir_lab import recipes
from reservoir_lab.launch.cli import main
from reservoir_lab.runs.building import data_of, load_trained
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.records import path_of
from reservoir_lab.runs.stored import destination, export


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
        assert torch.equal(from_pretrained(folder)(ids, ids), load_trained(run)[0](ids, ids))
    assert Vocabulary.from_file(folder / "tokenizer.json").tokens == data_of(run)[1].tokens
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Trained by the recipe `seeds/miniature` at the smoke scale" in card and "BLEU" in card


def test_an_earlier_export_is_replaced_and_the_command_says_so(finished, tmp_path, capsys):
    command = ["export", "seeds/miniature", "--scale", "smoke", "--to", str(tmp_path / "model")]
    assert main(command) == 0 and "earlier export" not in capsys.readouterr().out
    first = contents(tmp_path / "model")
    (tmp_path / "model" / "README.md").write_text("changed")
    assert main(command) == 0 and "earlier export" in capsys.readouterr().out
    assert contents(tmp_path / "model") == first
    assert {path.name for path in tmp_path.iterdir()} == {"model"}


@pytest.mark.parametrize(
    "held",
    [
        {"thesis/a.tex": "words"},
        {".hidden": ""},
        {"config.json": '{"format": "somebody else\'s"}'},
        {"config.json": "[]", "model.safetensors": ""},
        {"config.json": '{"format": "reservoir-model-3"}', "model.safetensors": "", "notes.txt": "mine"},
    ],
)
def test_a_folder_with_anything_else_is_left_as_it_is(finished, tmp_path, held, capsys):
    for name, text in held.items():
        (tmp_path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / name).write_text(text)
    before = contents(tmp_path)
    command = ["export", "seeds/miniature", "--scale", "smoke", "--to", str(tmp_path / "home")]
    assert main(command) == 1 and "is not empty and no earlier model" in capsys.readouterr().err
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


def test_the_model_of_a_run_is_never_replaced_by_an_export(finished, capsys):
    """Not even by that of another run, which is an export and nothing else."""
    run = recipes.get("seeds/miniature", scale="smoke")
    place = path_of(recipes.get("sentences/bag", scale="smoke")).with_suffix("")
    folder = export(run, path_of(run).with_suffix(""))
    command = ["export", "seeds/miniature", "--scale", "smoke", "--to", str(place)]
    assert main(command) == 1 and "keeps the model of a run" in capsys.readouterr().err
    assert not place.exists() and from_pretrained(folder)


# Writing folders


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_is_swapped_in_one_step_where_the_system_can_and_never_lost(tmp_path, monkeypatch, exchange):
    target = tmp_path / "model"
    atomic_write(target, {"a": b"old", "b": b"old"})
    seen, replace = [], os.replace

    def watch(source, to):
        replace(source, to)
        seen.append((target / "a").read_bytes() if target.exists() else b"")

    monkeypatch.setattr("os.replace", watch)
    if not exchange:
        monkeypatch.setattr(files, "_exchanged", lambda one, other: False)
    atomic_write(target, {"a": b"new"})
    assert contents(tmp_path) == {"model/a": b"new"} and seen == ([] if exchange else [b"", b"new"])


def test_what_was_moved_aside_by_a_killed_process_is_put_back(tmp_path):
    target, left = tmp_path / "model", tmp_path / ".model.0a.part"
    for name in ("old", "new"):
        (left / name).mkdir(parents=True)
        (left / name / "a").write_text(name)
    os.utime(left, (1e9, 1e9))
    clear_leftovers(target)
    assert contents(tmp_path) == {"model/a": b"old"}


def test_a_folder_that_cannot_be_written_leaves_the_older_one(tmp_path):
    target = tmp_path / "model"
    atomic_write(target, {"a": b"old"})
    with full_disk(100), pytest.raises(WriteError, match=f"no space left for {target}"):
        atomic_write(target, {"a": b"new", "b": bytes(1000)})
    assert contents(tmp_path) == {"model/a": b"old"} and len(list(tmp_path.iterdir())) == 1
    (tmp_path / "file").write_text("mine")
    with pytest.raises(WriteError, match="not a folder"):
        atomic_write(tmp_path / "file", {"a": b"new"})
    assert (tmp_path / "file").read_text() == "mine"


def test_what_is_renamed_is_on_the_disk_before_and_its_name_after(tmp_path, monkeypatch):
    """Files, then the folder that holds them, then the new name: else a power cut leaves an empty file of that name."""
    calls, fsync, exchanged = [], os.fsync, files._exchanged

    def synced(held):
        calls.append(os.readlink(f"/proc/self/fd/{held}").removeprefix(str(tmp_path)))
        fsync(held)

    monkeypatch.setattr("os.fsync", synced)
    monkeypatch.setattr(files, "_exchanged", lambda *names: calls.append("exchanged") or exchanged(*names))
    atomic_write(tmp_path / "model", {"a": b"old"})
    calls.clear()
    atomic_write(tmp_path / "model", {"a": b"new", "b": b"new"})
    place = os.path.dirname(os.path.dirname(calls[0]))
    assert calls == [*(f"{place}/new{name}" for name in ("/a", "/b", "")), place, "exchanged", ""]
