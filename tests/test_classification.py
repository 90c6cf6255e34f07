"""Classifiers: padding changes nothing, a bag knows no order, what is frozen stays, and a readout learns."""

from types import SimpleNamespace

import pytest
import torch

from reservoir.datasets import Labelled, pad_sources, train_bpe
from reservoir.models import Classifier, ClassifierConfig
from reservoir.models.classifier import ENCODERS
from reservoir.training import ClassificationTask, accuracy
from reservoir.weights import initialise
from reservoir_lab import recipes
from reservoir_lab.corpora import labelled
from reservoir_lab.runs import Classification
from reservoir_lab.runs.execution import execute

SIZES = dict(vocab=50, classes=3, d_model=8, d_encoder=10)


def make(**changes) -> Classifier:
    return initialise(Classifier(ClassifierConfig(**{**SIZES, **changes})), seed=0).eval()


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_padding_changes_no_logit(encoder, pooling):
    model = make(encoder=encoder, pooling=pooling)
    short, long = [5, 6, 7], [8, 9, 10, 11, 12, 13, 14]
    together, alone = model(pad_sources([short, long])), model(pad_sources([short]))
    assert together.shape == (2, 3)
    torch.testing.assert_close(together[:1], alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_bag_knows_no_order(pooling):
    model = make(encoder="bag", pooling=pooling)
    torch.testing.assert_close(model(pad_sources([[5, 6, 7]])), model(pad_sources([[7, 5, 6]])))
    assert not torch.allclose(model(pad_sources([[5, 6, 7]])), model(pad_sources([[5, 6, 8]])))


@pytest.mark.parametrize("encoder", ["lstm", "echo-states"])
def test_a_recurrent_encoder_knows_the_order_in_both_directions(encoder):
    model = make(encoder=encoder)
    said = [model.encoder(model.embedding(torch.tensor([ids])), torch.ones(1, 3, dtype=torch.bool))[0]
            for ids in ([5, 6, 7], [5, 6, 8], [9, 6, 7])]  # fmt: skip
    there, back = slice(0, 5), slice(5, 10)
    assert torch.equal(said[0][:2, there], said[1][:2, there])  # what lies ahead is not known yet
    assert torch.equal(said[0][1:, back], said[2][1:, back])
    assert not torch.allclose(said[0][0, back], said[1][0, back])
    assert not torch.allclose(said[0][2, there], said[2][2, there])
    assert not torch.allclose(model(torch.tensor([[5, 6, 7]])), model(torch.tensor([[7, 6, 5]])))


def test_a_projection_gives_the_mean_nothing_new_and_the_maximum_something():
    """The mean of a projection is the projection of the mean; a maximum is not linear."""
    for pooling, linear in (("mean", True), ("max", False)):
        model = make(encoder="projection", pooling=pooling)
        one, other, both = (model.features(torch.tensor([ids])) for ids in ([5, 6], [7, 8], [5, 6, 7, 8]))
        assert torch.allclose(both, (one + other) / 2, atol=1e-6) == linear


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="d_encoder must be even, half for each direction, got 9"):
        make(encoder="lstm", d_encoder=9)


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"encoder": "oracle"}, "encoder must be one of .*'oracle'"), ({"pooling": "sum"}, "pooling .*'sum'")],
)
def test_a_choice_that_does_not_exist_is_named(changes, named):
    with pytest.raises(ValueError, match=named):
        ClassifierConfig(**changes)


def toy(texts: list[str], labels: list[int]) -> Labelled:
    return Labelled([(text,) for text in texts], labels)


@pytest.fixture(scope="module")
def vocabulary():
    return train_bpe([text for (text,) in labelled("miniature-order").train.texts], 300)


def test_two_sentences_are_joined_by_an_end_of_sentence(vocabulary):
    pairs = Labelled([("der hund", "die katze")], [0])
    task = ClassificationTask(pairs, pairs, vocabulary=vocabulary, max_tokens=64, seed=0)
    (row,) = task.encode(pairs)
    assert row == [*vocabulary.encode("der hund"), vocabulary.eos, *vocabulary.encode("die katze")]


def test_a_batch_carries_the_classes_and_counts_texts_and_tokens(vocabulary):
    data = toy(["der hund", "die katze schläft", "weil"], [2, 0, 1])
    task = ClassificationTask(data, data, vocabulary=vocabulary, max_tokens=1000, seed=0)
    seen, texts, tokens = {}, 0, 0
    for batch in task.epoch(0):
        for row, label in zip(batch.src, batch.tgt_out[:, 0], strict=True):
            seen[tuple(row[row != vocabulary.pad].tolist()[:-1])] = int(label)
        texts, tokens = texts + task.size(batch)[0], tokens + task.size(batch)[1]
    assert seen == {tuple(row): label for row, label in zip(task.encode(data), data.labels, strict=True)}
    assert (texts, tokens) == (3, sum(len(row) + 1 for row in task.encode(data)))


def test_predictions_come_in_the_order_of_the_texts(vocabulary):
    corpus = labelled("miniature-order")
    task = ClassificationTask(corpus.train, corpus.valid, vocabulary=vocabulary, max_tokens=1000, seed=0)
    model = initialise(Classifier(ClassifierConfig(len(vocabulary), 2, d_model=16)), seed=0).eval()
    by_one = [int(model(pad_sources([row])).argmax()) for row in task.encode(corpus.valid)]
    assert task.predict(model, corpus.valid, batch=7) == by_one
    assert task.validate(model)["accuracy"] == accuracy(by_one, corpus.valid.labels)


def test_accuracy_is_the_share_that_agrees_in_percent():
    assert accuracy([0, 1, 1, 0], [0, 1, 0, 0]) == 75.0


def test_a_record_of_a_classifier_tells_its_accuracy(results):
    record = execute(recipes.get("sentences/bag", scale="smoke"))
    assert record.scored_by == "accuracy" and 0 <= record.tests["test"]["accuracy"] <= 100
    assert record.tests["test"]["sentences"] == 500


def test_cut_texts_keep_both_sentences_and_the_longer_one_loses_first(vocabulary):
    long, short = "der hund und die katze schlafen nicht", "weil der hund schläft"
    pair = Labelled([(long, short)], [0])
    left, right = (vocabulary.encode(side) for side in (long, short))
    assert len(left) > len(right) > 3

    def read(cut):
        task = ClassificationTask(
            pair, pair, vocabulary=vocabulary, max_tokens=64, seed=0, lead=(vocabulary.bos,), cut=cut
        )
        (row,) = task.encode(pair)
        return row, task.epoch(0)[0].src.shape[1]

    whole = len(left) + len(right) + 3
    assert read(whole) == read(None) and read(whole)[1] == whole
    for cut in range(5, whole):
        row, length = read(cut)
        end = row.index(vocabulary.eos)
        kept = (end - 1, len(row) - end - 1)
        assert length == cut and row[1:end] == left[: kept[0]] and row[end + 1 :] == right[: kept[1]]
        assert kept[1] == len(right) or abs(kept[0] - kept[1]) <= 1
    with pytest.raises(ValueError, match="cut must be at least 5, got 4; the lead has 1 ids"):
        read(4)


def test_a_score_is_the_share_of_right_classes():
    model = SimpleNamespace(predict=lambda model, texts: [1, 0, 1], metric="accuracy")
    texts = Labelled([("a",), ("b",), ("c",)], [0, 0, 1])
    corpus = SimpleNamespace(tests={"test": texts}, classes=("bad", "good"))
    tests = Classification("miniature-order").test(None, model, corpus)
    assert tests == {"test": {"accuracy": pytest.approx(200 / 3), "sentences": 3}}
