"""Corpora: the right parts under the right names, splits that do not leak, and a reader's own text."""

import gzip
import hashlib
import os
import zipfile

import pytest

from reservoir.datasets import DataError, Pairs
from reservoir_lab import corpora
from reservoir_lab.corpora import fetching, parallel, texts
from reservoir_lab.corpora.texts import ByteVocabulary


@pytest.fixture
def mirror():
    if not os.environ.get("RESERVOIR_MIRROR"):
        pytest.skip("RESERVOIR_MIRROR names no mirror that has the dataset")


@pytest.mark.data
def test_multi30k_has_its_published_sizes(mirror):
    corpus = parallel("multi30k", src="de", tgt="en")
    assert (len(corpus.train), len(corpus.valid)) == (29_000, 1014)
    sizes = {name: len(pairs) for name, pairs in corpus.tests.items()}
    assert sizes == {"test2016": 1000, "test2017": 1000, "coco2017": 461, "test2018": 1071}
    back = parallel("multi30k", src="en", tgt="de")
    assert back.train == Pairs(corpus.train.tgt, corpus.train.src)


@pytest.mark.data
def test_tatoeba_leaks_nothing_and_depends_on_the_seed(mirror):
    corpus = parallel("tatoeba-de-en", src="de", tgt="en")
    test, valid = corpus.tests["test"], corpus.valid
    assert len(test) == len(valid) == 2000 and len(corpus.train) > 150_000
    for side in ("src", "tgt"):
        held_out = getattr(test, side) + getattr(valid, side)
        assert len(set(held_out)) == 4000
        assert not set(held_out) & set(getattr(corpus.train, side))
    assert parallel("tatoeba-de-en", src="en", tgt="de").tests["test"].tgt == test.src
    assert parallel("tatoeba-de-en", src="de", tgt="en", seed=1).tests["test"] != test


@pytest.mark.data
def test_the_news_have_longer_sentences_than_captions_and_train_on_none_that_is_held_out(mirror):
    news, captions = (parallel(name, src="de", tgt="en") for name in ("news-de-en", "multi30k"))
    words = [sum(map(len, map(str.split, one.train.tgt))) / len(one.train) for one in (news, captions)]
    assert 1.7 < words[0] / words[1] < 1.8 and 24_000 < len(news.train) < 25_000
    held_out = {
        *news.valid.src,
        *news.valid.tgt,
        *news.tests["newstest2014"].src,
        *news.tests["newstest2014"].tgt,
    }
    assert len(news.valid) == 3000 and not held_out & {*news.train.src, *news.train.tgt}
    back = parallel("news-de-en", src="en", tgt="de")
    assert back.train == Pairs(news.train.tgt, news.train.src)


@pytest.mark.data
def test_news_test_sets_are_found_by_language(mirror):
    there = corpora.test_set("newstest2014", src="de", tgt="en")
    assert len(there) == 3003
    assert corpora.test_set("newstest2014", src="en", tgt="de") == Pairs(there.tgt, there.src)
    assert len(corpora.test_set("newstest2017", src="tr", tgt="en")) == 3007


@pytest.mark.data
def test_running_text_is_whole(mirror):
    wiki, plays = corpora.text("wikitext-2"), corpora.text("tiny-shakespeare")
    assert "<unk>" in wiki.train and "<unk>" in wiki.test
    files = {file.name: file for file in fetching.one("tiny-shakespeare").files}
    whole = (plays.train + plays.valid + plays.test).encode()
    assert hashlib.sha256(whole).hexdigest() == files["input.txt"].sha256
    assert plays.train.endswith("\n") and plays.valid.endswith("\n")


