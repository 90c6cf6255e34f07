"""Runs on data of one's own: what is fitted to the data, recorded, stored and used again."""

import itertools
import json
import re
import shutil
import subprocess
import sys
import textwrap
import warnings
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
from own import write_own
from small import same_bits
from stored_models import MODELS

from reservoir.datasets import DataError, train_bpe
from reservoir.models.pretrained import model_files
from reservoir.training import Message, Recorded, bleu
from reservoir.weights import WeightsError
from reservoir_lab import recipes
from reservoir_lab.corpora import labelled
from reservoir_lab.runs import (
    execute,
    find_run,
    on_files,
    open_model,
    read_record,
    run_from_json,
    tasks,
)
from reservoir_lab.runs.building import data_of, folder_of, load_trained
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.own import DEFAULTS, MOST
from reservoir_lab.runs.records import path_of
from reservoir_lab.runs.stored import export, export_stored
from reservoir_lab.runs.trained_model import TrainedModel


def test_a_run_is_read_back_from_its_json():
    for name in recipes.names():
        run = recipes.get(name, scale="laptop")
        assert run_from_json(json.loads(json.dumps(run.to_json()))) == run, name
    for part, bad in itertools.product(("budget", "task", "model", "freeze"), (3, [1], "x")):
        with pytest.raises(ValueError, match=rf"run\.{part} must be an object with fields, got"):
            run_from_json(recipes.get("own/classifier").to_json() | {part: bad})
    with pytest.raises(ValueError, match=r"run\.task has the fields korpus, which are those of 0 kinds"):
        run_from_json(recipes.get("own/classifier").to_json() | {"task": {"korpus": "x"}})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_own(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A finished smoke-scale run of each kind, by kind, in a results folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path_factory.mktemp("results")))
        runs = {}
        for kind, path in data.items():
            runs[kind] = on_files(recipes.get(DEFAULTS[kind], scale="smoke"), path)
            execute(runs[kind])
        yield runs


def test_names_budget_languages_and_windows_fit_the_data(data):
    run = on_files(recipes.get("own/translator"), data["pairs"])
    assert (run.recipe, run.base, run.task.src, run.task.tgt) == ("it-en", "own/translator", "it", "en")
    assert 100 <= run.budget.steps <= MOST and run.optimiser.warmup <= run.budget.steps // 4
    few = on_files(recipes.get("own/translator"), data["pairs"], budget={"steps": 7}).budget
    assert (few.steps, few.validate_every, few.checkpoint_every) == (7, 1, 1)
    some = recipes.get("own/classifier").evolve(task={"texts": 5})
    assert on_files(some, data["labels"]).task.texts == 0  # all of them
    frozen = on_files(recipes.get("components/attention"), data["pairs"])
    assert frozen.recipe == "it-en-components-attention" and frozen.freeze.attention
    assert on_files(recipes.get("own/language-model"), data["text"]).task.length < 128 * 8
    short = on_files(recipes.get("gpt/wikipedia"), data["text"])
    assert short.task.length < recipes.get("gpt/wikipedia").task.length
    other = on_files(recipes.get("universal/bit-xor/random/lr-1e-3"), data["numbers"])
    assert (
        type(other.task).__name__ == "Sequences"
        and other.start == recipes.get("universal/bit-xor/random/lr-1e-3").start
    )


def test_a_text_of_a_few_tokens_has_windows_of_two(tmp_path):
    for part in ("train", "valid", "test"):
        (tmp_path / f"{part}.txt").write_text("abcdefgh", encoding="utf-8")
    assert on_files(recipes.get("own/language-model"), tmp_path).task.length == 2


def test_texts_of_ones_own_are_read_again_when_they_change_and_only_then(data, tmp_path, monkeypatch):
    path, read = tmp_path / "reviews.csv", []
    path.write_bytes(data["labels"].read_bytes())
    run = on_files(recipes.get("own/classifier"), path)
    monkeypatch.setattr(
        tasks, "labelled", lambda name, **options: read.append(name) or labelled(name, **options)
    )

    def texts() -> int:
        corpus, _ = run.task.prepare()
        return sum(len(part.texts) for part in (corpus.train, corpus.valid, *corpus.tests.values()))

    assert texts() == 60 and not read
    path.write_text(path.read_text(encoding="utf-8") + "\na fine book,2", encoding="utf-8")
    assert texts() == 61 and len(read) == 1


def test_a_recipe_that_is_named_overrides_the_guess(data, tmp_path):
    shutil.copytree(data["pictures"], tmp_path / "p")
    shutil.copy(data["numbers"], tmp_path / "p" / "waves.csv")
    with pytest.raises(DataError, match=r"x\.png is no \.txt file, as texts need"):
        on_files(
            recipes.get("own/language-model"),
            shutil.copy(data["pictures"] / "dark/1.png", tmp_path / "x.png"),
        )
    for recipe in ("own/pictures", "own/sequences"):
        run = on_files(recipes.get(recipe, scale="smoke"), tmp_path / "p")
        assert run.base == recipe and data_of(run)[0].classes in (("dark", "light"), ("fast", "slow"))


