"""Language models on characters: their places for reservoirs, their bytes, and what a record of one says."""

import math

import pytest

from reservoir.weights import report
from reservoir_lab import recipes
from reservoir_lab.corpora.texts import ByteVocabulary
from reservoir_lab.runs import LanguageModelling
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import train_and_test


@pytest.mark.parametrize("name", recipes.family("characters"))
def test_four_layers_learn_in_all_but_the_deep_regular_one(name):
    run = recipes.get(name, scale="smoke")
    learning = run.model.layers - len(run.freeze.layers)
    assert learning == (6 if name.endswith("regular-6") else 4)
    model, task, _ = build(run)
    assert isinstance(task.vocabulary, ByteVocabulary) and len(task.vocabulary) == run.task.vocabulary
    frozen = {row.stream.split(".")[1] for row in report(model).rows if not row.moves}
    assert len(frozen) == len(run.freeze.layers)


def test_a_record_counts_bits_a_character_and_goes_on_in_text(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = recipes.get("characters/ffn-6", scale="smoke").evolve(budget={"steps": 2, "validate_every": 2})
    model, task, corpus = build(run)
    assert task.vocabulary.decode(task.test.ids) == corpus.test
    test = train_and_test(run, model, task, corpus).tests["test"]
    assert test["tokens"] == len(corpus.test) - 1  # the first is given
    assert test["bits_per_byte"] == pytest.approx(math.log2(test["perplexity"]), rel=1e-3)


def test_an_unknown_unit_is_named():
    with pytest.raises(ValueError, match="'byte-pieces' or 'bytes', got 'letters'"):
        LanguageModelling("miniature", unit="letters")
