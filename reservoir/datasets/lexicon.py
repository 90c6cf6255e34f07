"""The words of the miniature: German nouns, adjectives, verbs and small words, with their English."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from reservoir.datasets.shipped import shipped


@dataclass(frozen=True)
class Noun:
    """A noun in all its forms.

    Args:
        gender: "m", "f" or "n".
        oblique: singular beside the nominative: weak masculines add -n or -en (der Junge, den Jungen).
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
