"""Labelled texts: the embedded set is balanced and only order tells; real tables are read whole, or by line refused."""

import zipfile
from collections import Counter

import pytest

from reservoir.datasets import DataError
from reservoir_lab.corpora import CLASSES, labelled


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
    monkeypatch.setattr("reservoir_lab.corpora.texts.fetch", lambda name: tmp_path)

    def write(train: str, dev: str = "sentence\tlabel\nfine .\t1\n") -> None:
        (tmp_path / "train.tsv").write_text(train, encoding="utf-8")
        (tmp_path / "dev.tsv").write_text(dev, encoding="utf-8")

    return write


def test_what_validates_is_taken_out_of_training(table):
    table("sentence\tlabel\n" + "".join(f"text {i} .\t{i % 2}\n" for i in range(1500)))
    corpus = labelled("sst-2")
    assert (len(corpus.train), len(corpus.valid), len(corpus.tests["dev"])) == (500, 1000, 1)
    assert not set(corpus.train.texts) & set(corpus.valid.texts)
    for (text,), label in zip(corpus.train.texts, corpus.train.labels, strict=True):
        assert int(text.split()[1]) % 2 == label


MNLI = ["index", "promptID", "sentence1", "sentence2", "label1", "gold_label"]
QQP = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]


def rows(columns: list[str], texts: tuple[str, str], label: str, labels: list[str], size: int) -> str:
    lines = ["\t".join(columns)]
    for i in range(size):
        cells = {name: f"{name} {i}" for name in columns}
        cells |= {
            texts[0]: f'the "first" {i} .',
            texts[1]: f"the second {i} .",
            label: labels[i % len(labels)],
        }
        lines.append("\t".join(cells[name] for name in columns))
    return "\n".join(lines) + "\n"


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Writes the archive of a GLUE task as GLUE lays it out, where the library will look for it."""
    monkeypatch.setattr("reservoir_lab.corpora.texts.fetch", lambda name: tmp_path)

    def write(name: str, members: dict[str, str]) -> None:
        with zipfile.ZipFile(tmp_path / name, "w") as packed:
            for member, content in members.items():
                packed.writestr(member, content)

    return write


def mnli(size: int) -> dict[str, str]:
    table = rows(
        MNLI, ("sentence1", "sentence2"), "gold_label", ["neutral", "entailment", "contradiction"], size
    )
    return {"MNLI/train.tsv": table, "MNLI/dev_matched.tsv": table, "MNLI/dev_mismatched.tsv": table}


def test_mnli_has_three_classes_and_two_tests(archive):
    archive("MNLI.zip", mnli(5030))
    corpus = labelled("mnli")
    assert corpus.classes == CLASSES["mnli"] == ("entailment", "neutral", "contradiction")
    assert (len(corpus.train), len(corpus.valid), corpus.tests.keys()) == (
        30,
        5000,
        {"matched", "mismatched"},
    )
    test = corpus.tests["mismatched"]
    assert test.texts[1] == ('the "first" 1 .', "the second 1 .") and test.labels[:3] == [1, 0, 2]


def test_an_archive_without_a_part_names_those_it_has(archive):
    members = mnli(5030)
    del members["MNLI/dev_mismatched.tsv"]
    archive("MNLI.zip", members)
    with pytest.raises(
        DataError, match=r"MNLI\.zip holds .*dev_matched\.tsv.*got 'MNLI/dev_mismatched\.tsv'"
    ):
        labelled("mnli")


def test_quora_s_broken_lines_are_left_out_if_they_are_few(archive):
    whole = rows(QQP, ("question1", "question2"), "is_duplicate", ["0", "1"], 5010)
    broken = "7\t1\t2\tWhat is a\n new line?\tWhy?\t1\n"  # one question of two lines: neither has six columns
    archive("QQP-clean.zip", {"QQP/train.tsv": whole + broken, "QQP/dev.tsv": whole})
    corpus = labelled("qqp")
    assert (len(corpus.train), len(corpus.valid), len(corpus.tests["dev"])) == (10, 5000, 5010)
    assert corpus.classes == ("different", "duplicate")
    archive("QQP-clean.zip", {"QQP/train.tsv": whole + broken * 26, "QQP/dev.tsv": whole})
    with pytest.raises(DataError, match="more than 50 lines have other than 6 columns"):
        labelled("qqp")


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
