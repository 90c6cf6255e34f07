"""The miniature dataset: any number of German-English sentence pairs from a grammar, without a download.

The vocabulary is small and closed, but the sentences have the difficulties of German word order: three genders and
three cases with their adjective endings, verbs at the end of subordinate clauses, modals and perfects that enclose the
clause, separable prefixes, fronted objects. A small transformer learns it in under a minute; a model with a short
context does not. "Sie" is never the formal address, and the perfect is translated as the English past.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from reservoir.datasets.draws import Draws
from reservoir.datasets.grammar import (
    ADJECTIVES,
    PLACES,
    PRONOUNS,
    REPORTING,
    VERBS,
    Clause,
    Noun,
    NounPhrase,
    Pronoun,
    fitting,
)


@dataclass(frozen=True)
class Sentence:
    """A sentence in both languages.

    Args:
        de, en: the text.
        words: the German words and punctuation marks, in the order of `de`.
        tags: the part of speech of each of `words` (STTS; listed in `reservoir.datasets.grammar`).
    """

    de: str
    en: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Miniature:
    """The sentences in three splits, which share no sentence in either language."""

    train: list[Sentence]
    valid: list[Sentence]
    test: list[Sentence]


def tagged(seed: int = 0, *, train: int = 6000, valid: int = 500, test: int = 500) -> Miniature:
    """Generate the miniature with its parts of speech.

    The test sentences depend only on `seed` and `test`, so a larger training set is tested on the same ones.

    Args:
        seed: any integer; the same seed gives the same sentences on every machine.
        train, valid, test: sentences in each split.
    """
    for name, size in (("train", train), ("valid", valid), ("test", test)):
        if size < 0:
            raise ValueError(f"{name} must not be negative, got {size}")
    return Miniature(*map(list, _generated(seed, train, valid, test)))


@lru_cache(maxsize=4)
def _generated(seed: int, train: int, valid: int, test: int) -> tuple[tuple[Sentence, ...], ...]:
    stream = sentences(seed)
    parts = [tuple(next(stream) for _ in range(size)) for size in (test, valid, train)]
    return tuple(reversed(parts))


def sentences(seed: int) -> Iterator[Sentence]:
    """Yield sentences without end; none repeats, in German or in English."""
    draws = Draws(seed)
    seen = set()
    while True:
        sentence = _sentence(draws)
        if sentence.de not in seen and sentence.en not in seen:
            seen |= {sentence.de, sentence.en}
            yield sentence


def _sentence(draws: Draws) -> Sentence:
    kind = draws.below(100)
    if kind < 42:
        clause = _clause(draws)
        front = _front(draws, clause)
        return _finish(clause.statement(front), clause.english(front), ".")
    if kind < 54:
        clause = _clause(draws, negatable=False)
        return _finish(clause.question(), clause.english(question=True), "?")
    if kind < 77:
        return _report(draws)
    return _reason(draws)


def _report(draws: Draws) -> Sentence:
    """Die Frau glaubt, dass …"""
    third, plural_form, en, en_third = draws.pick(REPORTING)
    subject, negated = _actor(draws, "adult sibling child"), draws.chance(0.15)
    plural = subject.plural
    said = _clause(draws)
    verb = (plural_form if plural else third, "VVFIN")
    nicht = [("nicht", "PTKNEG")] if negated else []
    german = [*subject.german("nom"), verb, *nicht, (",", "$,"), ("dass", "KOUS"), *said.subordinate()]
    if negated:
        knows = ["do" if plural else "does", "not", en]
    else:
        knows = [en if plural else en_third]
    return _finish(german, [*subject.english("nom"), *knows, "that", *said.english()], ".")


def _reason(draws: Draws) -> Sentence:
    """…, weil …, or with the reason first."""
    main = _clause(draws)
    # Both clauses have the same tense, and at most one of them names a time.
    reason = _clause(draws, tense=main.perfect, timed=main.time is None)
    if draws.chance(0.35):
        german = [("weil", "KOUS"), *reason.subordinate(), (",", "$,"), *main.question()]
        return _finish(german, ["because", *reason.english(), ",", *main.english()], ".")
    front = _front(draws, main)
    german = [*main.statement(front), (",", "$,"), ("weil", "KOUS"), *reason.subordinate()]
    return _finish(german, [*main.english(front), "because", *reason.english()], ".")


def _finish(german: list[tuple[str, str]], english: list[str], stop: str) -> Sentence:
    words, tags = zip(*german, (stop, "$."), strict=True)
    words = (_capital(words[0]), *words[1:])
    return Sentence(_text(words), _text((_capital(english[0]), *english[1:], stop)), words, tags)


def _capital(word: str) -> str:
    return word[0].upper() + word[1:]


def _text(words: tuple[str, ...]) -> str:
    return "".join(word if word in ",.?" else " " + word for word in words)[1:]


def _clause(draws: Draws, *, tense: bool | None = None, timed: bool = True, negatable: bool = True) -> Clause:
    """Draw a clause. `tense` asks for the perfect (True) or against it (False)."""
    verb = draws.pick(VERBS)
    subject = _actor(draws, verb.subjects)
    taken = [subject]
    dative = _undergoer(draws, verb.dative, taken, "dat") if verb.dative else None
    accusative = _undergoer(draws, verb.accusative, taken, "acc") if verb.accusative else None
    companion = _noun_phrase(draws, verb.companion, taken) if verb.companion and draws.chance(0.7) else None
    perfect = draws.chance(0.25) if tense is None else tense
    modal = None
    if not perfect and draws.chance(0.4):
        modal = draws.pick(("können", "müssen", "wollen", "dürfen"))
    # "nicht" before an indefinite object would have to be "kein", and "must not" is another verb in German.
    definite = all(part is None or part.definite for part in (dative, accusative))
    negated = negatable and definite and modal not in ("müssen", "dürfen") and draws.chance(0.2)
    place = draws.pick(PLACES) if verb.place and not negated and draws.chance(0.3) else None
    time = None
    if timed and draws.chance(0.35):
        times = ["heute", "gestern" if perfect else "jetzt"]
        if not (modal or negated):
            times.append("oft")
        time = draws.pick(times)
    return Clause(subject, verb, accusative, dative, companion, modal, perfect, negated, time, place)


def _front(draws: Draws, clause: Clause) -> str:
    """Choose what comes first; an object only if its form shows that it is not the subject."""
    options = [name for name in ("time", "place") if getattr(clause, name)]
    for name, genders in (("accusative", "m"), ("dative", "mfn")):
        part = getattr(clause, name)
        if isinstance(part, NounPhrase) and part.definite and not clause.negated:
            if (part.noun.gender in genders and not part.plural) or (part.plural and name == "dative"):
                options.append(name)
    return draws.pick(options) if options and draws.chance(0.5) else "subject"


def _actor(draws: Draws, groups: str) -> NounPhrase | Pronoun:
    if "adult" in groups and draws.chance(0.25):
        return Pronoun(draws.pick(("er", "sie", "wir", "sie alle")))
    return _noun_phrase(draws, groups, [])


def _undergoer(draws: Draws, groups: str, taken: list, case: str) -> NounPhrase | Pronoun:
    """Draw an object; a pronoun only for people, and none that would have to be the reflexive "sich"."""
    if "adult" in groups and draws.chance(0.25):
        column = ("nom", "acc", "dat").index(case)
        names = [name for name, forms in PRONOUNS.items() if forms[column]]
        if Pronoun("wir") in taken:
            names = [name for name in names if name not in ("ich", "wir")]
        return Pronoun(draws.pick(names))
    return _noun_phrase(draws, groups, taken)


def _noun_phrase(draws: Draws, groups: str, taken: list) -> NounPhrase:
    """Draw a noun phrase whose noun is not in the clause yet."""
    used = [part.noun for part in taken if isinstance(part, NounPhrase)]
    noun: Noun = draws.pick([noun for noun in fitting(groups) if noun not in used])
    determiner = draws.pick(("der", "der", "ein", "dieser", "mein" if noun.mine else "der"))
    adjective = draws.pick(ADJECTIVES[noun.group]) if draws.chance(0.35) else None
    phrase = NounPhrase(noun, determiner, draws.chance(0.3), adjective)
    taken.append(phrase)
    return phrase
