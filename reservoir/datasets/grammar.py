"""The miniature dataset: any number of German-English sentence pairs from a grammar, without a download; its words,
the grammar that words a meaning in both languages, and the choices that draw it.

`Draws` makes its choices of `random()` alone: Python promises that `random.Random(seed).random()` gives the same
numbers for ever, and promises nothing for `choice`, `shuffle` and `sample`.

The words, German nouns, adjectives, verbs and small words with their English, are in `data/miniature.toml`.

German puts the finite verb second in a statement, first in a question, and last after "dass" and "weil"; its
infinitive, participle or separated prefix comes at the end of the clause. Case marking lets the object come first.
English keeps the order subject, verb, object and needs "do" for negation and questions. A translation therefore has to
move words over long distances.

Parts of speech are those of the STTS, the tag set of the German treebanks: ART article, PDAT this, PPOSAT my,
ADJA adjective, NN noun, PPER pronoun, ADV adverb, APPR preposition (APPRART if it contains the article), PTKNEG not,
PTKVZ separated prefix, KOUS conjunction; VV full verb, VM modal, VA auxiliary, each FIN finite, INF infinitive or
PP participle; "$," and "$." punctuation.

The vocabulary is small and closed, but the sentences have the difficulties of German word order: three genders and
three cases with their adjective endings, verbs at the end of subordinate clauses, modals and perfects that enclose
the clause, separable prefixes, fronted objects. A small transformer learns it in under a minute; a model with a short
context does not. "Sie" is never the formal address, and the perfect is translated as the English past.
"""

import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any, TypeVar

from reservoir.datasets.shipped import shipped

T = TypeVar("T")


class Draws:
    """A stream of choices that `seed` determines.

    Args:
        seed: any integer.
    """

    def __init__(self, seed: int):
        self._uniform = random.Random(seed).random

    def below(self, n: int) -> int:
        """Draw one of 0, 1, …, n - 1, each as likely as the others."""
        return int(self._uniform() * n)

    def chance(self, p: float) -> bool:
        """Return True with probability `p`."""
        return self._uniform() < p

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of `options`."""
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return `items` in random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


Tagged = list[tuple[str, str]]  # German words with their parts of speech


@dataclass(frozen=True)
class Noun:
    """A noun in all its forms.

    Args:
        gender: "m", "f" or "n".
        oblique: singular outside the nominative: weak masculines add -n or -en (der Junge, den Jungen).
        plural, dative_plural: die Hunde, den Hunden.
        group: what it is, which decides what it can do and be done to.
        mine: whether "my" sounds right before it ("meine Frau" would be a wife).
    """

    singular: str
    gender: str
    oblique: str
    plural: str
    dative_plural: str
    en: str
    en_plural: str
    group: str
    mine: bool = True


@dataclass(frozen=True)
class Verb:
    """A verb that forms its perfect with "haben".

    Args:
        plural, third: third person, as they stand in second place; `third` is the singular.
        participle: for the perfect (gesehen, aufgemacht).
        en, en_third, en_past: sees, saw. `en_preposition` comes before the object (look for), `en_particle` after it.
        subjects, accusative, dative, companion: groups or single nouns that fit; empty where it takes none.
        prefix: of a separable verb; the infinitive is prefix + plural.
        place: whether a place ("im Garten") can be named.
    """

    plural: str
    third: str
    participle: str
    en: str
    en_third: str
    en_past: str
    subjects: str
    accusative: str = ""
    dative: str = ""
    companion: str = ""
    prefix: str = ""
    en_preposition: str = ""
    en_particle: str = ""
    place: bool = False

    @property
    def infinitive(self) -> str:
        return self.prefix + self.plural


_LEXICON = tomllib.loads((shipped() / "miniature.toml").read_text(encoding="utf-8"))
Forms = tuple[Any, ...]


def _named(value: Any) -> Any:
    """A text in which `{person}` and the like stand for several groups."""
    return value.format(**_LEXICON["groups"]) if isinstance(value, str) else value


NOUNS = tuple(Noun(*row) for row in _LEXICON["nouns"])
VERBS = tuple(
    Verb(*map(_named, row[:7]), **{name: _named(value) for more in row[7:] for name, value in more.items()})
    for row in _LEXICON["verbs"]
)
REPORTING: tuple[Forms, ...] = tuple(map(tuple, _LEXICON["reporting"]))
PLACES = tuple((tuple(german), english) for english, *german in _LEXICON["places"])
ADJECTIVES = {group: tuple(map(tuple, rows)) for group, rows in _LEXICON["adjectives"].items()}
MODALS: dict[str, Forms] = {name: (*row, None)[:5] for name, row in _LEXICON["modals"].items()}
PRONOUNS: dict[str, Forms] = {
    name: tuple(None if form == "" else form for form in row) for name, row in _LEXICON["pronouns"].items()
}
TIMES: dict[str, str] = _LEXICON["times"]


@cache
def fitting(groups: str) -> tuple[Noun, ...]:
    """Return the nouns that `groups` names, by group or singly, in the lexicon's order."""
    names = set(groups.split())
    return tuple(noun for noun in NOUNS if noun.group in names or noun.singular in names)


