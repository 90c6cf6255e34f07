"""The miniature: correct German, correct English, the same everywhere, and nothing of the test in the training set."""

import dataclasses
import itertools

import pytest

from reservoir.datasets import tagged
from reservoir.datasets.grammar import NOUNS, PLACES, VERBS, Clause, Draws, NounPhrase, Pronoun, sentences
from reservoir_lab.corpora import parallel

FINITE = {"VVFIN", "VMFIN", "VAFIN"}
KNOWN_TAGS = FINITE | {
    "ART", "PDAT", "PPOSAT", "ADJA", "NN", "PPER", "ADV", "APPR", "APPRART", "PTKNEG", "PTKVZ", "KOUS", "VVINF", "VVPP",
    "$,", "$.",
}  # fmt: skip


@pytest.fixture(scope="module")
def miniature():
    return tagged()


@pytest.fixture(scope="module")
def everything(miniature):
    return miniature.train + miniature.valid + miniature.test


def np(noun, determiner="der", plural=False, adjective=None):
    return NounPhrase(next(n for n in NOUNS if n.singular == noun), determiner, plural, adjective)


def verb(infinitive):
    return next(v for v in VERBS if v.infinitive == infinitive)


def said(tagged_words, english):
    return " ".join(word for word, _ in tagged_words), " ".join(english)


OPEN = Clause(np("Mann"), verb("aufmachen"), np("Tür", adjective=("alt", "old")))
GIVE = Clause(
    np("Frau", plural=True), verb("geben"), np("Ball", "ein"), np("Kind", plural=True), time="heute"
)
PLAY = Clause(
    np("Mädchen", "dieser"), verb("spielen"), companion=np("Hund", "mein", adjective=("klein", "small"))
)
SEE = Clause(
    np("Katze", "ein"), verb("sehen"), np("Vogel", "mein", adjective=("schwarz", "black")), place=PLACES[2]
)


def but(clause, **changes):
    return dataclasses.replace(clause, **changes)


# Written by hand, as a speaker of both languages would say it.
STATEMENTS = [
    (OPEN, "subject", "der Mann macht die alte Tür auf", "the man opens the old door"),
    (but(OPEN, modal="müssen"), "subject", "der Mann muss die alte Tür aufmachen", "the man must open the old door"),
    (but(OPEN, perfect=True), "subject", "der Mann hat die alte Tür aufgemacht", "the man opened the old door"),
    (but(OPEN, negated=True, modal="wollen", subject=Pronoun("wir")), "subject",
     "wir wollen die alte Tür nicht aufmachen", "we do not want to open the old door"),
    (but(OPEN, negated=True, perfect=True), "subject",
     "der Mann hat die alte Tür nicht aufgemacht", "the man did not open the old door"),
    (GIVE, "subject", "die Frauen geben heute den Kindern einen Ball", "the women give the children a ball today"),
    (GIVE, "dative", "den Kindern geben die Frauen heute einen Ball", "the women give the children a ball today"),
    (but(GIVE, dative=Pronoun("sie"), time="gestern", perfect=True), "time",
     "gestern haben die Frauen ihr einen Ball gegeben", "yesterday the women gave her a ball"),
    (PLAY, "subject", "dieses Mädchen spielt mit meinem kleinen Hund", "this girl plays with my small dog"),
    (but(PLAY, negated=True, time="jetzt"), "subject",
     "dieses Mädchen spielt jetzt nicht mit meinem kleinen Hund", "this girl does not play with my small dog now"),
    (SEE, "accusative", "meinen schwarzen Vogel sieht eine Katze in der Küche",
     "a cat sees my black bird in the kitchen"),
    (SEE, "place", "in der Küche sieht eine Katze meinen schwarzen Vogel", "in the kitchen a cat sees my black bird"),
    (but(SEE, accusative=np("Apfel", "ein", adjective=("klein", "small")), time="oft"), "subject",
     "eine Katze sieht oft in der Küche einen kleinen Apfel", "a cat often sees a small apple in the kitchen"),
    (but(SEE, accusative=np("Vogel", "ein", True, ("klein", "small")), place=None), "subject",
     "eine Katze sieht kleine Vögel", "a cat sees small birds"),
    (Clause(Pronoun("sie alle"), verb("helfen"), dative=np("Nachbar", "ein", adjective=("alt", "old"))), "subject",
     "sie helfen einem alten Nachbarn", "they help an old neighbour"),
    (Clause(np("Ärztin", "ein", adjective=("klug", "clever")), verb("mitnehmen"), Pronoun("er")), "subject",
     "eine kluge Ärztin nimmt ihn mit", "a clever doctor takes him along"),
    (Clause(np("Junge"), verb("suchen"), np("Junge", "dieser", True, ("müd", "tired"))), "subject",
     "der Junge sucht diese müden Jungen", "the boy looks for these tired boys"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "front", "german", "english"), STATEMENTS)
def test_statements_are_what_a_speaker_says(clause, front, german, english):
    assert said(clause.statement(front), clause.english(front)) == (german, english)