def test_columns_of_any_name_are_translated_and_counted_by_characters(tmp_path):
    rows = "".join(f"das ist Haus {i},这是房子{i}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"german,chinese\n{rows}", encoding="utf-8")
    run = on_files(
        recipes.get("own/translator", scale="smoke"),
        tmp_path / "t.csv",
        task={"src": "german", "tgt": "chinese", "tokenise": "char"},
    )
    assert (
        "tok:char" in bleu(["这是房子"], ["这是房子"], tokenise=run.task.tokeniser(data_of(run)[0])).signature
    )
    assert run_from_json(json.loads(json.dumps(run.to_json()))) == run


def test_a_text_far_longer_than_any_in_training_is_translated_in_pieces_and_it_is_said(trained):
    model = open_model("it-en", scale="smoke")
    said = (
        "2 of the texts, the first of them number 2, .*; 1 of more than 1,024 tokens are translated in pieces"
    )
    with pytest.warns(UserWarning, match=said):
        short, _, long = model.translate(["uno due", "uno due tre " * 100, "uno due tre " * 1700], beam=1)
    ids = model.vocabulary.encode("uno due tre " * 1700)
    pieces = [model.vocabulary.decode(ids[at : at + 128]) for at in range(0, len(ids), 128)]
    assert long == " ".join(model.translate(pieces, beam=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert short == model.translate("uno due", beam=1)


def test_what_was_said_of_the_data_is_recorded_and_on_the_card(trained):
    for kind, run in trained.items():
        record = read_record(path_of(run))
        card = (folder_of(run) / "README.md").read_text(encoding="utf-8")
        assert record.notes and all(f"- {note}" in card for note in record.notes), kind
        assert "split off by seed 0" in " ".join(record.notes) and record.notes[-1].startswith(
            "budget: 12 steps"
        )
        assert record.data in card and record.run["base"] == run.base
        assert same_bits(load_trained(run)[0], open_model(run.recipe, scale="smoke").module), kind
    code = textwrap.dedent("\n".join(re.findall(r"^    .*$", card, re.MULTILINE)))
    code = re.sub("FOLDER|this folder", str(folder_of(run)), code) + "\nprint('done')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "execute(run_from_json(" in code and done.stdout.endswith("done\n"), done.stderr


def test_rows_that_are_not_scored_are_said(trained, tmp_path):
    half = {
        "reviews": ("a.csv", "review,stars\nthe good book,1\n,2\n"),
        "it-en": ("a.csv", "it,en\nuno,one\nuno,\n"),
    }
    for name, (file, rows) in half.items():
        model = open_model(name, scale="smoke")
        (tmp_path / file).write_text(rows)
        model.run = model.run.evolve(task={"files": replace(model.run.task.files, blank="skip")})
        with pytest.warns(UserWarning, match="left out"):
            assert model.score(tmp_path / file).keys() == {file}


def test_a_second_run_hears_what_the_first_did(trained):
    events = []
    run = trained["labels"].evolve(seed=1)
    execute(run, listeners=[events.append])
    said = [event.text for event in events if isinstance(event, Message)]
    assert said[: len(said)] == read_record(path_of(run)).notes


def test_a_recorded_run_tells_its_listeners_its_curve_and_where_it_is(trained):
    events, run = [], trained["pairs"]
    record = execute(run, listeners=[events.append])
    (event,) = events
    assert isinstance(event, Recorded) and event.path == str(path_of(run)) and event.steps == 12
    assert [asdict(point) for point in event.points] == record.points


def test_a_run_is_found_by_its_name_whatever_its_seed(trained):
    run = trained["pairs"]
    assert find_run("it-en", scale="smoke") == run
    assert find_run("it-en", scale="smoke", seed=7) == run.evolve(seed=7)
    with pytest.raises(ValueError, match="at the laptop scale; it is recorded at the smoke scale"):
        find_run("it-en")
    with pytest.raises(ValueError, match="did you mean 'own/translator'"):
        find_run("own/translater")


def test_stored_models_take_and_give_plain_things(trained, data):
    translator = open_model("it-en", scale="smoke")
    assert isinstance(translator.translate("tre due"), str)
    assert translator.translate(["", "uno"])[0] == "" and len(translator.translate(["", "uno"])) == 2
    classifier = open_model("reviews", scale="smoke")
    assert classifier.labels == ("1", "2", "3") and classifier.classify("a good book") in classifier.labels
    assert len(classifier.classify(["a", "b"])) == 2 and classifier.classify([]) == []
    with pytest.raises(DataError, match="text 2 is blank"):
        classifier.classify(["a", " "])
    assert abs(sum(classifier.probabilities("a good book").values()) - 1) < 1e-6
    writer = open_model("story", scale="smoke")
    assert writer.generate("The man", tokens=5).startswith("The man")
    assert writer.generate("The", tokens=8, temperature=1, seed=3) == writer.generate(
        "The", tokens=8, temperature=1, seed=3
    )
    pictures = open_model("shades", scale="smoke")
    assert pictures.classify(data["pictures"] / "dark" / "1.png") in ("dark", "light")
    waves = open_model("waves", scale="smoke")
    given = ([0.1, 0.5, 0.9], "0.1 0.5 0.9", np.array([0.1, 0.5, 0.9]))
    assert [waves.classify(one) for one in given] == waves.classify(list(given))
    for model in (classifier, writer, pictures, waves):
        with pytest.raises(ValueError, match="this needs a model that translates"):
            model.translate("uno")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, r"there is no file .*run\.json: give a folder that export wrote, or export the run again"),
        ("{bad", r"run\.json describes no run: run\.json is damaged: "),
        ("[]", r"run\.json is damaged: .*Expected `object`, got `array`"),
        ("{}", r"run\.json is damaged: .*missing required field `run`.*; export the run again"),
        ('{"run": {}}', r"run\.json is damaged: .*missing required field `inputs`"),
        ('{"run": {}, "inputs": []}', r"run\.json is damaged: .*Expected `object`, got `array`"),
        ('{"run": {}, "inputs": {}}', r"run\.json describes no run: run is no Run: .*; export the run again"),
        ('{"run": {"task": 5}, "inputs": {}}', r"run\.json describes no run: run\.task must be an object"),
    ],
)
def test_a_stored_run_that_is_missing_or_damaged_is_named(tmp_path, said, message):
    for name, content in model_files(MODELS["trained"](), run=said).items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(WeightsError, match=message):
        TrainedModel(tmp_path)


def test_a_continuation_begins_a_word_or_goes_on_with_one():
    writer = SimpleNamespace(vocabulary=train_bpe(["saw the sea", "a sea"] * 9, 60, cache=False))
    ids = writer.vocabulary.encode("saw the sea")
    assert TrainedModel._lines(writer, ids) == " saw the sea"
    inside = next(id for id, piece in enumerate(writer.vocabulary.tokens) if id > 3 and piece.isalpha())
    assert TrainedModel._lines(writer, [inside]) == writer.vocabulary.tokens[inside]


def test_a_stored_model_scores_its_test_set_as_the_run_did(trained, data, tmp_path):
    (tmp_path / "test").mkdir()
    for kind, path in data.items():
        model = open_model(trained[kind].recipe, scale="smoke")
        assert model.score(path).keys() == {path.name if path.is_file() or kind == "pictures" else "train"}
    model, run = open_model("reviews", scale="smoke"), trained["labels"]
    corpus, vocabulary = run.task.prepare()
    assert model.vocabulary.tokens == vocabulary.tokens
    test = corpus.tests["test"]
    rows = [f"{text[0]},{corpus.classes[label]}" for text, label in zip(test.texts, test.labels, strict=True)]
    (tmp_path / "test.csv").write_text("review,stars\n" + "\n".join(rows))
    assert (
        model.score(tmp_path / "test.csv")["test.csv"]["accuracy"]
        == read_record(path_of(run)).tests["test"]["accuracy"]
    )
    writer, text = open_model(trained["text"].recipe, scale="smoke"), trained["text"].task.prepare()[0].test
    (tmp_path / "test.txt").write_text(text)
    said, recorded = writer.score(tmp_path / "test.txt")["test.txt"], read_record(path_of(trained["text"]))
    for metric in ("perplexity", "bits_per_byte"):
        assert said[metric] == pytest.approx(recorded.tests["test"][metric], rel=1e-3), metric
    (tmp_path / "test.csv").write_text("review,stars\nx,9\n")
    with pytest.raises(DataError, match=r"test\.csv, line 2: the label '9'"):
        model.score(tmp_path / "test.csv")


def test_an_export_of_a_run_is_the_stored_model_and_never_rounds_the_only_one(trained, tmp_path):
    run = trained["text"]
    stored = folder_of(run)
    before = {file.name: file.read_bytes() for file in stored.iterdir()}
    for folder in (stored, str(stored), tmp_path / "model"):
        assert {file.name: file.read_bytes() for file in export(run, folder).iterdir()} == before


def test_edited_data_neither_reach_an_export_nor_a_stored_model(trained, data, tmp_path):
    """The vocabulary that is exported is the one that the weights were trained with."""
    run, path = trained["pairs"], data["pairs"] / "train.it"
    before, tokens = path.read_text(encoding="utf-8"), open_model("it-en", scale="smoke").vocabulary.tokens
    try:
        path.write_text(before.replace("uno", "xxxx"), encoding="utf-8")
        with pytest.raises(CheckpointError):
            export(run, tmp_path / "model")
        folder = export_stored(folder_of(run), tmp_path / "model")
        assert open_model(folder).vocabulary.tokens == tokens
        plain = recipes.get("own/translator", scale="smoke").evolve(
            task={"corpus": run.task.data, "src": "it"}
        )
        assert plain.identity() != run.identity()
    finally:
        path.write_text(before, encoding="utf-8")


def test_a_model_that_is_not_there_is_told_how_to_be_had(trained):
    with pytest.raises(CheckpointError, match="no stored model 'nope': give a folder that export wrote"):
        open_model("nope")
