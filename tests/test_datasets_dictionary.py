"""One language's share of a joint vocabulary: text comes back, and what the language never uses has no place."""

import pytest

from reservoir.datasets import train_bpe
from reservoir_lab.corpora import parallel
from reservoir_lab.corpora.texts import Dictionary


@pytest.fixture(scope="module")
def corpus():
    return parallel("miniature", src="de", tgt="en").train[:1500]


@pytest.fixture(scope="module")
def joint(corpus):
    return train_bpe([*corpus.src, *corpus.tgt], 500, cache=False)


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_text_comes_back_from_fewer_pieces(corpus, joint, side):
    lines = getattr(corpus, side)
    dictionary = Dictionary(joint, lines, 500)
    assert len(dictionary) == len(set(dictionary.tokens)) < len(joint)
    assert dictionary.tokens[:4] == joint.tokens[:4] and set(dictionary.tokens) < set(joint.tokens)
    ids = dictionary.encode_batch(lines)
    assert [dictionary.decode(row) for row in ids] == lines
    assert ids[0] == dictionary.encode(lines[0]) and max(map(max, ids)) == len(dictionary) - 1
    text = "\n".join(lines[:3])
    assert dictionary.encode_text(text).tolist() == [i for row in ids[:3] for i in (*row, dictionary.eos)]


def test_the_most_frequent_pieces_stay_and_the_others_are_unknown(corpus, joint):
    whole, small = Dictionary(joint, corpus.src, 500), Dictionary(joint, corpus.src, 40)
    assert small.tokens == whole.tokens[:40]
    found = small.encode_batch(corpus.src)
    assert any(small.unk in row for row in found)
    for ours, theirs in zip(found, whole.encode_batch(corpus.src), strict=True):
        assert ours == [i if i < 40 else small.unk for i in theirs]


def test_an_id_without_a_piece_is_not_printed(corpus, joint):
    dictionary = Dictionary(joint, corpus.src, 500)  # a model's table may have rows to spare
    assert dictionary.decode([*dictionary.encode("Hund"), len(dictionary), len(dictionary) + 7]) == "Hund"


def test_a_size_without_room_is_named(corpus, joint):
    with pytest.raises(ValueError, match="size must be at least 5, got 4"):
        Dictionary(joint, corpus.src, 4)
