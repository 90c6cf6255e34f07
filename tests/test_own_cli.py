"""Data of one's own on the command line: trained, used and scored; what is not there is said before anything begins."""

import io
import json
import shutil

import pytest
from own import write_own
from small import sentence

from reservoir import files
from reservoir.training import Saved, Started
from reservoir_lab.launch.cli import main
from reservoir_lab.runs import open_model, read_record


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_own(tmp_path_factory.mktemp("own"))


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
    trained = json.loads((results / name / "smoke" / "seed-0.json").read_text())["parameters"]
    assert main(["run", "--data", str(data[kind]), "--name", "more", "--scale", "smoke", "--dry-run"]) == 0
    predicted = f"{trained['total']:,} parameters, {trained['trainable']:,} of them are trainable"
    assert predicted in " ".join(capsys.readouterr().out.split())
    assert main(["show", name, "--scale", "smoke", "--json", "--optimiser.lr", "0.5"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"] == trained
    assert main([*words, "--scale", "smoke"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 1
    assert main(["score", name, "--data", str(data[kind]), "--scale", "smoke", "--json"]) == 0
    assert all("examples" in part for part in json.loads(capsys.readouterr().out).values())


def test_fields_and_a_name_are_kept(data, results):
    words = ["run", "own/classifier", "--data", str(data["labels"]), "--name", "mine/two", "--scale", "smoke"]
    assert main([*words, "--budget.steps", "3"]) == 0
    record = json.loads((results / "mine" / "two" / "smoke" / "seed-0.json").read_text())
    assert record["run"]["budget"]["steps"] == 3 and record["run"]["base"] == "own/classifier"


def test_a_blank_line_among_others_is_answered_by_a_blank_line(data, results, capsys, tmp_path):
    assert main(["run", "--data", str(data["labels"]), "--scale", "smoke", "--budget.steps", "3"]) == 0
    (tmp_path / "asked").write_text("a good book\n\na bad book\n   \n")
    capsys.readouterr()
    assert main(["classify", "reviews", "--file", str(tmp_path / "asked"), "--scale", "smoke"]) == 0
    first, blank, second, last = capsys.readouterr().out.split("\n")[:-1]
    known = open_model("reviews", scale="smoke").classify(["a good book", "a bad book"])
    assert [first, second] == known and blank == last == ""


def test_texts_and_a_file_together_are_refused_and_a_terminal_is_told_what_to_type(said, capsys, monkeypatch):
    asked = ["translate", LONG, "--scale", "smoke"]
    assert main([*asked, "tre due", "--file", "asked"]) == 1
    assert "give one of the two" in capsys.readouterr().err
    typed = io.StringIO("\n")
    typed.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", typed)
    assert main(asked) == 0 and "Ctrl-D" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--task.corpus", "files:nosuchfolder"], ["--data", "nosuchfolder"]])
def test_a_dry_run_on_a_folder_that_is_not_there_fails(words, results, capsys):
    assert main(["run", "transformer/miniature", "--dry-run", *words]) == 1
    assert "there is no file or folder nosuchfolder" in capsys.readouterr().err


LONG = "numbers/" + "of-a-name-that-is-longer-than-a-terminal-is-wide-" * 2 + "x"


@pytest.fixture(scope="module")
def stored(data, tmp_path_factory):
    """A results folder with a run of a long name, whose data are gone."""
    folder = tmp_path_factory.mktemp("stored")
    words = ["run", "--data", str(shutil.copytree(data["pairs"], folder / "gone")), "--name", LONG]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(folder / "results"))
        assert main([*words, "--scale", "smoke", "--seeds", "0", "1"]) == 0
        shutil.rmtree(folder / "gone")
        yield folder


@pytest.fixture
def said(stored, capsys, monkeypatch):
    """What a command on these results prints."""
    monkeypatch.setenv("RESERVOIR_RESULTS", str(stored / "results"))
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*words):
        status = main([str(word) for word in words])
        captured = capsys.readouterr()
        assert status == 0, captured.err
        return json.loads(captured.out) if "--json" in words else captured.out

    return call


def test_own_runs_are_listed_whole_and_as_json(said, stored):
    about = f"own/translator on {stored / 'gone'}"
    for words in ([], [LONG], ["numbers"]):
        (line,) = [line for line in said("list", *words).splitlines() if LONG in line]
        assert [cell.strip() for cell in line.split("│")[1:-1]] == [LONG, about, "smoke"]
    row = {"recipe": LONG, "about": about, "recorded": ["smoke"]}
    assert said("list", LONG, "--json") == [row]
    found = said("list", "--json")
    assert found["own"] == [row] and {"family", "about", "recipes", "recorded"} == found["families"][0].keys()


def test_own_runs_are_shown_in_text_and_as_json_where_their_data_are_gone(said, stored):
    shown = said("show", LONG, "--scale", "smoke")
    assert "base='own/translator'" in shown and "encoder.0" in shown and f"{LONG} (smoke, seed 1)" in shown
    found = said("show", LONG, "--scale", "smoke", "--json")
    assert found["run"]["recipe"] == LONG and [record["seed"] for record in found["records"]] == [0, 1]
    assert found["parameters"] == found["records"][0]["parameters"]


def test_own_runs_have_a_table(said):
    assert LONG in said("table", LONG, "--scale", "smoke")
    (row,) = said("table", "numbers", "--scale", "smoke", "--json")
    assert row["recipe"] == LONG and row["seeds"] == "2" and "BLEU test" in row
    quoted = said("table", "poster/big", "--json")
    assert quoted["poster/big"][0]["recipe"] == "components/baseline"


def test_own_runs_are_exported_by_name(said, tmp_path):
    assert "MB" in said("export", LONG, "--to", tmp_path / "model", "--scale", "smoke")
    assert isinstance(open_model(tmp_path / "model").translate("tre due"), str)


@pytest.mark.parametrize("words", [["show"], ["translate"], ["export", "--to", "model"], ["run"]])
def test_a_run_that_is_recorded_at_another_scale_says_at_which(words, said, capsys):
    assert main([words[0], LONG, *words[1:]]) == 1
    assert "it is recorded at the smoke scale: add --scale smoke" in capsys.readouterr().err


def test_the_name_of_another_run_is_refused_before_anything_is_trained(data, results, capsys):
    words = ["run", "--data", str(data["labels"]), "--name", "mine", "--scale", "smoke"]
    assert main(words) == 0
    record = results / "mine" / "smoke" / "seed-0.json"
    before = record.read_bytes()
    for more in (["--optimiser.lr", "0.5"], ["--optimiser.lr", "0.5", "--seeds", "1"]):
        assert main([*words, *more]) == 1
        said = capsys.readouterr().err
        assert f"the name mine is taken: {record} was made with optimiser.lr 0.002 (now 0.5)" in said
        assert "with --name" in said and "--fresh" in said and "step" not in said.rpartition("error:")[2]
    assert main([*words[:2], str(data["text"]), *words[3:]]) == 1
    assert record.read_bytes() == before and len(list(record.parent.glob("*.json"))) == 1
    assert main([*words, "--optimiser.lr", "0.5", "--fresh"]) == 0 and record.read_bytes() != before


def test_edited_data_are_trained_on_anew_under_the_same_name(data, results, capsys, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text(data["labels"].read_text())
    words = ["run", "--data", str(path), "--scale", "smoke"]
    assert main(words) == 0
    path.write_text("\n".join([*path.read_text().splitlines(), "a fine book,2"]))
    assert main(words) == 0
    assert "is not used, since it was made with other data" in capsys.readouterr().err
    record = json.loads((results / "few" / "smoke" / "seed-0.json").read_text())
    assert any("3 classes: 1 16, 2 17, 3 16" in note for note in record["notes"])


def test_two_vocabularies_are_refused_before_anything_is_trained(data, results, capsys):
    words = ["run", "--data", str(data["pairs"]), "--scale", "smoke", "--task.dictionaries", "20", "20"]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "two vocabularies" in said and "--task.dictionaries None" in said and "12 steps" not in said
    assert not list(results.glob("**/*.json"))


# Cut off, and names


def cut_off(words, at, monkeypatch):
    """The command, interrupted when the listener hears an event of the class `at`, the second time."""
    heard = []

    def listener(event):
        heard.extend([event] if isinstance(event, at) else [])
        if len(heard) == 2 or (heard and at is Started):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("reservoir_lab.launch.train.shown", lambda: listener)
        assert main(words) == 130


@pytest.mark.parametrize(
    "next_life", ["identical", "without", "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"]
)
@pytest.mark.parametrize("at", [Started, Saved])
def test_a_run_begun_afresh_under_a_name_that_is_taken_goes_on_whatever_starts_it_again(
    tmp_path, results, monkeypatch, capsys, next_life, at
):
    words = ["run", "--data", str(write_own(tmp_path)["labels"]), "--name", "mine", "--scale", "smoke"]
    assert main(words) == 0
    record = results / "mine" / "smoke" / "seed-0.json"
    older = record.read_bytes()
    changed = [*words, "--optimiser.lr", "0.01", "--budget.checkpoint-every", "2", "--fresh"]
    cut_off(changed, at, monkeypatch)
    said = capsys.readouterr().err.splitlines()[-1]
    assert "the same command goes on" in said and record.read_bytes() == older
    if next_life.endswith("COUNT"):
        monkeypatch.setenv(next_life, "1")
    assert main([word for word in changed if word != "--fresh" or next_life != "without"]) == 0
    assert (at is Started) != ("goes on at step 4" in capsys.readouterr().err)
    assert read_record(record).run["optimiser"]["lr"] == 0.01
    if next_life.endswith("COUNT"):  # and a third life finds nothing left to do
        assert main(changed) == 0 and "is there already" in capsys.readouterr().err


def test_several_runs_begun_afresh_are_all_finished_by_the_same_command_without_it(
    tmp_path, results, monkeypatch, capsys
):
    words = ["run", "--data", str(write_own(tmp_path)["labels"]), "--scale", "smoke", "--seeds", "0", "1"]
    assert main(words) == 0
    before = [path.stat().st_mtime_ns for path in sorted(results.rglob("seed-?.json"))]
    cut_off([*words, "--fresh"], Saved, monkeypatch)
    assert main(words) == 0
    after = [path.stat().st_mtime_ns for path in sorted(results.rglob("seed-?.json"))]
    assert len(after) == 2 and all(a > b for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine/smoke/seed-0", "smoke in it, which is the name of a scale"),
        ("mine/more", "the names mine/more and mine begin alike"),
        ("components", "the name of a recipe or of a family"),
        ("components/mine", "the names components/mine and components begin alike"),
        ("universal/digits", "begin alike"),
        ("own/translator", "begin alike"),
        ("FULL/x", "the name of a scale"),
    ],
)
@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
def test_a_name_that_would_hide_or_replace_another_s_is_refused(tmp_path, results, capsys, name, said, fresh):
    words = ["run", "--data", str(write_own(tmp_path)["labels"]), "--scale", "smoke"]
    assert main([*words, "--name", "mine"]) == 0
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    assert main([*words, "--name", name, *fresh]) == 1 and said in sentence(
        capsys.readouterr().err.splitlines()[-1]
    )
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


def test_a_model_s_folder_with_other_files_in_it_is_not_replaced(tmp_path, results, capsys):
    words = ["run", "--data", str(write_own(tmp_path)["labels"]), "--name", "mine", "--scale", "smoke"]
    assert main(words) == 0
    notes = results / "mine" / "smoke" / "seed-0" / "notes.txt"
    notes.write_text("mine")
    assert main([*words, "--fresh"]) == 1 and "it holds notes.txt" in capsys.readouterr().err
    assert notes.read_text() == "mine" and main(words) == 0
    notes.unlink()
    (notes.parent / "config.json").write_text("{")
    assert main(["classify", "mine", "a good book", "--scale", "smoke"]) == 1
    assert "was not written with the config.json next to it" in capsys.readouterr().err
    assert (
        main([*words, "--fresh"]) == 0 and main(["classify", "mine", "a good book", "--scale", "smoke"]) == 0
    )


def test_a_record_is_gone_before_another_run_s_model_takes_its_place(tmp_path, results, monkeypatch):
    words = ["run", "--data", str(write_own(tmp_path)["labels"]), "--name", "mine", "--scale", "smoke"]
    assert main(words) == 0
    folder = results / "mine" / "smoke"
    changed = [*words, "--optimiser.lr", "0.01", "--fresh"]

    def stop(place, target):
        if target.suffix != ".checkpoint":
            assert not (folder / "seed-0.json").exists() and (folder / "seed-0.checkpoint").exists()
            raise KeyboardInterrupt
        swap(place, target)

    swap = files._swap
    monkeypatch.setattr(files, "_swap", stop)
    assert main(changed) == 130
    monkeypatch.undo()
    monkeypatch.setenv("RESERVOIR_RESULTS", str(results))
    assert main(changed) == 0 and read_record(folder / "seed-0.json").run["optimiser"]["lr"] == 0.01
