"""Labelled texts: the embedded set is balanced and only order tells; real tables are read whole, or by line refused."""

from collections import Counter

import pytest

from reservoir.datasets import CLASSES, DataError, labelled


@pytest.fixture(scope="module")
def order():
    return labelled("miniature-order")


def parts(corpus):
    return {"train": corpus.train, "valid": corpus.valid, **corpus.tests}


def test_either_class_is_as_frequent_as_the_other(order):
    for part in parts(order).values():
        counts = Counter(part.labels)
        assert counts[0] == counts[1] == len(part) // 2


def test_no_text_stands_in_two_parts(order):
    texts = [text for part in parts(order).values() for text in part.texts]
    assert len(set(texts)) == len(texts)


def test_the_label_is_in_the_order_and_in_no_word(order):
    for (text,), label in zip(order.train.texts, order.train.labels, strict=True):
        assert text == text.lower() and text.split().count("weil") == 1
        assert text.startswith("weil ") == bool(label)


def test_a_seed_makes_the_same_texts_again_and_another_makes_others(order):
    assert labelled("miniature-order").train == order.train
    assert labelled("miniature-order", seed=1).train != order.train


def test_the_nearest_corpus_is_named():
    with pytest.raises(DataError, match="sst-2"):
        labelled("sst2")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Writes SST-2's two files as they are given, where the library will look for them."""
    monkeypatch.setattr("reservoir.datasets.labelled_texts.fetch", lambda name: tmp_path)

    def write(train: str, dev: str = "sentence\tlabel\nfine .\t1\n") -> None:
        (tmp_path / "train.tsv").write_text(train, encoding="utf-8")
        (tmp_path / "dev.tsv").write_text(dev, encoding="utf-8")

    return write


@pytest.mark.parametrize(
    ("train", "named"),
    [
        ("text\tlabel\nfine .\t1\n", ["train.tsv", "line 1", "sentence"]),
        ("sentence\tlabel\nfine .\t1\nbad .\n", ["train.tsv", "line 3", "1 columns, not 2"]),
        ("sentence\tlabel\nfine .\tgood\n", ["train.tsv", "line 2", "'good'"]),
        ("", ["train.tsv", "line 1"]),
    ],
    ids=["column", "cells", "label", "empty"],
)
def test_a_broken_table_is_refused_by_file_and_line(table, train, named):
    table(train)
    with pytest.raises(DataError) as refused:
        labelled("sst-2")
    assert all(word in str(refused.value) for word in named), refused.value


def test_what_validates_is_taken_out_of_training(table):
    table("sentence\tlabel\n" + "".join(f"text {i} .\t{i % 2}\n" for i in range(1500)))
    corpus = labelled("sst-2")
    assert (len(corpus.train), len(corpus.valid), len(corpus.tests["dev"])) == (500, 1000, 1)
    assert not set(corpus.train.texts) & set(corpus.valid.texts)
    for (text,), label in zip(corpus.train.texts, corpus.train.labels, strict=True):
        assert int(text.split()[1]) % 2 == label


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sst-2", {"train": 66_349, "valid": 1000, "dev": 872}),
        ("rte", {"train": 2240, "valid": 250, "dev": 277}),
        ("mrpc", {"train": 3676, "valid": 400, "test": 1725}),
    ],
)
def test_the_real_corpora_are_read_whole(mirror, name, sizes):
    corpus = labelled(name)
    assert {part: len(texts) for part, texts in parts(corpus).items()} == sizes
    assert corpus.classes == CLASSES[name]
    for texts in parts(corpus).values():
        assert set(texts.labels) == {0, 1}
        assert all(all(side for side in text) for text in texts.texts)