# Endings after the stem, for masculine, feminine, neuter and plural, by case.
_NUMBERS = {"m": 0, "f": 1, "n": 2, "pl": 3}
_DER = {
    "nom": ("der", "die", "das", "die"),
    "acc": ("den", "die", "das", "die"),
    "dat": ("dem", "der", "dem", "den"),
}
_DIES = {"nom": ("er", "e", "es", "e"), "acc": ("en", "e", "es", "e"), "dat": ("em", "er", "em", "en")}
_EIN = {"nom": ("", "e", "", "e"), "acc": ("en", "e", "", "e"), "dat": ("em", "er", "em", "en")}
_WEAK = {"nom": ("e", "e", "e", "en"), "acc": ("en", "e", "e", "en"), "dat": ("en", "en", "en", "en")}
_MIXED = {"nom": ("er", "e", "es", "en"), "acc": ("en", "e", "es", "en"), "dat": ("en", "en", "en", "en")}
_STRONG_PLURAL = {"nom": "e", "acc": "e", "dat": "en"}
# A determiner's stem, its endings, its part of speech, and its English.
_DETERMINERS = {
    "der": ("", _DER, "ART", ("the", "the")),
    "dieser": ("dies", _DIES, "PDAT", ("this", "these")),
    "mein": ("mein", _EIN, "PPOSAT", ("my", "my")),
    "ein": ("ein", _EIN, "ART", ("a", "")),
}


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner ("der", "ein", "mein" or "dieser") and adjective.

    An indefinite plural (`determiner="ein"`, `plural=True`) has no article in either language.
    """

    noun: Noun
    determiner: str = "der"
    plural: bool = False
    adjective: tuple[str, str] | None = None  # German stem, English

    @property
    def definite(self) -> bool:
        return self.determiner != "ein"

    @property
    def bare(self) -> bool:
        return self.plural and not self.definite

    def german(self, case: str) -> Tagged:
        """Decline: `case` is "nom", "acc" or "dat"."""
        column = _NUMBERS["pl" if self.plural else self.noun.gender]
        stem, endings, tag, _ = _DETERMINERS[self.determiner]
        words = [] if self.bare else [(stem + endings[case][column], tag)]
        if self.adjective:
            if self.bare:
                ending = _STRONG_PLURAL[case]
            else:
                ending = (_MIXED if self.determiner in ("ein", "mein") else _WEAK)[case][column]
            words.append((self.adjective[0] + ending, "ADJA"))
        noun = self.noun
        if self.plural:
            form = noun.dative_plural if case == "dat" else noun.plural
        else:
            form = noun.singular if case == "nom" else noun.oblique
        return [*words, (form, "NN")]

    def english(self, case: str) -> list[str]:
        noun = [self.adjective[1]] if self.adjective else []
        noun.append(self.noun.en_plural if self.plural else self.noun.en)
        *_, (singular, plural) = _DETERMINERS[self.determiner]
        article = plural if self.plural else singular
        if article == "a" and noun[0][0] in "aeiou":
            article = "an"
        return noun if self.bare else [article, *noun]


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun, given by its key in `PRONOUNS`."""

    name: str

    definite = True

    @property
    def plural(self) -> bool:
        return bool(PRONOUNS[self.name][5])

    def german(self, case: str) -> Tagged:
        return [(str(PRONOUNS[self.name][("nom", "acc", "dat").index(case)]), "PPER")]

    def english(self, case: str) -> list[str]:
        return [str(PRONOUNS[self.name][3 if case == "nom" else 4])]


