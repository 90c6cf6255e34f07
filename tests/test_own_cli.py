"""Data of one's own on the command line: trained, used and scored; what is not there is said before anything begins."""

import json

import pytest
from own import write_own

from reservoir.launch.cli import main


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_own(tmp_path_factory.mktemp("own"))


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


USES = {
    "pairs": ("it-en", ["translate", "it-en", "tre due"]),
    "labels": ("reviews", ["classify", "reviews", "a good book", "a bad book"]),
    "text": ("story", ["generate", "story", "The man", "--tokens", "4"]),
    "pictures": ("shades", ["classify", "shades"]),
    "numbers": ("waves", ["classify", "waves", "0.1 0.4 0.9"]),
}


@pytest.mark.parametrize("kind", USES)
def test_every_kind_is_trained_used_and_scored(kind, data, results, capsys):
    name, words = USES[kind]
    if kind == "pictures":
        words = [*words, str(data[kind] / "dark" / "1.png")]
    assert main(["run", "--data", str(data[kind]), "--scale", "smoke"]) == 0
    assert (results / name / "smoke" / "seed-0.json").is_file()
    assert "split off by seed 0" in capsys.readouterr().err
    assert main([*words, "--scale", "smoke"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 1
    assert main(["score", name, "--data", str(data[kind]), "--scale", "smoke", "--json"]) == 0
    assert all("examples" in part for part in json.loads(capsys.readouterr().out).values())


def test_fields_and_a_name_are_kept(data, results):
    words = ["run", "own/classifier", "--data", str(data["labels"]), "--name", "mine/two", "--scale", "smoke"]
    assert main([*words, "--budget.steps", "3"]) == 0
    record = json.loads((results / "mine" / "two" / "smoke" / "seed-0.json").read_text())
    assert record["run"]["budget"]["steps"] == 3 and record["run"]["base"] == "own/classifier"


@pytest.mark.parametrize("words", [["--task.corpus", "files:nosuchfolder"], ["--data", "nosuchfolder"]])
def test_a_dry_run_on_a_folder_that_is_not_there_fails(words, results, capsys):
    assert main(["run", "transformer/miniature", "--dry-run", *words]) == 1
    assert "there is no file or folder nosuchfolder" in capsys.readouterr().err