def test_enwik8_is_cut_by_bytes_wherever_that_is(tmp_path, monkeypatch):
    content = ("é" + "x" * 8).encode() * 100  # ten bytes each
    content = content[1:] + b"y"  # the bytes of an é stand at 899 and 900, and at 949 and 950
    with zipfile.ZipFile(tmp_path / "enwik8.zip", "w") as archive:
        archive.writestr("enwik8", content)
    monkeypatch.setattr(texts, "fetch", lambda name: tmp_path)
    text, vocabulary = corpora.text("enwik8"), ByteVocabulary()
    sizes = [len(vocabulary.encode(part)) for part in (text.train, text.valid, text.test)]
    assert sizes == [900, 50, 50] and text.train.endswith("\udcc3") and text.valid.endswith("\udcc3")
    joined = text.train + text.valid + text.test
    assert joined.encode("utf-8", "surrogateescape") == content


def test_the_miniature_is_running_text_too():
    mini, corpus = corpora.text("miniature"), parallel("miniature", src="de", tgt="en")
    assert mini.train.split("\n")[:-1] == corpus.train.tgt
    assert mini.test.split("\n")[:-1] == corpus.tests["test"].tgt


@pytest.fixture
def folder(tmp_path):
    for part in ("train", "valid", "test", "test-old"):
        (tmp_path / f"{part}.de").write_text(f"{part}\neins\nzwei\n", encoding="utf-8")
        (tmp_path / f"{part}.fr.gz").write_bytes(gzip.compress(f"{part}!\nrien\ndeux\n".encode()))
    return tmp_path


def test_a_text_of_ones_own(folder):
    corpus = parallel(f"files:{folder}", src="de", tgt="fr")
    assert corpus.train == Pairs(["train", "eins", "zwei"], ["train!", "rien", "deux"])
    assert corpus.tests.keys() == {"test", "test-old"}
    assert corpus.tests["test-old"].src[0] == "test-old"
    assert parallel(f"files:{folder}", src="fr", tgt="de").tests.keys() == {"test", "test-old"}


@pytest.mark.parametrize(("src", "test"), [("de", "test.dev"), ("it", "test.it-news"), ("de", "test.de")])
def test_a_tests_name_may_hold_a_dot_and_a_language(tmp_path, src, test):
    for part in ("train", "valid", "test", test):
        (tmp_path / f"{part}.{src}.gz").write_bytes(gzip.compress(f"{part}\n".encode()))
        (tmp_path / f"{part}.en").write_text(f"{part}!\n", encoding="utf-8")
    tests = parallel(f"files:{tmp_path}", src=src, tgt="en").tests
    assert tests == {"test": Pairs(["test"], ["test!"]), test: Pairs([test], [f"{test}!"])}


def test_a_text_of_ones_own_that_lacks_a_file_is_told_which(folder):
    (folder / "valid.fr.gz").unlink()
    with pytest.raises(DataError, match=r"has no valid\.fr, which must translate the other valid file"):
        parallel(f"files:{folder}", src="de", tgt="fr")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: parallel("multi30", src="de", tgt="en"),
            "no parallel corpus 'multi30': did you mean 'multi30k'",
        ),
        (lambda: parallel("multi30k", src="fr", tgt="en"), "has the languages 'de' and 'en', got src='fr'"),
        (lambda: parallel("miniature", src="de", tgt="de"), "two languages, got 'de' twice"),
        (lambda: corpora.text("wikitext"), "no text 'wikitext': did you mean 'wikitext-2'"),
        (lambda: corpora.test_set("newstest2041", src="de", tgt="en"), "did you mean 'newstest20"),
        (lambda: corpora.test_set("newstest2014", src="tr", tgt="de"), "between 'en' and 'de' or 'tr'"),
    ],
)
def test_wrong_names_are_answered_with_the_nearest(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_articles_stay_whole_and_their_marks_are_left_out(monkeypatch):
    monkeypatch.setattr(texts, "ARTICLES_HELD_OUT", 1)
    lines = [line for n in range(4) for line in (f'<doc id="{n}">', f"Title {n}", "", f"Text {n}.", "</doc>")]
    assert texts._articles(lines) == (
        "Title 0\nText 0.\nTitle 1\nText 1.\n",
        "Title 2\nText 2.\n",
        "Title 3\nText 3.\n",
    )