@dataclass(frozen=True)
class Clause:
    """The meaning of a clause. `modal` and `perfect` exclude each other.

    Args:
        companion: the noun phrase after "mit" ("with the dog").
        time: a key of `TIMES`.
        place: German words and English text, one of `PLACES`.
    """

    subject: NounPhrase | Pronoun
    verb: Verb
    accusative: NounPhrase | Pronoun | None = None
    dative: NounPhrase | Pronoun | None = None
    companion: NounPhrase | None = None
    modal: str | None = None
    perfect: bool = False
    negated: bool = False
    time: str | None = None
    place: tuple[tuple[str, ...], str] | None = None

    def statement(self, front: str = "subject") -> Tagged:
        """Verb-second order after `front`: "subject", "accusative", "dative", "time" or "place"."""
        finite, rest, _ = self._verbs()
        return [*self._part(front), finite, *self._middle(front), *rest]

    def question(self) -> Tagged:
        """Verb-first order: a question, or a main clause after a subordinate clause."""
        finite, rest, _ = self._verbs()
        return [finite, *self._middle(None), *rest]

    def subordinate(self) -> Tagged:
        """Verb-final order: the finite verb is last, with its prefix attached."""
        return [*self._middle(None), *self._verbs()[2]]

    def _verbs(self) -> tuple[tuple[str, str], Tagged, Tagged]:
        """Return the finite verb, the end of a main clause, and the verbs that end a subordinate clause."""
        verb, plural = self.verb, self.subject.plural
        if self.modal:
            finite = (str(MODALS[self.modal][plural]), "VMFIN")
            infinitive = (verb.infinitive, "VVINF")
            return finite, [infinitive], [infinitive, finite]
        if self.perfect:
            finite = ("haben" if plural else "hat", "VAFIN")
            participle = (verb.participle, "VVPP")
            return finite, [participle], [participle, finite]
        form = verb.plural if plural else verb.third
        prefix = [(verb.prefix, "PTKVZ")] if verb.prefix else []
        return (form, "VVFIN"), prefix, [(verb.prefix + form, "VVFIN")]

    def _part(self, name: str) -> Tagged:
        part = getattr(self, name)
        if part is None:
            return []
        if name == "time":
            return [(part, "ADV")]
        if name == "place":
            preposition = [(part[0][0], "APPRART" if part[0][0] == "im" else "APPR")]
            return preposition + [(word, "ART") for word in part[0][1:-1]] + [(part[0][-1], "NN")]
        return part.german({"subject": "nom", "accusative": "acc", "dative": "dat"}[name])

    def _middle(self, front: str | None) -> Tagged:
        """Return the words between the verbs: pronouns first, definite before indefinite, "nicht" before "mit"."""
        pronouns = [name for name in ("accusative", "dative") if isinstance(getattr(self, name), Pronoun)]
        new = self.place and self.accusative and not self.accusative.definite
        objects = ("place", "accusative") if new else ("accusative", "place")
        order = ["subject", *pronouns, "dative", *objects]
        order.insert(len(order) if self.negated else 1 + len(pronouns), "time")
        words = [word for name in dict.fromkeys(order) if name != front for word in self._part(name)]
        if self.negated:
            words.append(("nicht", "PTKNEG"))
        if self.companion:
            words += [("mit", "APPR"), *self.companion.german("dat")]
        return words

    def english(self, front: str | None = None, *, question: bool = False) -> list[str]:
        """Return the English words; a fronted "time" or "place" is fronted in English too, an object is not."""
        helper, main = self._english_verbs(question)
        subject = self.subject.english("nom")
        often = ["often"] if self.time == "oft" and front != "time" else []
        words = [*helper, *subject, *often, *main] if question else [*subject, *helper, *often, *main]
        if self.dative:
            words += self.dative.english("dat")
        if self.accusative:
            words += self.verb.en_preposition.split() + self.accusative.english("acc")
        words += self.verb.en_particle.split()
        if self.companion:
            words += ["with", *self.companion.english("dat")]
        place = self.place[1].split() if self.place else []
        time = [TIMES[self.time]] if self.time and not often else []
        fronted = {"place": (place, words, time), "time": (time, words, place)}
        return [word for part in fronted.get(str(front), (words, place, time)) for word in part]

    def _english_verbs(self, question: bool) -> tuple[list[str], list[str]]:
        """Return the auxiliary, which precedes the subject in a question, and the main verb."""
        verb, plural = self.verb, self.subject.plural
        if self.modal:
            _, _, *forms, with_do = MODALS[self.modal]
            if with_do is None:
                modal = "cannot" if self.negated else forms[plural]
                return [modal], [verb.en]
            if not (self.negated or question):
                return [], [*forms[plural].split(), verb.en]
            bare = [*with_do.split(), verb.en]
        elif not (self.negated or question):
            return [], [verb.en_past if self.perfect else verb.en if plural else verb.en_third]
        else:
            bare = [verb.en]
        do = "did" if self.perfect else "do" if plural else "does"
        return ([do, "not"] if self.negated else [do]), bare


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
def _generated(seed: int, train: int, valid: int, test: int) -> list[list[Sentence]]:
    stream = sentences(seed)
    return [list(islice(stream, size)) for size in (test, valid, train)][::-1]


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
    knows = ["do" if plural else "does", "not", en] if negated else [en if plural else en_third]
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
