"""A vocabulary of bytes: any text comes back exactly, wherever it was cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir.datasets import Vocabulary, train_bpe
from reservoir_lab.corpora.texts import ByteVocabulary

VOCABULARY = ByteVocabulary()


def test_it_has_the_special_pieces_and_a_piece_a_byte():
    assert len(VOCABULARY) == len(VOCABULARY.tokens) == len(set(VOCABULARY.tokens)) == 4 + 256
    for name in ("pad", "bos", "eos", "unk"):
        assert getattr(VOCABULARY, name) == getattr(Vocabulary, name)
    assert VOCABULARY.tokens[:4] == ["<pad>", "<s>", "</s>", "<unk>"]
    assert [VOCABULARY.tokens[i] for i in VOCABULARY.encode("a z\n")] == ["a", " ", "z", "<0x0a>"]
    assert VOCABULARY.encode("\n") == [VOCABULARY.line_end]


@given(st.text())
def test_any_text_comes_back(text):
    ids = VOCABULARY.encode(text)
    assert VOCABULARY.decode(ids) == text
    assert all(4 <= i < 260 for i in ids) and len(ids) == len(text.encode())
    assert VOCABULARY.encode_batch([text, ""]) == [ids, []]
    assert VOCABULARY.encode_text(text).tolist() == ids


@given(st.binary())
def test_bytes_that_are_no_text_come_back_too(content):
    ids = VOCABULARY.encode(content.decode("utf-8", "surrogateescape"))
    assert bytes(i - 4 for i in ids) == content
    assert VOCABULARY.decode(ids).encode("utf-8", "surrogateescape") == content


def test_special_pieces_are_not_printed():
    assert VOCABULARY.decode([1, *VOCABULARY.encode("Tag </s>"), 2, 0]) == "Tag </s>"


@pytest.mark.parametrize("text", ["eins zwei\n\ndrei", "eins zwei\n\ndrei\n"])
def test_a_running_text_is_one_row_in_pieces_and_in_bytes(text):
    pieces = train_bpe(["eins zwei drei"] * 3, 30, cache=False)
    assert pieces.encode_text(text).tolist() == [
        *pieces.encode("eins zwei"), pieces.eos, pieces.eos, *pieces.encode("drei"), pieces.eos
    ]  # fmt: skip
    assert VOCABULARY.encode_text(text).tolist().count(VOCABULARY.line_end) == text.count("\n")
