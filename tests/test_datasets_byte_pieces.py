"""Pieces over bytes write every text, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir.datasets import DataError, Vocabulary, train_bpe
from reservoir_lab.corpora.texts import BytePieces, train_byte_pieces

LINES = ["the cat sat on the mat.", "the cats are on the mats; 3.14", "", "  two  spaces\tand a tab "] * 4


@pytest.fixture(scope="module")
def pieces() -> BytePieces:
    return train_byte_pieces(LINES, 300, cache=False)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\n")))
def test_any_line_comes_back_exactly(pieces, line):
    ids = pieces.encode(line)
    assert pieces.decode(ids) == line
    assert min(ids, default=4) >= 4 and max(ids, default=0) < len(pieces)


def test_a_running_text_comes_back_with_its_line_ends(pieces):
    text = "the cat\n\n Ünïcödé 猫\n"
    ids = pieces.encode_text(text)
    assert pieces.decode(ids) == text and (ids == pieces.line_end).sum() == 3


def test_frequent_words_are_one_piece_with_the_space_before_them(pieces):
    assert [pieces.tokens[i] for i in pieces.encode("cats the mat")][-2:] == ["Ġthe", "Ġmat"]


def test_the_cache_keeps_the_kind_of_vocabulary(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_CACHE", str(tmp_path))
    first, again = (train_byte_pieces(LINES, 300) for _ in range(2))
    assert isinstance(again, BytePieces) and again.tokens == first.tokens
    assert BytePieces.from_json(first.to_json()).tokens == first.tokens
    assert type(train_bpe(LINES, 100)) is Vocabulary


def test_too_few_pieces_and_foreign_ones_are_refused():
    with pytest.raises(ValueError, match="size must be at least 260, got 100"):
        train_byte_pieces(LINES, 100)
    with pytest.raises(DataError, match="settings, added tokens or numbers that no vocabulary of ours has"):
        BytePieces.from_json(train_bpe(LINES, 100, cache=False).to_json())