@pytest.mark.parametrize(
    ("clause", "german", "english"),
    [
        (OPEN, "macht der Mann die alte Tür auf", "does the man open the old door"),
        (but(OPEN, modal="können"), "kann der Mann die alte Tür aufmachen", "can the man open the old door"),
        (but(OPEN, modal="wollen"), "will der Mann die alte Tür aufmachen", "does the man want to open the old door"),
        (but(GIVE, perfect=True), "haben die Frauen heute den Kindern einen Ball gegeben",
         "did the women give the children a ball today"),
        (but(SEE, time="oft"), "sieht eine Katze oft meinen schwarzen Vogel in der Küche",
         "does a cat often see my black bird in the kitchen"),
    ],
)  # fmt: skip
def test_questions_are_what_a_speaker_asks(clause, german, english):
    assert said(clause.question(), clause.english(question=True)) == (german, english)


@pytest.mark.parametrize(
    ("clause", "german"),
    [
        (OPEN, "der Mann die alte Tür aufmacht"),
        (but(OPEN, modal="können"), "der Mann die alte Tür aufmachen kann"),
        (but(OPEN, perfect=True, negated=True), "der Mann die alte Tür nicht aufgemacht hat"),
        (but(PLAY, negated=True), "dieses Mädchen nicht mit meinem kleinen Hund spielt"),
    ],
)
def test_subordinate_clauses_end_in_their_verbs(clause, german):
    assert said(clause.subordinate(), [])[0] == german


def test_tags_belong_to_the_words(everything):
    for sentence in everything:
        assert len(sentence.words) == len(sentence.tags) and set(sentence.tags) <= KNOWN_TAGS
        text = " ".join(sentence.words)
        for mark in ",.?":
            text = text.replace(f" {mark}", mark)
        assert text == sentence.de
        assert sentence.de[0].isupper() and sentence.en[0].isupper()
        for word, tag in zip(sentence.words[1:], sentence.tags[1:], strict=True):
            assert word[0].isupper() == (tag == "NN"), sentence.de


def test_the_finite_verb_of_a_subordinate_clause_is_last(everything):
    clauses = 0
    for sentence in everything:
        for start, tag in enumerate(sentence.tags):
            if tag == "KOUS":
                end = next(i for i in range(start, len(sentence.tags)) if sentence.tags[i].startswith("$"))
                inside = sentence.tags[start:end]
                assert (
                    inside[-1] in FINITE and sum(t in FINITE for t in inside) == 1 and "PTKVZ" not in inside
                )
                clauses += 1
    assert clauses > len(everything) / 4


def test_a_separated_prefix_closes_its_clause(everything):
    found = set()
    for sentence in everything:
        for i, tag in enumerate(sentence.tags):
            if tag == "PTKVZ":
                assert sentence.tags[i + 1].startswith("$")
                found.add(sentence.words[i])
    assert found == {"auf", "zu", "an", "mit", "ein"}


def test_some_words_can_only_be_told_apart_by_their_place(everything):
    tags = {}
    for sentence in everything:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            tags.setdefault(word.lower(), set()).add(tag)
    assert tags["ein"] == {"ART", "PTKVZ"}
    assert tags["mit"] == {"APPR", "PTKVZ"}
    assert tags["sehen"] == {"VVFIN", "VVINF"}


def test_the_vocabulary_is_small_and_closed(miniature):
    for words in (
        lambda s: s.words,
        lambda s: s.en.replace(".", " .").replace(",", " ,").replace("?", " ?").split(),
    ):
        known = {word.lower() for sentence in miniature.train for word in words(sentence)}
        assert 150 <= len(known) <= 250
        assert {word.lower() for sentence in miniature.test for word in words(sentence)} <= known


def test_no_sentence_is_made_twice_in_either_language():
    some = list(itertools.islice(sentences(0), 20_000))
    for texts in ([s.de for s in some], [s.en for s in some]):
        assert len(texts) == len(set(texts))


def test_the_splits_have_the_asked_sizes_and_share_nothing(miniature):
    splits = [{s.de for s in part} for part in (miniature.train, miniature.valid, miniature.test)]
    assert [len(split) for split in splits] == [6000, 500, 500]
    assert len(set.union(*splits)) == 7000


def test_a_longer_training_set_keeps_the_test(miniature):
    other = tagged(train=10, valid=500, test=500)
    assert (
        other.test == miniature.test
        and other.valid == miniature.valid
        and other.train == miniature.train[:10]
    )


def test_negative_sizes_are_refused():
    with pytest.raises(ValueError, match="valid must not be negative, got -1"):
        tagged(valid=-1)


def test_parallel_gives_it_either_way_round(miniature):
    there, back = parallel("miniature", src="de", tgt="en"), parallel("miniature", src="en", tgt="de")
    assert there.train.src == back.train.tgt == [sentence.de for sentence in miniature.train]
    assert there.tests["test"].tgt == back.tests["test"].src == [sentence.en for sentence in miniature.test]


def test_draws_are_fair_and_shuffles_lose_nothing():
    draws = Draws(0)
    counts = [0] * 5
    for _ in range(5000):
        counts[draws.below(5)] += 1
    assert min(counts) > 850
    assert sorted(draws.shuffled(range(100))) == list(range(100))
    assert Draws(1).shuffled(range(100)) == Draws(1).shuffled(range(100)) != Draws(2).shuffled(range(100))
