"""The words and the grammar of the miniature dataset: a clause as a meaning, and its German and English wording.

The words, German nouns, adjectives, verbs and small words with their English, are in `data/miniature.toml`.

German puts the finite verb second in a statement, first in a question, and last after "dass" and "weil"; its
infinitive, participle or separated prefix comes at the end of the clause. Case marking lets the object come first.
English keeps the order subject, verb, object and needs "do" for negation and questions. A translation therefore has to
move words over long distances.

Parts of speech are those of the STTS, the tag set of the German treebanks: ART article, PDAT this, PPOSAT my,
ADJA adjective, NN noun, PPER pronoun, ADV adverb, APPR preposition (APPRART if it contains the article), PTKNEG not,
PTKVZ separated prefix, KOUS conjunction; VV full verb, VM modal, VA auxiliary, each FIN finite, INF infinitive or
PP participle; "$," and "$." punctuation.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from reservoir.datasets.shipped import shipped

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


_SAID = tomllib.loads((shipped() / "miniature.toml").read_text(encoding="utf-8"))
Forms = tuple[Any, ...]


def _named(value: Any) -> Any:
    """A text in which `{person}` and the like stand for several groups."""
    return value.format(**_SAID["groups"]) if isinstance(value, str) else value


NOUNS = tuple(Noun(*row) for row in _SAID["nouns"])
VERBS = tuple(
    Verb(*map(_named, row[:7]), **{name: _named(value) for more in row[7:] for name, value in more.items()})
    for row in _SAID["verbs"]
)
REPORTING: tuple[Forms, ...] = tuple(map(tuple, _SAID["reporting"]))
PLACES = tuple((tuple(german), english) for english, *german in _SAID["places"])
ADJECTIVES = {group: tuple(map(tuple, rows)) for group, rows in _SAID["adjectives"].items()}
MODALS: dict[str, Forms] = {name: (*row, None)[:5] for name, row in _SAID["modals"].items()}
PRONOUNS: dict[str, Forms] = {
    name: tuple(None if form == "" else form for form in row) for name, row in _SAID["pronouns"].items()
}
TIMES: dict[str, str] = _SAID["times"]


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

    def german(self, case: str) -> Tagged:
        """Decline: `case` is "nom", "acc" or "dat"."""
        column = _NUMBERS["pl" if self.plural else self.noun.gender]
        words = []
        if self.determiner == "der":
            words.append((_DER[case][column], "ART"))
        elif self.determiner == "dieser":
            words.append(("dies" + _DIES[case][column], "PDAT"))
        elif self.determiner == "mein":
            words.append(("mein" + _EIN[case][column], "PPOSAT"))
        elif not self.plural:
            words.append(("ein" + _EIN[case][column], "ART"))
        if self.adjective:
            if self.determiner == "ein" and self.plural:
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
        if self.determiner == "ein":
            article = [] if self.plural else ["an" if noun[0][0] in "aeiou" else "a"]
        else:
            this = "these" if self.plural else "this"
            article = [{"der": "the", "mein": "my", "dieser": this}[self.determiner]]
        return article + noun


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
        order = ["subject", *pronouns, "dative", "place", "accusative"]
        if not new:
            order = ["subject", *pronouns, "dative", "accusative", "place"]
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
        if front == "place":
            return [*place, *words, *time]
        if front == "time":
            return [*time, *words, *place]
        return [*words, *place, *time]

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
