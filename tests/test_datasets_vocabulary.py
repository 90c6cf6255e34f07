"""BPE: exact decoding, fixed special pieces, the same pieces every time, and a cache that survives damage."""

import json
import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reservoir.datasets import DataError, Vocabulary, train_bpe
from reservoir.datasets import vocabulary as module
from reservoir_lab.corpora import parallel
from reservoir_lab.corpora.texts import ByteVocabulary, train_byte_pieces

SPACES = (
    r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000▁]+"  # Unicode's, and the mark for one
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def lines():
    corpus = parallel("miniature", src="de", tgt="en")
    return corpus.train.src[:1500] + corpus.train.tgt[:1500]


@pytest.fixture(scope="module")
def vocabulary(lines):
    return train_bpe(lines, 400, cache=False)


def test_special_pieces_have_the_agreed_ids(vocabulary):
    assert (vocabulary.pad, vocabulary.bos, vocabulary.eos, vocabulary.unk) == (0, 1, 2, 3)
    assert vocabulary.tokens[:4] == ["<pad>", "<s>", "</s>", "<unk>"]
    assert len(vocabulary) == len(vocabulary.tokens) == len(set(vocabulary.tokens)) == 400


def test_text_comes_back_exactly(vocabulary, lines):
    assert [vocabulary.decode(vocabulary.encode(line)) for line in lines] == lines
    assert vocabulary.encode_batch(lines) == [vocabulary.encode(line) for line in lines]


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_but_for_unknown_characters_and_spaces(vocabulary, text):
    known = {character for token in vocabulary.tokens[4:] for character in token} | {" "}
    spaced = re.sub(SPACES, " ", unicodedata.normalize("NFC", text)).strip(" ")
    expected = "".join(character for character in spaced if character in known)
    assert vocabulary.decode(vocabulary.encode(text)) == expected
    assert vocabulary.encode_batch([text]) == [vocabulary.encode(text)]


def test_spaces_and_composition_are_normalised(vocabulary):
    assert vocabulary.decode(vocabulary.encode("  ein \t Hund▁da\n")) == "ein Hund da"
    decomposed = unicodedata.normalize("NFD", "Die Mädchen schlafen.")
    assert vocabulary.encode(decomposed) == vocabulary.encode("Die Mädchen schlafen.")


def test_a_sentence_may_be_empty_or_very_long(vocabulary):
    assert vocabulary.encode("") == vocabulary.encode("  ") == []
    assert vocabulary.decode([]) == ""
    assert vocabulary.decode(vocabulary.encode("Hund " * 10_000)) == ("Hund " * 10_000).strip()


def test_unknown_characters_are_unk_and_specials_are_not_printed(vocabulary):
    assert vocabulary.unk in vocabulary.encode("Hund 犬")
    assert vocabulary.decode([1, *vocabulary.encode("Der Hund."), 2, 0, 0]) == "Der Hund."


@pytest.mark.parametrize("special", ["<pad>", "<s>", "</s>", "<unk>"])
def test_text_that_looks_special_is_text(special):
    vocabulary = train_bpe([f"a {special} b {special}"] * 50, 60, cache=False)
    ids = vocabulary.encode(f"a {special} b")
    assert min(ids) >= 4 and vocabulary.decode(ids) == f"a {special} b"


def test_pieces_cross_neither_words_nor_punctuation(vocabulary):
    for token in vocabulary.tokens[4:]:
        assert "▁" not in token[1:]
        assert token.strip("▁").isalpha() or len(token) == 1


def test_pieces_of_a_tokenised_text_may_hold_punctuation():
    lines = ["we &apos;re here ."] * 50
    vocabulary = train_bpe(lines, 60, tokenised=True, cache=False)
    assert "▁&apos;re" in vocabulary.tokens and "▁&apos;re" not in train_bpe(lines, 60, cache=False).tokens
    assert vocabulary.decode(vocabulary.encode(lines[0])) == lines[0]


def test_a_tiny_size_keeps_the_frequent_characters_whatever_the_text():
    rare = "".join(map(chr, range(0x4E00, 0x4E00 + 500)))
    vocabulary = train_bpe(["abc abc"] * 10 + [rare], 20, cache=False)
    assert len(vocabulary) <= 20
    assert vocabulary.decode(vocabulary.encode("abc cab")) == "abc cab"


def test_the_same_lines_give_the_same_pieces_in_any_process(lines, tmp_path):
    (tmp_path / "lines").write_text("\n".join(lines), encoding="utf-8")
    script = (
        "import sys, pathlib\nfrom reservoir.datasets import train_bpe\n"
        "lines = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8').split('\\n')\n"
        "sys.stdout.buffer.write(train_bpe(lines, 300, cache=False).to_json().encode())"
    )
    command = [sys.executable, "-c", script, tmp_path / "lines"]
    found = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    assert found == train_bpe(lines, 300, cache=False).to_json()


def test_trained_once_and_read_from_the_cache_after(lines, own_cache, monkeypatch):
    first = train_bpe(iter(lines), 200)
    assert [path.suffix for path in (own_cache / "bpe").iterdir()] == [".json"]
    monkeypatch.setattr(module, "trainers", None)  # a second training would fail
    assert train_bpe(lines, 200).to_json() == first.to_json()


def test_other_lines_or_another_size_are_not_mixed_up(lines, own_cache):
    for given_lines, size in (
        (lines, 200),
        (lines, 201),
        (lines[:-1], 200),
        ([lines[0] + lines[1], *lines[2:]], 200),
    ):
        train_bpe(given_lines, size)
    assert len(list((own_cache / "bpe").iterdir())) == 4


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "bytes", "page"])
def test_a_corrupt_cached_file_is_trained_again(lines, own_cache, damage):
    good = train_bpe(lines, 200).to_json()
    (path,) = (own_cache / "bpe").iterdir()
    content = path.read_bytes()
    flipped = content.replace(b'"fuse_unk":false', b'"fuse_unk":true')  # still sound JSON
    assert flipped != content
    broken = {"empty": b"", "cut": content[:-50], "flipped": flipped, "bytes": b"\xff\xfe", "page": b"<html>"}
    path.write_bytes(broken[damage])
    assert train_bpe(lines, 200).to_json() == good
    assert path.read_bytes() == content


def test_a_cache_that_cannot_be_written_costs_only_a_warning(lines, own_cache):
    own_cache.write_text("in the way")
    with pytest.warns(UserWarning, match="trained but not cached"):
        assert len(train_bpe(lines, 200)) == 200


def test_saved_and_loaded(vocabulary, lines, tmp_path):
    (tmp_path / "bpe.json").write_text(vocabulary.to_json(), encoding="utf-8")
    loaded = Vocabulary.from_file(tmp_path / "bpe.json")
    assert loaded.tokens == vocabulary.tokens
    assert loaded.encode_batch(lines) == vocabulary.encode_batch(lines)


def test_a_damaged_or_foreign_file_is_named(vocabulary, tmp_path):
    path = tmp_path / "bpe.json"
    with pytest.raises(DataError, match=r"bpe\.json cannot be read"):
        Vocabulary.from_file(path)
    path.write_text(vocabulary.to_json()[:-100], encoding="utf-8")
    with pytest.raises(DataError, match=r"bpe\.json: this is not a tokenizer's JSON"):
        Vocabulary.from_file(path)
    path.write_text(vocabulary.to_json().replace("<pad>", "[PAD]"), encoding="utf-8")
    with pytest.raises(DataError, match=r"bpe\.json: this has settings, added tokens"):
        Vocabulary.from_file(path)


def changed(**settings):
    return lambda said: {**said, **settings}


def with_model(**settings):
    return lambda said: {**said, "model": {**said["model"], **settings}}


def with_pieces(change):
    return lambda said: with_model(vocab=change(said["model"]["vocab"]))(said)


@pytest.mark.parametrize(
    "change",
    [
        with_model(dropout=0.5),
        changed(truncation={"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}),
        changed(normalizer={"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}),
        changed(pre_tokenizer={"type": "Sequence", "pretokenizers": []}),
        changed(unheard_of=1),
        lambda said: {
            **said,
            "added_tokens": [*said["added_tokens"], {**said["added_tokens"][0], "content": "a"}],
        },
        lambda said: {key: value for key, value in said.items() if key != "normalizer"},
        with_pieces(lambda pieces: {**pieces, "more": 10**6}),
        with_pieces(lambda pieces: {**pieces, "twice": 5}),
        with_pieces(lambda pieces: {}),
        with_model(merges=[["a", "zzzz"]]),
        with_model(merges=[["a"]]),
        lambda said: [],
    ],
)
def test_a_file_that_asks_for_more_than_the_library_ever_does_is_refused(vocabulary, change):
    """Each of these is a tokenizer to the `tokenizers` library, or nearly: another text, or none in hours."""
    said = json.loads(vocabulary.to_json())
    assert Vocabulary.from_json(json.dumps(said)).tokens == vocabulary.tokens
    with pytest.raises(DataError, match="train the vocabulary again"):
        Vocabulary.from_json(json.dumps(change(said)))


@pytest.mark.parametrize(
    "text", ["[" * 10**6, '{"model": ' * 10**5, "1" * 10**5, "\ud800", '{"model": {}, "model": 3}']
)
def test_what_is_nested_or_no_json_is_refused_at_once(text):
    with pytest.raises(DataError):
        Vocabulary.from_json(text)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="size must be at least 16, got 3"):
        train_bpe(["a"], 3)
    with pytest.raises(DataError, match="lines contains no text"):
        train_bpe(["", "  "], 100)


@pytest.mark.parametrize(
    "call",
    [
        lambda lines, _: train_bpe(lines, 100, cache=False),
        lambda lines, _: train_byte_pieces(lines, 300, cache=False),
        lambda lines, vocabulary: vocabulary.encode_batch(lines),
        lambda lines, _: ByteVocabulary().encode_batch(lines[1:]),
    ],
)
def test_half_a_surrogate_pair_is_named_with_its_place(vocabulary, call):
    with pytest.raises(DataError, match=r"line [12], character 3 is '.ud800', half of a surrogate pair"):
        call(["plain", "ab\ud800c"], vocabulary)
    assert ByteVocabulary().encode("\udc80") == [4 + 0x80]  # a byte that is no UTF-8, as Python reads it
